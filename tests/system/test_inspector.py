"""The MCP inspector's command line, a client of another make, with the token that `orc token` prints."""

import asyncio
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
from orc_core.mcp_contract import ADD_TO_CONTEXT, DocumentChatResult, DocumentsListResult
from orc_core.names import BlobPath, Owner, page_id
from tests.system.steps import Json, call_tool, conversation_with, scope_over, wait_until

INSPECTOR = ".bin/mcp-inspector"
SECONDS = 60
LOCAL = ("local", "me")
LIST = ("--method", "tools/list")
PATIENT = ("--connect-timeout", str(1000 * SECONDS))
"""A busy machine starts a server in more than the 15 s that the inspector waits by itself."""
QUESTION = "When does the quay open?"
CALLS: dict[str, Json] = {
    "documents_list": {},
    "documents_analyze": {"document_id": "DOCUMENT", "question": QUESTION},
    "get_page": {"page_id": "PAGE"},
    "get_ontology": {},
    "document_chat": {"question": QUESTION, "document_names": ["a.txt"]},
    "documents_get_summary": {"document_id": "DOCUMENT"},
    "documents_get_content": {"document_id": "DOCUMENT", "max_chars": 5000},
    "semantic_search": {"query": QUESTION, "top_k": 3},
    "search_pages": {"query": QUESTION, "limit": 3},
    "follow_relation": {"entity_value": "harbour master", "direction": "both"},
}
"""How to call each tool that only reads; DOCUMENT and PAGE are ids."""
ASK = (
    *("--method", "tools/call", "--tool-name", "document_chat"),
    *("--tool-arg", f"question={QUESTION}", "--tool-arg", 'document_names=["a.txt"]'),
)
SAYS_IT = {
    "document_chat",
    "documents_get_content",
    "documents_analyze",
    "semantic_search",
    "search_pages",
    "get_page",
}
"""The tools whose results must hold the sentence that was asked for."""
NEED_ANALYSES_BY_A_MODEL = {"follow_relation", "get_ontology"}
"""The tools that fail here, because no model analyses the pages of these tests."""


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


def call(name: str, conversation_id: str) -> list[str]:
    """The inspector's arguments for a call of this tool."""
    document_id = BlobPath(Owner(*LOCAL, conversation_id), "a.txt").document_id
    values = {"DOCUMENT": document_id, "PAGE": page_id(document_id, 1)}
    words = ["--method", "tools/call", "--tool-name", name]
    for argument, value in CALLS[name].items():
        given = values.get(value, value) if isinstance(value, str) else json.dumps(value)
        words += ["--tool-arg", f"{argument}={given}"]
    return words


def wait_for_summaries(orc: System, conversation_id: str) -> None:
    """Wait until the documents' summaries are made, in the background."""
    scope = scope_over(Owner(*LOCAL, conversation_id), "a.txt", "b.txt")

    def made() -> bool:
        listed = asyncio.run(call_tool(orc, scope, "documents_list")).structured_content
        return all(d.summary_available for d in DocumentsListResult.model_validate(listed).documents)

    wait_until(made, "the documents have summaries")


def test_it_lists_all_tools_over_http_and_stdio_alike(orc: System, minted: str, listed: list[Json]) -> None:
    assert {tool["name"] for tool in listed} == {*CALLS, ADD_TO_CONTEXT} - NEED_ANALYSES_BY_A_MODEL
    assert [tool["name"] for tool in listed if not tool["annotations"]["readOnlyHint"]] == [ADD_TO_CONTEXT]
    assert output(inspect_stdio(orc, minted, *LIST))["tools"] == listed


@pytest.mark.parametrize("name", sorted(CALLS.keys() - NEED_ANALYSES_BY_A_MODEL))
def test_it_calls_every_tool_over_http(
    name: str, orc: System, conversation_id: str, minted: str, listed: list[Json], double: OpenAIDouble
) -> None:
    if name == "documents_get_summary":
        wait_for_summaries(orc, conversation_id)
    called = output(inspect_http(orc, minted, *call(name, conversation_id)))
    assert not called.get("isError"), called
    [schema] = [tool["outputSchema"] for tool in listed if tool["name"] == name]
    jsonschema.validate(called["structuredContent"], schema)
    assert name not in SAYS_IT or "The quay opens at seven." in json.dumps(called["structuredContent"])


def test_it_calls_the_tools_over_stdio(orc: System, minted: str, double: OpenAIDouble) -> None:
    called = output(inspect_stdio(orc, minted, *ASK))
    assert DocumentChatResult.model_validate(called["structuredContent"]).citations[0].verified


@pytest.mark.parametrize("given", [None, "a.b.c"], ids=["no token", "a bad token"])
def test_it_is_refused_without_a_good_token(given: str | None, orc: System, double: OpenAIDouble) -> None:
    refused = inspect_http(orc, given, *ASK)
    assert refused.returncode != 0
    assert json.loads(refused.stderr)["error"]["code"] == "auth_required"
    # Documents of other tests may be analysed meanwhile, by the same model.
    assert not any(QUESTION in json.dumps(request.body) for request in double.requests)


def test_a_token_for_one_document_gives_no_access_to_another(orc: System, conversation_id: str) -> None:
    narrow = token(orc, "--conversation", conversation_id, "--document", "b.txt")
    refused = inspect_http(orc, narrow, *ASK)
    result = json.loads(refused.stdout)
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["code"] == "not_found"
