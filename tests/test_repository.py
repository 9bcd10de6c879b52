"""The repository as a whole: what has to be in it, and what must not be."""

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pypdfium2
import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import orc
import orc_core
from devkit.shared_data import HANDBOOK, ROOT

FIXED_PLACES = (
    "LICENSE",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ".editorconfig",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "function_app.py",
    "host.json",
    "local.settings.json.example",
    "requirements.txt",
    "README.md",
    "orc/",
    "mcp_server/",
    "tests/",
)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home)/(?!site/wwwroot/)\w")  # where Azure puts code
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+")
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


def test_no_file_names_a_path_of_a_machine() -> None:
    assert findings(MACHINE_PATH) == []


def test_no_file_holds_a_secret() -> None:
    assert findings(SECRETS) == []


def test_nothing_is_left_unfinished() -> None:
    assert findings(UNFINISHED) == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """CPython before 3.11.5 matches too much then; `(?>(...)*)` means the same, and is right everywhere."""
    assert [place for place in findings(POSSESSIVE_GROUP) if ".py:" in place] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (POSSESSIVE_GROUP, r"(?:[.,]\d++)" + "*+"),
        (POSSESSIVE_GROUP, "(ab?c)" + "{2,}+"),
        (MACHINE_PATH, 'open("/' + 'home/ada/notes.txt")'),
        (SECRETS, "OPENAI_API_KEY=sk-" + "a1B2" * 8),
        (SECRETS, "AccountKey=" + "Zm9v" * 16),
        (UNFINISHED, "# TO" + "DO: later"),
    ],
)
def test_the_patterns_catch_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


def direct_dependencies() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["azure"]]
    return [Requirement(line) for line in required]


def exported_requirements() -> str:
    """What `make lock` writes: the product's dependencies as uv.lock pins them."""
    command = [sys.executable, "-m", "uv", "export", "--quiet", "--frozen", "--python", sys.executable]
    options = ["--no-dev", "--extra", "azure", "--no-emit-project", "--no-header"]
    return subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def requirements() -> dict[str, list[str]]:
    """The requirements of requirements.txt, each with its hashes."""
    text = (ROOT / "requirements.txt").read_text().replace("\\\n", "")
    lines = (line for line in text.splitlines() if line and line.lstrip()[0] != "#")
    parts = (line.split(" --hash=") for line in lines)
    return {requirement.strip(): hashes for requirement, *hashes in parts}


def pins(python: str) -> dict[str, str]:
    """The versions in requirements.txt for this Python on Linux, by package."""
    environment = default_environment() | {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
    }
    found: dict[str, str] = {}
    for requirement in map(Requirement, requirements()):
        if requirement.marker is None or requirement.marker.evaluate(
            {k: str(v) for k, v in environment.items()}
        ):
            (specifier,) = requirement.specifier
            assert specifier.operator == "==", f"requirements.txt does not pin {requirement}"
            found[canonicalize_name(requirement.name)] = specifier.version
    return found


def test_requirements_are_exported_from_the_lock() -> None:
    """Azure installs what the tests run on; `make lock` writes both files."""
    written = (ROOT / "requirements.txt").read_text()
    assert written.partition("\n")[2] == exported_requirements()


def test_every_requirement_has_hashes() -> None:
    """With a hash on one line, pip refuses every package without one."""
    found = requirements()
    assert len(found) > 100
    assert [
        line for line, hashes in found.items() if not any(each.startswith("sha256:") for each in hashes)
    ] == []


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_satisfies_pyproject(python: str) -> None:
    pinned = pins(python)
    for wanted in direct_dependencies():
        if wanted.marker is None or wanted.marker.evaluate({"python_version": python}):
            assert pinned.get(canonicalize_name(wanted.name), "none") in wanted.specifier, wanted


def test_the_lock_names_only_the_public_index() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    sources = {tuple(package["source"].items()) for package in packages}
    assert sources == {(("registry", "https://pypi.org/simple"),), (("editable", "."),)}
    files = [file for package in packages for file in package.get("wheels", [])]
    assert {file["url"].split("/")[2] for file in files} == {"files.pythonhosted.org"}


def test_the_preferred_python_is_the_one_that_azure_runs_and_no_other_is_refused() -> None:
    [version] = re.findall(r"call FIND_PYTHON,([\d.]+) \d", (ROOT / "Makefile").read_text())
    assert f"version: '{version}'" in (ROOT / "infra" / "modules" / "api.bicep").read_text()
    # With this file, `uv sync` and pyenv want its version, and uv downloads it.
    assert not (ROOT / ".python-version").exists()


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


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


@pytest.mark.parametrize(
    "file", [".github/workflows/ci.yml", ".github/workflows/nightly.yml", ".devcontainer/devcontainer.json"]
)
def test_ci_and_the_dev_container_call_targets_that_exist(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if "make " in line]
    called = {
        word
        for line in lines
        for word in re.findall(r"[a-z-]+", line.partition("make ")[2])
        if "=" not in word
    }
    assert lines or ".ci/run" in (ROOT / file).read_text()
    assert called - {"python", "matrix"} <= make_targets()


def test_each_action_is_one_commit_and_newer_versions_of_all_that_is_pinned_are_proposed() -> None:
    workflows = "".join(file.read_text() for file in (ROOT / ".github/workflows").glob("*.yml"))
    used = re.findall(r"uses: (.*)", workflows)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", each)] == []
    proposed = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    assert {each["package-ecosystem"] for each in proposed} == {"uv", "npm", "docker", "github-actions"}
    for each in proposed:
        for folder in each.get("directories", [each.get("directory")]):
            assert (ROOT / folder.strip("/")).is_dir()


def test_ci_tests_every_supported_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert workflow["jobs"]["pythons"]["strategy"]["matrix"]["python"] == list(PYTHONS)


def test_pre_commit_runs_the_tools_of_make_check() -> None:
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    entries = " ".join(hook["entry"] for repo in configuration["repos"] for hook in repo["hooks"])
    for tool in ("ruff format", "ruff check", "mypy", "lint-imports", "codespell", "check_prose.py"):
        assert tool in entries


def test_the_version_has_a_section_in_the_changelog() -> None:
    headings = re.findall(
        r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == orc.__version__ == orc_core.__version__
    assert all(date for _, date in headings[1:])
