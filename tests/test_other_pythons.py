"""The fast tests on the oldest Python, and on the newest on a bare Debian: CI makes both environments."""

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest

from devkit.shared_data import ROOT

FAST = ("-m", "pytest", "tests/unit", "tests/contract", "-m", "not emulator and not slow")
ALONE = ("-p", "no:xdist", "-p", "no:cacheprovider", "--color=no", "--tb=short")
DEBIAN = "forky"
"""The Debian whose Python is 3.14."""

Note = Callable[[str, object], None]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def run_fast_tests(name: str, command: list[str], note: Note) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "ORC_REQUIRE_ALL"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    last = [line for line in run.stdout.splitlines() if " passed" in line][-1]
    note("other run", f"Fast tests on {name}: {last}")


def test_the_fast_tests_pass_on_the_oldest_python(record_property: Note) -> None:
    python = ROOT / ".venv-3.11" / "bin" / "python"
    if not python.exists():
        pytest.skip("there is no environment of Python 3.11: `make install-oldest` makes it")
    says = [str(python), "-c", "import platform; print(platform.python_version())"]
    exact = subprocess.run(says, capture_output=True, text=True, check=True).stdout.strip()
    run_fast_tests(f"Python {exact}", [str(python), *FAST, *ALONE], record_property)


def test_the_fast_tests_pass_on_a_bare_debian_with_python_3_14(record_property: Note) -> None:
    """In a clone of the last commit, by a user without rights. What needs Node has to skip, not to fail."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("a bare Debian needs root and debootstrap")
    script = str(ROOT / "scripts" / "on_debian.sh")
    alone = f"PYTEST=.venv/bin/python -m pytest {' '.join(ALONE)}"
    run_fast_tests(
        f"Debian {DEBIAN}", [script, DEBIAN, "make", "test-fast", alone, "FAST=not slow"], record_property
    )
