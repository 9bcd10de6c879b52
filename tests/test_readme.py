"""The commands of the README and of docs/api.md work: they are run unchanged and in order."""

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from devkit.shared_data import HANDBOOK, ROOT
from devkit.system import System, upload

README = (ROOT / "README.md").read_text()
SHELL = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)
COMMANDS = SHELL.findall(README)
FIRST_STEPS, CHATTING = SHELL.findall((ROOT / "docs" / "api.md").read_text())
OUTPUTS = re.findall(r"^```text\n(.*?)^```", README, re.S | re.M)
WITH_CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="There is no program `curl`.")


@pytest.fixture(scope="module")
def system(offline_system: System) -> System:
    return offline_system


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout as the commands see it, with this test's Python."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / ".venv" / "bin").mkdir(parents=True)
    orc = folder / ".venv" / "bin" / "orc"
    orc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m orc "$@"\n')
    orc.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def shell_output(system: System, checkout: Path) -> str:
    """What the README's shell blocks print."""
    conversation = str(uuid.uuid4())
    with system.client() as client:
        assert upload(client, conversation, HANDBOOK).status_code == 201
    return run(COMMANDS, system, checkout, CONVERSATION=conversation)


def run(commands: Sequence[str], system: System, checkout: Path, **variables: str) -> str:
    """The output of shell blocks, run in order, with this test's server."""
    script = "\necho; echo =====\n".join(commands).replace("127.0.0.1:7071", f"127.0.0.1:{system.api_port}")
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=checkout,
        env={**os.environ, **system.settings, "COLUMNS": "80", **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_orc_ask_gives_the_answer_that_the_readme_shows(shell_output: str) -> None:
    asked = shell_output.split("=====")[0]
    for line in OUTPUTS[0].strip().splitlines():
        assert line.rstrip() in map(str.rstrip, asked.splitlines())
    assert "same words  harbour-handbook.pdf, page 5" in asked


@WITH_CURL
def test_the_curl_lines_of_the_docs_upload_ask_and_stream(system: System, checkout: Path) -> None:
    uploaded, answer, rest = json_objects(run([FIRST_STEPS], system, checkout))
    assert [document["readable"] for document in uploaded["documents"]] == [True]
    assert "EUR 230" in answer["answer"]
    assert any(citation["verified"] and citation["page"] == 14 for citation in answer["citations"])
    events = re.findall(r"^(?:.*})?event: (\w+)$", rest, re.M)
    assert events[:2] == ["turn", "route"]
    assert events[-1] == "done"
    assert "Head of Finance" in rest


@WITH_CURL
def test_the_chat_of_the_docs_is_answered_from_its_document(system: System, checkout: Path) -> None:
    uploaded, answer, _ = json_objects(run([CHATTING], system, checkout))
    assert [document["readable"] for document in uploaded["documents"]] == [True]
    assert answer["conversation_id"] == uploaded["conversation_id"]
    assert "EUR 230" in answer["answer"]
    assert any(citation["verified"] and citation["page"] == 14 for citation in answer["citations"])


def json_objects(text: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The first two JSON objects of a text, and what follows them."""
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(text.lstrip())
    second, end_of_second = decoder.raw_decode(text.lstrip()[end:])
    return first, second, text.lstrip()[end + end_of_second :]


def test_orc_token_prints_a_token(shell_output: str) -> None:
    assert shell_output.split("=====")[-1].strip().count(".") == 2


RUN_ELSEWHERE = {
    "make package": "tests/system/test_package.py",
    ".venv/bin/orc doctor": "tests/unit/orc/cli/test_app.py",
}
"""Commands of the README's text, and the tests that run them."""


def test_each_command_is_run_by_a_test_or_named_as_not_run() -> None:
    named = tuple(re.findall(r"`([^`]+)`", README.split("Not run by a test are ")[1].split(";")[0]))
    lines = re.findall(r"^```\n(.*?)^```", README, re.S | re.M)[0].splitlines()
    in_text = r"`(?:[A-Z_]+=\S+ )*((?:make|uvx|pipx|docker|azd|\.venv/bin/orc) [^`]+)`"
    commands = {line.partition("#")[0].strip() for line in lines} | set(re.findall(in_text, README))
    assert {each for each in commands if not each.startswith(named)} == set(RUN_ELSEWHERE)
    for command, file in RUN_ELSEWHERE.items():
        assert f'"{command.split()[-1]}"' in (ROOT / file).read_text()


def test_the_two_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make ([a-z-]+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_every_setting_that_the_readme_names_exists() -> None:
    from mcp_server.settings import Settings as McpSettings
    from orc.settings import Settings

    known = set()
    for model in (Settings, McpSettings):
        for name, field in model.model_fields.items():
            known.add(f"ORC_{name.upper()}")
            choices = getattr(field.validation_alias, "choices", [])
            known.update(map(str, choices))
    named = set(re.findall(r"`((?:ORC|OPENAI|AZURE|MCP|MAX)_[A-Z_]+)`", README))
    assert named <= known


def test_every_place_in_the_map_of_the_code_exists() -> None:
    table = README.split("| where | what |")[1].split("\n\n")[0]
    places = re.findall(r"`([^`]+)`", table)
    assert [place for place in places if not (ROOT / place).exists()] == []
    packages = {
        path.name + "/" for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()
    }
    assert packages - {"scripts/"} <= set(places)


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) <= 120
