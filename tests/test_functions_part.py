"""Below Python 3.13: tests/functions, in the environment that `make test` makes for it."""

import subprocess
from collections.abc import Callable

import pytest

from devkit.shared_data import ROOT

PYTHON = ROOT / ".venv-functions" / "bin" / "python"


def test_azure_functions_part_passes_on_python_3_13(record_property: Callable[[str, object], None]) -> None:
    """Azure's own runtime is on PyPI for 3.13 and up only, so its tests run in a separate process."""
    if not PYTHON.exists():
        pytest.skip("there is no .venv-functions; `make test` makes it where it finds a Python 3.13")
    command = [str(PYTHON), "-m", "pytest", "tests/functions", "-p", "no:cacheprovider", "--color=no"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    record_property("other run", f"Azure Functions on Python 3.13: {run.stdout.splitlines()[-1]}")
