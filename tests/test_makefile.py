"""The set-up commands say in one line what is missing."""

import subprocess
import sys
from pathlib import Path

from devkit.shared_data import ROOT

OTHER_VERSION = """#!/bin/sh
shift
exec "{python}" -c 'import sys; sys.version_info = {version}; exec(sys.argv[1])' "$@"
"""


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def python_that_claims(version: tuple[int, int, int], folder: Path) -> Path:
    script = folder / "python"
    script.write_text(OTHER_VERSION.format(python=sys.executable, version=version))
    script.chmod(0o755)
    return script


def test_help_names_the_two_commands_that_matter() -> None:
    assert {"make run", "make test"} <= {line[:9].strip() for line in make("help").stdout.splitlines()}


def test_a_missing_python_is_named() -> None:
    run = make("python", "PYTHON=no-such-python")
    assert run.returncode != 0
    assert run.stderr.startswith("Orc needs Python 3.11, 3.12 or 3.13, and there is no no-such-python.\n")


def test_a_python_outside_the_range_is_named_with_its_version(tmp_path: Path) -> None:
    for version in ((3, 9, 18), (3, 14, 0)):
        python = python_that_claims(version, tmp_path)
        run = make("python", f"PYTHON={python}")
        assert run.returncode != 0
        expected = f"Orc needs Python 3.11, 3.12 or 3.13, and {python} is {version[0]}.{version[1]}."
        assert run.stderr.startswith(expected)


def test_a_python_inside_the_range_is_taken(tmp_path: Path) -> None:
    for minor in (11, 12, 13):
        assert make("python", f"PYTHON={python_that_claims((3, minor, 0), tmp_path)}").returncode == 0


def test_finding_a_python_runs_it_first() -> None:
    """A shim for a version that is not active answers to its name and then fails."""
    found = subprocess.run(
        [ROOT / "scripts" / "find-python", "3.99"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (1, "")
