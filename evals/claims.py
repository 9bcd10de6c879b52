"""The verdict of the code check on claims about a text, one a line.

`python -m evals.claims FILE.jsonl --output OUT.jsonl` reads lines with an `id`, a `claim` and the evidence: a
`text`, a list of `pages`, or a list of `sentences` of one page. The whole evidence is cited. It writes a line
`{"id": ..., "check": "quoted" | "reworded" | "differs"}` for each. If the lines have labels (`supported`, or
`label` as in WiCE), it prints how many right and wrong claims got which verdict, by `language` if there is
one, and by halves: a hash of the evidence tells to which half a claim belongs, so that thresholds can be
chosen on one half and reported on the other.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from devkit.reports import markdown_table
from orc.judges.measuring import Line, half_of, is_right, pages_of
from orc_core.grounding.checks import Check, Page, Passage, check

CHECKS: tuple[Check, ...] = ("quoted", "reworded", "differs")
ALL = "all"


def checks(lines: Iterable[Line]) -> Iterator[Check]:
    """The verdict on each claim, with its whole evidence cited; a page is read once."""
    read = lru_cache(lambda text: Passage(Page(text)))
    for line in lines:
        yield check(line["claim"], [read(text) for text in pages_of(line)]).check


def report(lines: Sequence[Line], found: Sequence[Check]) -> str:
    """A table of the verdicts on right and wrong claims, of all, by half and by language."""
    counts: defaultdict[tuple[str, bool], Counter[Check]] = defaultdict(Counter)
    for line, verdict in zip(lines, found, strict=True):
        right = is_right(line)
        for group in (ALL, half_of(line), line.get("language")):
            if right is not None and group:
                counts[group, right][verdict] += 1
    groups = sorted({group for group, _ in counts}, key=lambda each: (len(each) < 3, each))
    headings = ["claims", *(f"{kind}, {each}" for kind in ("right", "wrong") for each in CHECKS), "precision"]
    rows = [[group, *_cells(counts[group, True], counts[group, False])] for group in groups]
    return markdown_table(headings, rows)


def _cells(right: Counter[Check], wrong: Counter[Check]) -> list[str]:
    cells = [
        f"{counted[each]} of {counted.total()} ({counted[each] / max(1, counted.total()):.1%})"
        for counted in (right, wrong)
        for each in CHECKS
    ]
    quoted = right["quoted"] + wrong["quoted"]
    return [*cells, f"{right['quoted'] / quoted:.3f}" if quoted else "-"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the verdicts, and print the table if there are labels."""
    parser = argparse.ArgumentParser(prog="python -m evals.claims", description=__doc__)
    parser.add_argument("file", type=Path, help="claims, one JSON object a line")
    parser.add_argument("--output", type=Path, required=True, help="where the verdicts are written")
    given = parser.parse_args(arguments)
    lines = [json.loads(line) for line in given.file.read_text("utf-8").splitlines() if line.strip()]
    found = list(checks(lines))
    written = [json.dumps({"id": line["id"], "check": each}) for line, each in zip(lines, found, strict=True)]
    given.output.write_text("".join(f"{line}\n" for line in written), "utf-8")
    if any(is_right(line) is not None for line in lines):
        print(report(lines, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
