"""The MCP inspector's command line, a client of another make, with the token that `orc token` prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.contract import DocumentChatResult
from tests.doubles.openai_double import OpenAIDouble
from tests.shared_data import ROOT
from tests.system import System
from tests.system_tests.conftest import MakeClient
from tests.system_tests.steps import Json, conversation_with

INSPECTOR = ROOT / "node_modules" / ".bin" / "mcp-inspector"
SECONDS = 60
ASK = (
    *("--method", "tools/call", "--tool-name", "document_chat"),
    *("--tool-arg", "question=When does the quay open?", "--tool-arg", 'document_names=["a.txt"]'),
)
LIST = ("--method", "tools/list")

pytestmark = pytest.mark.skipif(
    not INSPECTOR.exists(), reason="the MCP inspector is not installed; `npm ci` in the repository does it"
)


@pytest.fixture
def conversation_id(client_of: MakeClient, double: OpenAIDouble) -> str:
    """A conversation of the local user, for whom `orc token` mints."""
    return conversation_with(client_of("local", "me"), "a.txt", "b.txt")


def run(orc: System, *command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    # In a home of its own the inspector finds no login of the developer's and leaves nothing behind,
    # and without a terminal it does not start one.
    environment = {**os.environ, **orc.settings, "HOME": str(orc.data_dir), **settings}
    return subprocess.run(
        [*command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def token(orc: System, *arguments: str) -> str:
    minted = run(orc, sys.executable, "-m", "orc", "token", *arguments)
    assert minted.returncode == 0, minted.stderr
    return minted.stdout.strip()


def inspect_http(orc: System, token: str | None, *method: str) -> subprocess.CompletedProcess[str]:
    header = ("--header", f"Authorization: Bearer {token}") if token else ()
    return run(orc, INSPECTOR, "--cli", orc.mcp_url, "--transport", "http", *header, *method)


def inspect_stdio(orc: System, token: str, *method: str) -> subprocess.CompletedProcess[str]:
    server = (sys.executable, "-m", "mcp_server", "stdio")
    # The inspector passes on to a server what `-e` names, and nothing else.
    needed = {**orc.settings, "ORC_SCOPE_TOKEN": token, "PYTHONPATH": str(ROOT)}
    settings = [word for name, value in needed.items() for word in ("-e", f"{name}={value}")]
    return run(orc, INSPECTOR, "--cli", *settings, *server, *method)


def output(inspected: subprocess.CompletedProcess[str]) -> Json:
    assert inspected.returncode == 0, inspected.stderr
    printed: Json = json.loads(inspected.stdout)
    return printed


def test_it_lists_and_calls_the_tools_over_http(orc: System, conversation_id: str) -> None:
    minted = token(orc, "--conversation", conversation_id)
    tools = {tool["name"]: tool for tool in output(inspect_http(orc, minted, *LIST))["tools"]}
    assert tools.keys() == {"document_chat", "documents_list"}
    assert tools["document_chat"]["annotations"]["readOnlyHint"] is True
    assert tools["document_chat"]["outputSchema"]["properties"].keys() >= {"answer", "files", "citations"}
    called = output(inspect_http(orc, minted, *ASK))
    answer = DocumentChatResult.model_validate(called["structuredContent"])
    assert answer.answer.startswith("The quay opens at seven.")
    assert answer.citations[0].verified


def test_it_calls_the_tools_over_stdio(orc: System, conversation_id: str) -> None:
    minted = token(orc, "--conversation", conversation_id)
    called = output(inspect_stdio(orc, minted, *ASK))
    assert DocumentChatResult.model_validate(called["structuredContent"]).citations[0].verified


@pytest.mark.parametrize("given", [None, "a.b.c"], ids=["no token", "a bad token"])
def test_it_is_refused_without_a_good_token(given: str | None, orc: System, double: OpenAIDouble) -> None:
    refused = inspect_http(orc, given, *ASK)
    assert refused.returncode != 0
    assert json.loads(refused.stderr)["error"]["code"] == "auth_required"
    assert double.requests == []


def test_a_token_for_one_document_does_not_reach_the_other(orc: System, conversation_id: str) -> None:
    minted = token(orc, "--conversation", conversation_id, "--document", "b.txt")
    refused = inspect_http(orc, minted, *ASK)
    told = json.loads(refused.stdout)
    assert told["isError"] is True
    assert json.loads(told["content"][0]["text"])["code"] == "not_found"
