"""The index of decisions matches its files, and the docs name only files and packages that exist."""

import ast
import json
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from pydantic import BaseModel

from devkit.shared_data import ROOT
from mcp_server.settings import Settings as McpSettings
from orc import events
from orc.api import PREFIX, conversation_events
from orc.events import Event
from orc.settings import Settings
from orc_core.errors import OrcError
from orc_core.extraction.pages import REASONS
from orc_core.grounding.models import Citation
from orc_core.infra.setting_names import ADVANCED, ADVANCED_VARIABLE

FOLDER = ROOT / "docs" / "decisions"
DECISIONS = sorted(file for file in FOLDER.glob("*.md") if file.name != "README.md")
FORM = re.compile(
    r"# (?P<title>.+)\n\n(?P<summary>(?:[^\n#|-].*\n)+)"
    r"\n## Decided\n(?s:.+)\n## Why\n(?s:.+)\n## Rejected\n(?s:.+)"
)
ROW = re.compile(r"^- \[(.+)\]\((\S+)\): (.+)$", re.M)
CITED = re.compile(r"decisions/([\w-]+\.md)")
OWN_PATH = re.compile(
    r"`((?:orc_core|orc|mcp_server|devkit|tests|docs|infra|resilience|evals|bench|scripts|examples)/[\w./-]+)`"
)
OTHER_VARIABLES = {"ORC_REQUIRE_ALL", ADVANCED_VARIABLE}
NOT_FOR_CLIENTS = {
    "lease_lost",  # of a job: the worker drops it
    "model_stores_no_files",  # documents are then sent as text
    "tool_unavailable",
    "unknown_tool",  # answers to models
}
LINES_OF_THE_PAGE = range(1, 45)
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def texts_outside_of_the_decisions() -> dict[str, str]:
    """The text of the files that may cite a decision, by path."""
    suffixes = {".py", ".js", ".toml", ".bicep", ".md", ".yml"}
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    files = [file for name in names if (file := ROOT / name).suffix in suffixes and file.is_file()]
    return {str(file.relative_to(ROOT)): file.read_text() for file in files if FOLDER not in file.parents}


def form_of(file: Path) -> dict[str, str]:
    match = FORM.fullmatch(file.read_text())
    assert match, f"{file.name} does not have the form of a decision"
    return {name: " ".join(text.split()) for name, text in match.groupdict().items()}


def test_each_decision_can_be_read_in_minutes() -> None:
    lengths = {file.name: len(file.read_text().splitlines()) for file in DECISIONS}
    assert len(lengths) >= 40
    assert {name: lines for name, lines in lengths.items() if not 25 <= lines <= 70} == {}


def test_the_index_lists_every_decision() -> None:
    rows = ROW.findall((FOLDER / "README.md").read_text())
    forms = [(file.name, form_of(file)) for file in DECISIONS]
    assert rows == sorted(rows, key=lambda row: row[0].lower())
    assert sorted(rows) == sorted((form["title"], name, form["summary"]) for name, form in forms)


def test_each_decision_is_cited_where_a_reader_would_ask_why() -> None:
    cited = {name for text in texts_outside_of_the_decisions().values() for name in CITED.findall(text)}
    assert {file.name for file in DECISIONS} - cited == set()


def test_only_decisions_that_exist_are_cited() -> None:
    missing = {
        (path, name)
        for path, text in texts_outside_of_the_decisions().items()
        for name in CITED.findall(text)
        if not (FOLDER / name).is_file()
    }
    assert missing == set()


def test_the_map_of_the_readme_names_every_folder_of_the_product() -> None:
    named = set(OWN_PATH.findall((ROOT / "README.md").read_text()))
    folders = {
        f"{folder.relative_to(ROOT)}/"
        for package in ("orc_core", "orc", "mcp_server")
        for folder in (ROOT / package).iterdir()
        if folder.is_dir() and folder.name != "__pycache__"
    }
    assert len(folders) > 20
    assert folders - named == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_files_that_exist(page: Path) -> None:
    """The changelog may name what older versions had."""
    text = page.read_text().partition("## [0.1.0]")[0]
    links = [link.partition("#")[0] for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    missing += [path for path in OWN_PATH.findall(text) if not (ROOT / path).exists()]
    assert missing == []


def dependencies() -> dict[str, list[str]]:
    """The rows of the page, by package: use, licences, megabytes, keeper."""
    rows = re.findall(r"^\| ([a-z][\w-]+) \| (.+) \|$", (ROOT / "docs" / "dependencies.md").read_text(), re.M)
    return {name: rest.split(" | ") for name, rest in rows if name != "package"}


def test_the_dependencies_page_lists_exactly_what_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["azure"]]
    installed = sorted(Requirement(line).name for line in required)
    assert list(dependencies()) == installed
    assert all(len(cells) == 4 and all(cells) for cells in dependencies().values())


def test_the_licence_of_a_dependency_is_the_one_that_it_names() -> None:
    for name, (_, licences, *_) in dependencies().items():
        about = metadata.metadata(name)
        exact = (about.get_all("License-Expression") or [""])[0]
        older = [*(about.get_all("License") or []), *(about.get_all("Classifier") or [])]
        named = exact or " ".join(older)
        for licence in licences.split(", "):
            assert (licence if exact else licence.partition("-")[0]) in named, f"{name} names {named[:80]}"


NOT_IMPORTED = {
    "python-multipart": "FastAPI imports it",
    "uharfbuzz": "fpdf2 imports it",
    "fontpkg-amiri": "a font, found by its path",
    "fontpkg-noto-sans": "a font, found by its path",
    "fontpkg-noto-sans-thai": "a font, found by its path",
}


def test_each_dependency_is_imported() -> None:
    product = [ROOT / "function_app.py"]
    product += [file for each in ("orc", "orc_core", "mcp_server") for file in (ROOT / each).rglob("*.py")]
    imported = set[str]()
    for node in (node for file in product for node in ast.walk(ast.parse(file.read_text()))):
        if isinstance(node, ast.Import):
            imported |= {each.name.replace(".", "/") for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.replace(".", "/"))
    for name in dependencies().keys() - NOT_IMPORTED.keys():
        files = {str(each) for each in metadata.files(name) or []}
        modules = {re.sub(r"(/__init__)?(\.[\w-]+)?\.(py|so)$", "", file) for file in files}
        assert modules & imported, name


def test_the_glossary_is_alphabetical() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    assert len(terms) >= 40
    assert terms == sorted(terms, key=str.lower)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_settings_that_exist(page: Path) -> None:
    """The changelog may name what older versions had."""
    if page.name == "CHANGELOG.md":
        return
    named = set(re.findall(r"`(ORC_[A-Z_]*[A-Z])(?:=\S+)?`", page.read_text()))
    of_the_templates = re.findall(r"\$\{(ORC_\w+)=", (ROOT / "infra" / "main.parameters.json").read_text())
    assert named - OTHER_VARIABLES - set(of_the_templates) <= setting_names()


def subclasses(base: type[OrcError]) -> set[type[OrcError]]:
    found = set(base.__subclasses__())
    return found.union(*map(subclasses, found))


def section_of_api(heading: str) -> str:
    return (ROOT / "docs" / "api.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_every_event_and_its_data_is_documented() -> None:
    sections = section_of_api("Streams") + section_of_api("Events of a conversation")
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", sections, re.M)
    documented = {kind: data for kinds, data in rows for kind in re.findall(r"`(\w+)`", kinds)}
    defined = [*vars(events).values(), *vars(conversation_events).values()]
    kinds = {each for each in defined if isinstance(each, type) and issubclass(each, Event)} - {Event}
    assert len(kinds) >= 20
    for event in kinds:
        whole = "data" in vars(event)  # a document, a result or a problem
        named = [] if whole else event.model_fields
        assert [each for each in named if f"`{each}`" not in documented[event.kind]] == [], event.kind


@pytest.mark.parametrize("model", [events.TurnResult, events.TurnMetadata, events.CriticSummary, Citation])
def test_every_field_of_a_result_is_documented(model: type[BaseModel]) -> None:
    section = section_of_api("Results")
    fields = [*model.model_fields, *model.model_computed_fields]
    assert [name for name in fields if f"`{name}`" not in section] == []


def test_every_code_of_a_problem_is_documented() -> None:
    errors = subclasses(OrcError)
    codes = {vars(each)["code"] for each in errors if "code" in vars(each)} | set(REASONS)
    raising = {"OrcError", "render", "problem", "model_down", *(each.__name__ for each in errors)}
    for file in [*(ROOT / "orc_core").rglob("*.py"), *(ROOT / "orc").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in raising:
                given = [each.value for each in node.keywords if each.arg == "code"]
                codes |= {str(each.value) for each in given if isinstance(each, ast.Constant)}
    assert len(codes) > 50
    text = (ROOT / "docs" / "api.md").read_text()
    assert {code for code in codes - NOT_FOR_CLIENTS if f"`{code}`" not in text} == set()


def setting_names() -> set[str]:
    names: set[str] = set()
    for model in (Settings, McpSettings):
        for name, field in model.model_fields.items():
            names.add(f"ORC_{name.upper()}")
            names.update(map(str, getattr(field.validation_alias, "choices", [])))
            names.add(str(field.validation_alias))
    return names - {f"ORC_{name.upper()}" for name in ADVANCED}


def test_the_functions_have_the_prefix_of_the_routes() -> None:
    functions = (ROOT / "function_app.py").read_text()
    assert f'"{PREFIX[1:]}/orc/{{*rest}}"' in functions
    assert f'"{PREFIX[1:]}/chat/{{*rest}}"' in functions
    for decision in ("azure.md", "http-api.md"):
        assert f"start with `{PREFIX}`" in (FOLDER / decision).read_text()


def test_entries_for_clients_are_json_with_absolute_paths() -> None:
    blocks = re.findall(r"```json\n(.+?)```", (ROOT / "docs" / "clients.md").read_text(), re.S)
    started, called = (json.loads(block)["mcpServers"]["orc"] for block in blocks)
    assert Path(started["command"]).is_absolute()
    assert Path(started["env"]["ORC_DATA_DIR"]).is_absolute()
    assert started["args"][:3] == ["-m", "orc", "mcp"]
    assert called["headers"]["Authorization"].startswith("Bearer ")


def test_every_test_that_the_docs_name_exists() -> None:
    named = [found for page in PAGES for found in NAMED_TEST.findall(page.read_text())]
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert len(named) > 40
    assert missing == []


def test_every_line_of_the_acceptance_list_of_the_page_has_a_test() -> None:
    table = (ROOT / "docs" / "web-acceptance.md").read_text()
    rows = [(int(line), tests) for line, tests in re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", table, re.M)]
    assert [line for line, _ in rows] == sorted(line for line, _ in rows)
    assert {line for line, tests in rows if NAMED_TEST.search(tests)} == {*LINES_OF_THE_PAGE}
