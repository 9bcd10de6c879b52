"""Every tool that takes an identifier refuses one out of scope like one of nothing, and says so by code."""

import ast
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent

import mcp_server
from mcp_server.bootstrap import open_app
from mcp_server.server import build_stdio_server
from mcp_server.settings import Settings
from mcp_server.tools.registration import ERRORS_META_KEY
from orc_core.analysis.models import Entity, PageAnalysis
from orc_core.bootstrap import open_documents
from orc_core.documents.scope import Scope
from orc_core.models import Document
from orc_core.names import BlobPath, Owner
from scripts.describe_tools import live_tools
from tests.unit.mcp_server.stand_ins import store_model_analysis
from tests.unit.mcp_server.tool_calls import HARMLESS, IDENTIFIERS, LOCAL, Arguments, calls_of, may_change

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

ANN, BOB = Owner("acme", "ann", "c-1"), Owner("acme", "bob", "c-2")
SECRET = "The canary sings at noon."


def methods_used_of_the_library() -> dict[str, set[str]]:
    """The methods of the document service that the tools server names, each with the modules that do."""
    used: dict[str, set[str]] = {}
    for path in Path(mcp_server.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and (
                node.attr == "list_documents" or ast.unparse(node.value).endswith("library")
            ):
                used.setdefault(node.attr, set()).add(path.stem)
    return used


async def test_no_tool_asks_for_the_documents_of_an_owner() -> None:
    """Every document comes from what the token makes accessible; none from an owner or a list of blobs."""
    assert methods_used_of_the_library().keys() == {"page", "find_accessible", "count", "readable", "text"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def own(folder: Path) -> AsyncIterator[Document]:
    """A document of Ann's; another of hers and one of Bob's of the same name lie in the same store."""
    async with open_documents(Settings(data_dir=folder)) as documents:
        for owner, name, text in (
            (ANN, "own.txt", "Quay."),
            (ANN, "more.txt", SECRET),
            (BOB, "own.txt", SECRET),
        ):
            source = folder / "source.txt"
            source.write_text(text)
            await documents.library.upload(owner, name, source)
            [stored] = await documents.library.resolve(owner, [name])
            page = PageAnalysis(page=1, summary=text, entities=[Entity(name="canary", type="other")])
            await store_model_analysis(documents.analyses, stored, page)
        [document] = await documents.library.resolve(ANN, ["own.txt"])
        yield document


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(own: Document, folder: Path) -> AsyncIterator[MCPServer[None]]:
    """A server for Ann whose token names her own document, and Bob's, which it should not."""
    foreign = own.model_copy(update={"document_id": BlobPath(BOB, "own.txt").document_id})
    scope = may_change(Scope.of_session(ANN, [own, foreign]))
    async with open_app(Settings(data_dir=folder)) as services:
        yield build_stdio_server(services, lambda: scope)


async def call(server: MCPServer[None], name: str, arguments: Arguments) -> CallToolResult:
    """One call in its own session."""
    async with Client(server) as client:
        return await client.call_tool(name, arguments)


async def calls_with(server: MCPServer[None], name: str, document: str) -> list[Arguments]:
    """The calls of a tool that identify a document, with this text as its id."""
    [tool] = [each for each in await server.list_tools() if each.name == name]
    calls = calls_of(tool, "When does the canary sing?", document)
    return [each for each in calls if IDENTIFIERS & each.keys()]


def failure(result: CallToolResult) -> Arguments:
    assert result.is_error
    [content] = result.content
    assert isinstance(content, TextContent)
    shown: Arguments = json.loads(content.text)
    return shown


async def test_every_argument_of_every_tool_is_known_to_these_tests() -> None:
    for tool in await live_tools():
        unknown = set(tool.input_schema["properties"]) - IDENTIFIERS - HARMLESS
        assert not unknown, f"{tool.name}: an argument that may name something"


@pytest.mark.parametrize("name", LOCAL)
async def test_foreign_out_of_scope_and_absent_ids_are_refused_alike(
    name: str, server: MCPServer[None]
) -> None:
    elsewhere = [
        BlobPath(ANN, "more.txt").document_id,
        BlobPath(BOB, "own.txt").document_id,
        BlobPath(ANN, "absent.txt").document_id,
        "more.txt",
        "absent.txt",
        "../own.txt",
        str(BlobPath(BOB, "own.txt")),
    ]
    for calls in zip(*[await calls_with(server, name, each) for each in elsewhere], strict=True):
        shown = [failure(await call(server, name, each)) for each in calls]
        assert (shown[0]["code"], shown[0]["retryable"]) == ("not_found", False)
        assert shown == [shown[0]] * len(elsewhere)


@pytest.mark.parametrize("name", LOCAL)
async def test_ids_in_scope_are_accepted_and_a_name_means_the_document_of_the_conversation(
    name: str, server: MCPServer[None], own: Document
) -> None:
    """Ann has no other document in scope, and Bob one of the same name."""
    by_id, by_name = [await calls_with(server, name, each) for each in (own.document_id, own.blob_name)]
    for pair in zip(by_id, by_name, strict=True):
        identified, named = [await call(server, name, each) for each in pair]
        assert not identified.is_error or failure(identified)["code"] == "not_ready"
        assert named == identified
        assert "canary sings" not in named.model_dump_json()


@pytest.mark.parametrize("name", LOCAL)
async def test_no_tool_shows_anything_outside_its_scope(
    name: str, server: MCPServer[None], own: Document
) -> None:
    [tool] = [each for each in await server.list_tools() if each.name == name]
    for arguments in calls_of(tool, "canary", own.document_id, own.blob_name):
        result = await call(server, name, arguments)
        assert not result.is_error or failure(result)["code"] == "not_ready"
        shown = result.model_dump_json()
        assert "canary sings" not in shown
        assert "more.txt" not in shown
        assert BlobPath(BOB, "own.txt").document_id not in shown


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_page", {}),
        ("get_page", {"page_number": 1}),
        ("semantic_search", {"query": "quay", "top_k": 51}),
        ("semantic_search", {"query": ""}),
        ("search_pages", {"query": "quay", "limit": 21}),
        ("follow_relation", {"entity_value": "quay", "direction": "sideways"}),
        ("documents_get_content", {"document_id": "x", "max_chars": 0}),
        ("documents_analyze", {"document_id": "x"}),
    ],
)
async def test_arguments_that_do_not_fit_are_said_to_be_invalid(
    name: str, arguments: Arguments, server: MCPServer[None]
) -> None:
    shown = failure(await call(server, name, arguments))
    assert (shown["code"], shown["retryable"]) == ("invalid_input", False)


async def test_a_summary_that_is_not_ready_may_be_asked_for_again(
    server: MCPServer[None], own: Document
) -> None:
    """Nothing works through the queue here, so the document stays as it was uploaded."""
    shown = failure(await call(server, "documents_get_summary", {"document_id": own.document_id}))
    assert (shown["code"], shown["retryable"]) == ("not_ready", True)
    assert own.status in shown["message"]
    tools = {tool.name: tool for tool in await server.list_tools()}
    assert "not_ready" in (tools["documents_get_summary"].meta or {})[ERRORS_META_KEY]
