"""Refuses the words of scripts/dialect.txt in code, tests and docs.

    python scripts/check_prose.py [--prune] [FILE ...]

Without files it checks every text file of the repository. The paths in scripts/dialect-baseline.txt are not
checked yet. A line of it that excuses nothing any more is an error, so that the list only shrinks; `--prune`
removes such lines.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = Path("scripts/dialect.txt")
BASELINE = Path("scripts/dialect-baseline.txt")
CHECKED_SUFFIXES = {".py", ".md", ".toml", ".yml", ".yaml", ".html", ".bicep", ".sh", ""}
ALLOWED = "# prose: data"
FOREIGN_TEXTS = ("examples/", "LICENSE", "NOTICE.md")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    word: str
    suggestion: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: '{self.word}': write {self.suggestion}"


def entries(file: Path) -> list[str]:
    """The lines of a list, without comments and blank lines."""
    lines = (line.strip() for line in file.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def banned_words(root: Path) -> dict[str, str]:
    """What to write instead, by banned word in lower case."""
    pairs = (line.partition("|") for line in entries(root / WORDS))
    return {word.strip().lower(): suggestion.strip() for word, _, suggestion in pairs}


def pattern_of(words: Iterable[str]) -> re.Pattern[str]:
    """Matches whole words, also as a part of a snake_case name."""
    longest_first = sorted(words, key=len, reverse=True)
    alternatives = "|".join(re.escape(word).replace(r"\ ", "[ _]") for word in longest_first)
    return re.compile(rf"(?<![a-z])(?:{alternatives})(?![a-z])", re.IGNORECASE)


def check_text(path: str, text: str, words: dict[str, str], pattern: re.Pattern[str]) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), start=1):
        if ALLOWED in line:
            continue
        for match in pattern.finditer(line):
            yield Finding(path, number, match[0], words[match[0].lower().replace("_", " ")])


def repository_files(root: Path) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listing.split("\0") if name)


def is_checked(name: str, root: Path) -> bool:
    path = Path(name)
    is_prose = path.suffix in CHECKED_SUFFIXES and not name.startswith(FOREIGN_TEXTS)
    return is_prose and path not in (WORDS, BASELINE) and (root / path).is_file()


def findings(names: Iterable[str], root: Path) -> list[Finding]:
    words = banned_words(root)
    pattern = pattern_of(words)
    checked = (name for name in names if is_checked(name, root))
    return [
        finding
        for name in checked
        for finding in check_text(name, (root / name).read_text(errors="replace"), words, pattern)
    ]


def is_excused(name: str, prefixes: Iterable[str]) -> bool:
    return any(name.startswith(prefix) for prefix in prefixes)


def prune(prefixes: Sequence[str], unneeded: Iterable[str], root: Path) -> None:
    lines = (root / BASELINE).read_text().splitlines()
    (root / BASELINE).write_text("".join(f"{line}\n" for line in lines if line.strip() not in set(unneeded)))
    print(f"{BASELINE}: {len(prefixes) - len(set(unneeded))} paths left")


def main(arguments: Sequence[str]) -> int:
    names = [name for name in arguments if not name.startswith("--")]
    found = findings(names or repository_files(ROOT), ROOT)
    excused = entries(ROOT / BASELINE)
    unneeded = [
        prefix for prefix in excused if not names and not any(f.path.startswith(prefix) for f in found)
    ]
    if "--prune" in arguments:
        prune(excused, unneeded, ROOT)
        unneeded = []
    refused = [str(finding) for finding in found if not is_excused(finding.path, excused)]
    refused += [f"{BASELINE}: {prefix} has no such word any more: remove it (--prune)" for prefix in unneeded]
    for line in refused:
        print(line)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
