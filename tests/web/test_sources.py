"""The sources of the web page: types, words, the vendored libraries, and no way in for markup."""

import json
import re
import shutil
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args

import pytest

from devkit.node import from_npm, node
from devkit.shared_data import ROOT
from orc.api.web import FOLDER, languages
from orc.lookups import ReasonCode
from orc_core.extraction.pages import REASONS as UNREADABLE
from orc_core.grounding.models import Objection, ObjectionCode
from scripts.describe_web_types import TARGET, written

MODULES = sorted(FOLDER.glob("*.js"))
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|setHTML"
    r"|createContextualFragment|style=|style: \{|setAttribute"
)
USED = re.compile(r"\bt\(\s*(?:[\w.]+\s+\? )?\"([a-z_.]+)\"(?:\s+: \"([a-z_.]+)\")?")
TEXT = r"\"([^\"]*[A-Za-z]{2}[^\"]*)\""
LITERAL_TEXT = re.compile(
    rf"h\(\s*\"\w+\",\s*(?:null|\{{[^{{}}]*\}}),\s*{TEXT}|(?:aria-label|title|placeholder|alt): {TEXT}"
)


def words(language: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((FOLDER / "words" / f"{language}.json").read_text(encoding="utf-8"))
    return found


def node_tool(name: str) -> str:
    return str(from_npm(f".bin/{name}"))


def test_types_fit() -> None:
    run = subprocess.run(
        [node_tool("tsc"), "--project", str(ROOT)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.stdout == ""


MISTAKES = {
    "a wrong type of an attribute": 'h("button", { onClick: 3 });',
    "a missing property": 'h(IconButton, { name: "close" });',
    "a misspelt event": 'h("button", { onClik: () => {} });',
    "an unknown attribute": 'h("img", { sourceOf: "a.png" });',
    "a misspelt element": 'h("knob", null);',
}


def test_mistakes_are_found_by_their_types(tmp_path: Path) -> None:
    """Each mistake is in a separate file, next to the modules as they are."""
    tsc = node_tool("tsc")
    shutil.copytree(FOLDER, tmp_path / "orc" / "web")
    shutil.copy(ROOT / "tsconfig.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    imports = 'import { IconButton } from "./parts.js";\nimport { h } from "./vendor/ui.js";\n'
    imports += "export { IconButton };\n"
    for number, mistake in enumerate(MISTAKES.values()):
        (tmp_path / "orc" / "web" / f"mistake{number}.js").write_text(f"{imports}{mistake}\n")
    run = subprocess.run(
        [tsc, "--project", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    found = set(re.findall(r"mistake(\d)\.js\(4,", run.stdout))
    assert found == {str(number) for number in range(len(MISTAKES))}, run.stdout


def test_the_types_of_the_api_are_those_of_its_document() -> None:
    assert TARGET.read_text(encoding="utf-8") == written(), "run `python -m scripts.describe_web_types`"


def test_the_vendored_libraries_are_those_of_the_lock(tmp_path: Path) -> None:
    node_tool("esbuild")
    made = [node(), str(ROOT / "scripts" / "vendor_web.mjs"), str(tmp_path)]
    subprocess.run(made, cwd=ROOT, capture_output=True, check=True)
    for file in sorted(tmp_path.iterdir()):
        assert file.read_bytes() == (FOLDER / "vendor" / file.name).read_bytes(), "run `make vendor`"


def test_modules_work_by_themselves() -> None:
    """Those that draw nothing, in Node: no browser and no server."""
    tests = ROOT / "tests" / "web" / "modules" / "modules.test.js"
    command = [node(), "--test", "--test-reporter=tap", str(tests)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.MULTILINE)
    assert passed and int(passed[1]) >= 8


IMPORT = re.compile(r'from "\./([\w/]+\.js)";')


def test_no_module_imports_itself_by_way_of_others() -> None:
    imports = {file.name: IMPORT.findall(file.read_text(encoding="utf-8")) for file in MODULES}
    assert sum(map(len, imports.values())) > 60
    assert list(TopologicalSorter(imports).static_order())


@pytest.mark.parametrize("language", [each for each in languages() if each != "en"])
def test_all_languages_have_the_same_words(language: str) -> None:
    english, translated = words("en"), words(language)
    assert english.keys() == translated.keys()
    for key, text in english.items():
        assert type(text) is type(translated[key]), key
        assert slots(text) == slots(translated[key]), key


def slots(text: object) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", json.dumps(text)))


CODES = {
    "problem": UNREADABLE,
    "lookup": set(get_args(ReasonCode)) - {"document_chat"},
    "issue": set(get_args(ObjectionCode)) - {"other"},
}


@pytest.mark.parametrize("kind", CODES)
def test_codes_of_the_api_have_words(kind: str) -> None:
    assert {f"{kind}.{code}" for code in CODES[kind]} - words("en").keys() == set()


def test_words_of_objections_have_no_slots_but_values_of_objections() -> None:
    named = {key: slots(text) for key, text in words("en").items() if key.startswith("issue.")}
    assert {slot for found in named.values() for slot in found} <= Objection.model_fields.keys()


def test_every_word_that_a_module_asks_for_is_there() -> None:
    used = {
        key for file in MODULES for pair in USED.findall(file.read_text(encoding="utf-8")) for key in pair
    }
    assert len(used) > 100
    assert used - {""} - words("en").keys() == set()


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.name)
def test_modules_have_no_texts_and_no_sinks(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert SINKS.findall(source) == []
    assert [found for found in LITERAL_TEXT.findall(source) if any(found)] == []
