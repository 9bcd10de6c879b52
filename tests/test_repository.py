"""The repository as a whole: what has to be in it, and what must not be."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pypdfium2
import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from devkit.shared_data import HANDBOOK, ROOT

FIXED_PLACES = (
    "function_app.py",
    "host.json",
    "local.settings.json.example",
    "requirements.txt",
    "README.md",
    "orc/",
    "mcp_server/",
    "tests/",
)
PYTHONS = ("3.11", "3.12", "3.13")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home)/(?!site/wwwroot/)\w")  # where Azure puts code
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
SECRETS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|AccountKey=[A-Za-z0-9+/=]{40,}"
    r"|\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}"
)


@cache
def text_files() -> dict[str, str]:
    """Every text file that is in the repository or is about to be, by its path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    contents = {
        name: (ROOT / name).read_bytes() for name in listing.split("\0") if name and (ROOT / name).is_file()
    }
    return {name: data.decode(errors="replace") for name, data in contents.items() if b"\0" not in data}


def findings(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {match[0][:40]}"
        for name, text in text_files().items()
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := pattern.search(line))
    ]


@pytest.mark.parametrize("place", FIXED_PLACES)
def test_what_azure_and_readers_look_for_is_in_its_place(place: str) -> None:
    path = ROOT / place
    assert path.is_dir() if place.endswith("/") else path.is_file()


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    assert findings(MACHINE_PATH) == []


def test_no_file_holds_a_secret() -> None:
    assert findings(SECRETS) == []


def test_nothing_is_left_unfinished() -> None:
    assert findings(UNFINISHED) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE_PATH, 'open("/' + 'home/ada/notes.txt")'),
        (SECRETS, "OPENAI_API_KEY=sk-" + "a1B2" * 8),
        (SECRETS, "AccountKey=" + "Zm9v" * 16),
        (UNFINISHED, "# TO" + "DO: later"),
    ],
)
def test_the_patterns_catch_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def direct_dependencies(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        *project["dependencies"],
        *(line for e in extras for line in project["optional-dependencies"][e]),
    ]
    return [Requirement(line) for line in lines]


def pins(file: str, python: str) -> dict[str, str]:
    """The versions that the file pins for this Python on Linux, by package."""
    environment = default_environment() | {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
    }
    lines = (line for line in (ROOT / file).read_text().splitlines() if line and line.lstrip()[0] != "#")
    found: dict[str, str] = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate(
            {k: str(v) for k, v in environment.items()}
        ):
            (specifier,) = requirement.specifier
            assert specifier.operator == "==", f"{file} does not pin {requirement}"
            found[canonicalize_name(requirement.name)] = specifier.version
    return found


def out_of_step(file: str, python: str, *extras: str) -> Iterator[str]:
    pinned = pins(file, python)
    for wanted in direct_dependencies(*extras):
        version = pinned.get(canonicalize_name(wanted.name), "none")
        needed = wanted.marker is None or wanted.marker.evaluate({"python_version": python})
        if needed and version not in wanted.specifier:
            yield f"{wanted} is pinned to {version}"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_are_in_step_with_pyproject(python: str) -> None:
    """`make requirements` brings them there."""
    assert list(out_of_step("requirements.txt", python)) == []
    assert list(out_of_step("requirements-dev.txt", python, "dev")) == []


@pytest.mark.parametrize("python", PYTHONS)
def test_tests_run_on_the_versions_that_azure_installs(python: str) -> None:
    deployed, tested = pins("requirements.txt", python), pins("requirements-dev.txt", python)
    assert deployed.items() <= tested.items()


def page_texts(file: Path) -> list[str]:
    with pypdfium2.PdfDocument(file) as pdf:
        return [page.get_textpage().get_text_range() for page in pdf]


def test_the_sample_document_is_what_its_script_writes(tmp_path: Path) -> None:
    """Compared as text: another zlib may pack the same pages into other bytes."""
    made = [tmp_path / "first.pdf", tmp_path / "second.pdf"]
    for target in made:
        script = str(ROOT / "examples" / "make_handbook.py")
        subprocess.run([sys.executable, script, str(target)], check=True, capture_output=True)
    assert made[0].read_bytes() == made[1].read_bytes()
    assert page_texts(HANDBOOK) == page_texts(made[0])


def test_the_sample_document_is_long_enough_and_small() -> None:
    assert len(page_texts(HANDBOOK)) >= 12
    assert HANDBOOK.stat().st_size < 200_000
