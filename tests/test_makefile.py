"""The set-up commands report in one line what is missing, and install only what is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.shared_data import ROOT

OTHER_VERSION = """#!/bin/sh
shift
exec "{python}" -c 'import sys; sys.version_info = {version}; exec(sys.argv[1])' "$@"
"""
UV = """#!/bin/sh
echo "uv $@"
"""


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    # A `make test PYTHON=...` that runs this passes PYTHON on twice: in its flags, and as a variable.
    given = {word.split("=")[0] for word in os.environ.get("MAKEFLAGS", "").split() if "=" in word}
    not_inherited = given | {"MAKEFLAGS", "MAKEOVERRIDES"}
    inherited = {name: value for name, value in os.environ.items() if name not in not_inherited}
    settings = inherited | environment
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=settings)


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def python_that_claims(version: tuple[int, int, int], folder: Path) -> Path:
    return executable(folder / "python", OTHER_VERSION.format(python=sys.executable, version=version))


@pytest.fixture
def path_with_uv(tmp_path: Path) -> str:
    """A PATH whose uv prints its arguments."""
    executable(tmp_path / "uv", UV)
    return f"{tmp_path}{os.pathsep}{os.environ['PATH']}"


def test_help_lists_every_target_of_the_readme_and_the_contributing_guide() -> None:
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}
    assert {"run", "check", "test-fast", "test", "campaigns", "bench", "provision", "lock", "clean"} <= listed


def test_a_missing_python_is_named() -> None:
    run = make("python", "PYTHON=no-such-python")
    assert run.returncode != 0
    assert run.stderr.startswith(
        "Orc needs Python 3.11 or newer, and there is no no-such-python. Install one ("
    )


def test_a_machine_without_any_supported_python_is_reported() -> None:
    run = make("python", "PYTHON=")
    assert run.returncode != 0
    assert run.stderr.startswith("Orc needs Python 3.11 or newer, and there is none on PATH")


def test_a_python_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    python = python_that_claims((3, 9, 18), tmp_path)
    run = make("python", f"PYTHON={python}")
    assert run.returncode != 0
    assert run.stderr.startswith(f"Orc needs Python 3.11 or newer, and {python} is 3.9. Install one (apt")


def test_a_supported_python_is_taken_in_silence(tmp_path: Path) -> None:
    for minor in (11, 12, 13, 14):
        run = make("python", f"PYTHON={python_that_claims((3, minor, 0), tmp_path)}")
        assert (run.returncode, run.stderr) == (0, "")


def test_a_python_newer_than_those_tested_is_taken_with_a_word_about_it(tmp_path: Path) -> None:
    run = make("python", f"PYTHON={python_that_claims((3, 15, 0), tmp_path)}")
    assert (run.returncode, run.stderr) == (0, "Orc is tested on Python 3.11 to 3.14, and not on 3.15.\n")


def test_a_python_that_answers_to_its_name_and_fails_is_passed_over(tmp_path: Path) -> None:
    """pyenv's shims do so for versions that are not active."""
    for name in ("python3", "python3.13", "python3.12"):
        executable(tmp_path / name, "#!/bin/sh\nexit 127\n")
    executable(tmp_path / "python3.11", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    version = "{}.{}".format(*sys.version_info[:2])
    executable(tmp_path / f"python{version}", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    run = make("python", "VENV=absent", "--trace", PATH=f"{tmp_path}:/usr/bin:/bin", PYENV_ROOT="absent")
    assert run.returncode == 0, run.stderr
    assert f'"python{version}" -c' in run.stdout


def test_uv_from_path_installs_exactly_the_lock(path_with_uv: str) -> None:
    run = make("install-dev", f"PYTHON={sys.executable}", PATH=path_with_uv)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("uv sync --frozen")
    assert f"--python {sys.executable}" in run.stdout


def test_running_after_testing_keeps_what_the_tests_need(path_with_uv: str) -> None:
    run = make("install", f"PYTHON={sys.executable}", PATH=path_with_uv)
    assert run.stdout.strip().endswith("--no-dev --inexact")


def test_without_uv_on_path_it_is_installed_from_the_package_index(tmp_path: Path) -> None:
    run = make(
        "--dry-run",
        "install",
        f"UV_VENV={tmp_path}/tools",
        f"UV={tmp_path}/tools/bin/uv",
        f"PYTHON={sys.executable}",
    )
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path}/tools/bin/python -m pip install" in run.stdout
    assert run.stdout.index("pip install") < run.stdout.index("uv sync")


def test_a_missing_npm_stops_only_a_run_that_may_leave_nothing_out() -> None:
    assert "There is no npm" in make("install-node", "NPM=").stdout
    assert make("install-node", "NPM=", ORC_REQUIRE_ALL="1").returncode != 0


def test_an_old_node_counts_as_none(tmp_path: Path) -> None:
    executable(tmp_path / "node", "#!/bin/sh\nexit 0\n")  # `-p` prints nothing: its version is not above 19
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    run = make("install-node", "NPM=npm", PATH=path, ORC_REQUIRE_ALL="")
    assert (run.returncode, run.stdout) == (0, "Node is older than 20: what needs Node is left out.\n")
    assert make("install-node", "NPM=npm", PATH=path, ORC_REQUIRE_ALL="1").returncode != 0


def test_the_downloads_trust_the_certificates_of_the_system(tmp_path: Path) -> None:
    executable(tmp_path / "uv", "#!/bin/sh\nenv\n")
    unset = {"PIP_CERT", "NODE_EXTRA_CA_CERTS", "UV_SYSTEM_CERTS"}
    settings = {name: value for name, value in os.environ.items() if name not in unset}
    command = ["make", "install", f"UV={tmp_path}/uv", f"PYTHON={sys.executable}", "CERTIFICATES=/ca.pem"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=settings)
    assert {"UV_SYSTEM_CERTS=1", "PIP_CERT=/ca.pem", "NODE_EXTRA_CA_CERTS=/ca.pem"} <= set(
        run.stdout.split("\n")
    )


def test_a_folder_that_cannot_be_written_starts_with_what_is_installed() -> None:
    run = make("install", "WRITABLE=", f"BIN={Path(sys.executable).parent}")
    assert run.returncode == 0
    assert run.stdout.startswith("This folder cannot be written: Orc starts with what is installed in it.")
    assert make("install", "WRITABLE=", "BIN=absent").stderr.startswith("Nothing is installed here yet")


@pytest.mark.parametrize(("tests", "types", "code"), [(0, 0, 0), (1, 0, 2), (0, 1, 2), (2, 2, 2)])
def test_make_test_fails_if_a_test_or_a_type_is_wrong(
    tests: int, types: int, code: int, tmp_path: Path
) -> None:
    for program in ("uv", "ruff"):
        executable(tmp_path / program, "#!/bin/sh\n")
    ends = f'case "$2" in pytest) exit {tests};; mypy) echo types were checked; exit {types};; esac'
    executable(tmp_path / "python", f"#!/bin/sh\n{ends}\n")
    run = make(
        "test", f"BIN={tmp_path}", f"UV={tmp_path}/uv", f"PYTHON={sys.executable}", "NPM=", ORC_REQUIRE_ALL=""
    )
    assert run.returncode == code, run.stderr
    assert "types were checked" in run.stdout
