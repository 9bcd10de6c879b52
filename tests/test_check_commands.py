"""`make check` catches a planted violation of each rule that ruff and mypy do not know."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.node import from_npm, node
from devkit.shared_data import ROOT

TOOLS = Path(sys.executable).parent
PACKAGES = ("orc_core", "mcp_server", "orc")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The product's modules with the configuration of the checks."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        modules = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=modules)
    return tmp_path


def run(command: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, str(TOOLS / command), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=settings,
    )


def test_an_import_against_the_layers_is_refused(copy: Path) -> None:
    assert run("lint-imports", copy, "--no-cache").returncode == 0
    with (copy / "orc_core" / "__init__.py").open("a") as module:
        module.write("import orc.settings\n")
    refused = run("lint-imports", copy, "--no-cache")
    assert refused.returncode == 1
    assert "orc_core -> orc.settings" in refused.stdout


def test_an_import_between_the_orchestrator_and_the_tools_is_refused(copy: Path) -> None:
    with (copy / "mcp_server" / "__init__.py").open("a") as module:
        module.write("import orc.settings\n")
    assert "mcp_server -> orc.settings" in run("lint-imports", copy, "--no-cache").stdout


def test_an_import_of_a_storage_adapter_outside_the_bootstraps_is_refused(copy: Path) -> None:
    with (copy / "orc" / "problems.py").open("a") as module:
        module.write("import orc_core.storage.folder\n")
    assert "orc.problems -> orc_core.storage.folder" in run("lint-imports", copy, "--no-cache").stdout


def test_a_misspelt_word_is_refused(copy: Path) -> None:
    (copy / "note.md").write_text("We recie" + "ved it.\n")
    refused = run("codespell", copy)
    assert refused.returncode != 0
    assert "./note.md:1" in refused.stdout


@pytest.mark.parametrize(
    ("file", "planted"),
    [
        ("orc/web/app.js", "var unformatted={a:1}\n"),
        ("orc/web/app.js", "debugger;\n"),
        ("orc/web/styles/base.css", "p { colour: red; }\n"),
        ("orc/web/styles/base.css", "p{color:red}\n"),
    ],
)
def test_form_and_mistakes_of_the_page_are_refused(copy: Path, file: str, planted: str) -> None:
    shutil.copy(ROOT / "biome.json", copy)
    command = [node(), str(from_npm(".bin/biome")), "check", "--error-on-warnings"]
    for is_planted in (False, True):
        if is_planted:
            with (copy / file).open("a") as source:
                source.write(planted)
        checked = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
        assert checked.returncode == is_planted, checked.stderr


def test_make_check_runs_them_all() -> None:
    command = ["make", "--dry-run", "check"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for part in (
        "ruff format --check",
        "ruff check",
        "-m mypy",
        "lint-imports",
        "codespell",
        "check_prose.py",
        "biome check",
    ):
        assert part in planned
