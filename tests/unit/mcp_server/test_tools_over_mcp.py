"""The tools through an MCP client: results fit their schemas, people get text, and progress is shown."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import pytest_asyncio
from mcp import Client
from mcp.server import MCPServer
from mcp_types import TextContent

from mcp_server.bootstrap import open_app
from mcp_server.server import build_stdio_server
from mcp_server.settings import Settings
from orc_core.analysis.models import Entity, PageAnalysis
from orc_core.bootstrap import open_documents
from orc_core.documents.scope import Scope
from orc_core.mcp_contract import CAP_META_KEY, MODEL_META_KEY, WISHES_META_KEY
from orc_core.models import Document
from tests.unit.mcp_server.stand_ins import ANN, store_model_analysis
from tests.unit.mcp_server.tool_calls import LOCAL, Arguments, calls_of, may_change

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

QUAY = "The quay opens at seven. The harbour master keeps the key."
LONG = f"{'Nothing of note happened in the harbour. ' * 4000}\n\n{QUAY}"
ASKED = {"question": "When does the quay open?", "document_names": ["quay.txt"]}
"""A call of document_chat."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def documents(folder: Path) -> list[Document]:
    """A short document and a long one; neither is indexed, since no worker runs."""
    async with open_documents(Settings(data_dir=folder)) as opened:
        for name, text in (("quay.txt", QUAY), ("long.txt", LONG)):
            source = folder / "source.txt"
            source.write_text(text)
            await opened.library.upload(ANN, name, source)
        documents = await opened.library.resolve(ANN, ["quay.txt", "long.txt"])
        page = PageAnalysis(page=1, entities=[Entity(name="harbour master", type="person")])
        await store_model_analysis(opened.analyses, documents[0], page)
        return documents


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(documents: list[Document], folder: Path) -> AsyncIterator[MCPServer[None]]:
    async with open_app(Settings(data_dir=folder)) as services:
        yield build_stdio_server(services, lambda: may_change(Scope.of_session(ANN, documents)))


async def calls(server: MCPServer[None], name: str, document: Document) -> list[Arguments]:
    [tool] = [each for each in await server.list_tools() if each.name == name]
    return calls_of(tool, "harbour master", document.document_id, document.blob_name)


@pytest.mark.parametrize("name", LOCAL)
async def test_a_result_fits_its_schema_and_has_text_for_people(
    name: str, server: MCPServer[None], documents: list[Document]
) -> None:
    [tool] = [each for each in await server.list_tools() if each.name == name]
    for arguments in await calls(server, name, documents[0]):
        async with Client(server) as client:
            result = await client.call_tool(name, arguments)
        [content] = result.content
        assert isinstance(content, TextContent)
        if result.is_error:
            # No worker runs here, so nothing has been summarised.
            assert json.loads(content.text)["code"] == "not_ready"
            continue
        jsonschema.validate(result.structured_content, tool.output_schema or {})
        assert content.text.strip()


async def call_text(server: MCPServer[None], name: str, arguments: dict[str, Any]) -> str:
    async with Client(server) as client:
        result = await client.call_tool(name, arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return content.text


IDS = {
    "documents_list": "document_id",
    "documents_get_content": "document_id",
    "semantic_search": "page_id",
    "search_pages": "page_id",
    "get_page": "page_id",
    "follow_relation": "page_id",
}


@pytest.mark.parametrize(("name", "kind"), IDS.items())
async def test_a_model_that_is_given_only_the_text_can_call_the_next_tool(
    name: str, kind: str, server: MCPServer[None], documents: list[Document]
) -> None:
    """Many clients give a model the text block alone."""
    text = await call_text(server, name, (await calls(server, name, documents[0]))[0])
    shown = re.findall(rf"\({kind} ([^ )]+)\)", text)
    following = "get_page" if kind == "page_id" else "documents_get_content"
    read = await call_text(server, following, {kind: shown[0]})
    assert "quay" in read


async def test_documents_that_are_not_indexed_are_searched_and_named_with_their_status(
    server: MCPServer[None], documents: list[Document]
) -> None:
    async with Client(server) as client:
        found = (await client.call_tool("semantic_search", {"query": "quay opens"})).structured_content or {}
    assert "The quay opens at seven." in found["passages"][0]["text"]
    shown = {each["filename"]: (each["status"], each["searched"]) for each in found["documents"]}
    assert shown == {document.blob_name: (document.status, True) for document in documents}
    assert documents[0].status != "completed"


async def test_reading_a_long_document_reports_progress(
    server: MCPServer[None], documents: list[Document]
) -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    arguments = {"document_id": documents[1].document_id, "question": "When does the quay open?"}
    async with Client(server) as client:
        result = await client.call_tool("documents_analyze", arguments, progress_callback=hear)
    found = result.structured_content or {}
    assert "The quay opens at seven." in found["answer"]
    assert found["metadata"]["chunks"] > 1
    assert any(message.startswith("Reading the document in parts (1 of") for message in heard)


@pytest.mark.parametrize(
    ("meta", "shown"),
    [
        ({MODEL_META_KEY: "another"}, "The configured models are: extractive."),
        ({MODEL_META_KEY: ["extractive"]}, "is a name"),
        ({CAP_META_KEY: 0}, "numbers from 1"),
        ({WISHES_META_KEY: ["Answer briefly."] * 5}, "at most 4"),
        ({MODEL_META_KEY: "extractive", CAP_META_KEY: 200}, ""),
    ],
    ids=["a model that is not here", "no name", "no cap", "too many wishes", "the model that is here"],
)
async def test_a_caller_may_choose_among_the_models_that_are_configured(
    meta: dict[str, Any], shown: str, server: MCPServer[None]
) -> None:
    async with Client(server) as client:
        result = await client.call_tool("document_chat", ASKED, meta=cast(Any, meta))
    [content] = result.content
    assert isinstance(content, TextContent)
    assert result.is_error == bool(shown)
    assert shown in content.text
    assert not shown or '"code":"invalid_input"' in content.text
