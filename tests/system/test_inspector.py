"""The MCP inspector's command line, a client of another make, with the token that `orc token` prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from devkit.doubles.openai_double import OpenAIDouble
from devkit.node import from_npm
from devkit.shared_data import ROOT
from devkit.system import System
from orc_core.mcp_contract import ADD_TO_CONTEXT, TOOLS, DocumentChatResult
from tests.system.steps import Json, conversation_with

INSPECTOR = ".bin/mcp-inspector"
SECONDS = 60
LOCAL = ("local", "me")
LIST = ("--method", "tools/list")
PATIENT = ("--connect-timeout", str(1000 * SECONDS))
"""A busy machine starts a server in more than the 15 s that the inspector waits by itself."""
QUESTION = "When does the quay open?"
ASK = (
    *("--method", "tools/call", "--tool-name", "document_chat"),
    *("--tool-arg", f"question={QUESTION}", "--tool-arg", 'document_names=["a.txt"]'),
)
NEED_MORE = {"follow_relation", "get_ontology", "web_search"}
"""The tools that these tests do not have: no model analyses pages here, and there is no search engine."""


@pytest.fixture(scope="module")
def conversation_id(orc: System) -> str:
    """A conversation of the local user, whose token `orc token` creates."""
    with orc.client(*LOCAL) as client:
        return conversation_with(client, "a.txt", "b.txt")


@pytest.fixture(scope="module")
def minted(orc: System, conversation_id: str) -> str:
    """A token for all documents of the conversation."""
    return token(orc, "--conversation", conversation_id)


@pytest.fixture(scope="module")
def listed(orc: System, minted: str) -> list[Json]:
    """The tools as the inspector lists them over HTTP."""
    tools: list[Json] = output(inspect_http(orc, minted, *LIST))["tools"]
    return tools


def run(orc: System, *command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    # In a separate home the inspector finds no login of the developer's and leaves nothing behind,
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
    return run(
        orc, from_npm(INSPECTOR), "--cli", *PATIENT, orc.mcp_url, "--transport", "http", *header, *method
    )


def inspect_stdio(orc: System, token: str, *method: str) -> subprocess.CompletedProcess[str]:
    server = (sys.executable, "-m", "mcp_server", "stdio")
    # The inspector passes on to a server what `-e` names, and nothing else.
    needed = {**orc.settings, "ORC_SCOPE_TOKEN": token, "PYTHONPATH": str(ROOT)}
    settings = [word for name, value in needed.items() for word in ("-e", f"{name}={value}")]
    return run(orc, from_npm(INSPECTOR), "--cli", *PATIENT, *settings, *server, *method)


def output(inspected: subprocess.CompletedProcess[str]) -> Json:
    assert inspected.returncode == 0, inspected.stderr
    printed: Json = json.loads(inspected.stdout)
    return printed


def test_it_lists_all_tools_over_http_and_stdio_alike(orc: System, minted: str, listed: list[Json]) -> None:
    assert {tool["name"] for tool in listed} == TOOLS - NEED_MORE
    assert [tool["name"] for tool in listed if not tool["annotations"]["readOnlyHint"]] == [ADD_TO_CONTEXT]
    assert output(inspect_stdio(orc, minted, *LIST))["tools"] == listed


def test_it_calls_a_tool_over_http(
    orc: System, minted: str, listed: list[Json], double: OpenAIDouble
) -> None:
    called = output(inspect_http(orc, minted, *ASK))
    assert not called.get("isError"), called
    [schema] = [tool["outputSchema"] for tool in listed if tool["name"] == "document_chat"]
    jsonschema.validate(called["structuredContent"], schema)


def test_it_calls_the_tools_over_stdio(orc: System, minted: str, double: OpenAIDouble) -> None:
    called = output(inspect_stdio(orc, minted, *ASK))
    assert DocumentChatResult.model_validate(called["structuredContent"]).citations[0].verified


def test_a_token_for_one_document_gives_no_access_to_another(orc: System, conversation_id: str) -> None:
    narrow = token(orc, "--conversation", conversation_id, "--document", "b.txt")
    refused = inspect_http(orc, narrow, *ASK)
    result = json.loads(refused.stdout)
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["code"] == "not_found"
