"""The tools server, as any MCP client may call it: what it offers, refuses, and keeps apart."""

import json
from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import System
from orc_core.documents.scope import Scope
from orc_core.mcp_contract import (
    STREAM_META_KEY,
    TOOL_FACTS,
    TOOLS,
    DocumentChatResult,
    DocumentsListResult,
    StatusLine,
    TextDelta,
    ToolFailure,
    tool_progress,
)
from orc_core.names import BlobPath, Owner
from tests.system.conftest import MakeClient
from tests.system.steps import (
    Json,
    call_tool,
    conversation_with,
    document_chat_arguments,
    new_id,
    scope_over,
    tools_client,
)

SECRET = "The canary sings at noon."


@pytest.fixture
def owner(client_of: MakeClient, double: OpenAIDouble) -> Owner:
    """A user with two documents in one conversation."""
    owner = Owner(f"org-{new_id()}", "ann", new_id())
    conversation_with(client_of(owner.organization_id, "ann"), "a.txt", "b.txt", within=owner.conversation_id)
    return owner


@pytest.fixture
def stranger(client_of: MakeClient) -> Owner:
    """Another user, with a document of the same name as one of the owner's."""
    stranger = Owner(f"org-{new_id()}", "ann", new_id())
    caller = client_of(stranger.organization_id, "ann")
    conversation_with(caller, "a.txt", "secret.txt", text=SECRET, within=stranger.conversation_id)
    return stranger


def failure(result: CallToolResult) -> Json:
    """The error of a failed call, which must not match the tool's output schema."""
    assert result.is_error
    assert result.structured_content is None
    [content] = result.content
    assert isinstance(content, TextContent)
    error: Json = json.loads(content.text)
    assert error.keys() == ToolFailure.model_fields.keys()
    return error


def found(result: CallToolResult) -> DocumentChatResult:
    assert not result.is_error, result.content
    return DocumentChatResult.model_validate(result.structured_content)


async def test_every_tool_is_described_typed_and_annotated(orc: System, owner: Owner) -> None:
    async with tools_client(orc, scope_over(owner)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    # Pages are not analysed by a model here.
    assert tools.keys() == TOOLS - {"web_search", "follow_relation", "get_ontology"}
    for name, tool in tools.items():
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (TOOL_FACTS[name].kind == "read")
        assert tool.annotations.destructive_hint is False
        assert tool.input_schema["type"] == "object"
    properties = {name: (tool.output_schema or {})["properties"].keys() for name, tool in tools.items()}
    assert properties["document_chat"] == DocumentChatResult.model_fields.keys()
    assert properties["documents_list"] == DocumentsListResult.model_fields.keys()
    arguments = tools["document_chat"].input_schema["properties"]
    assert arguments.keys() == {"question", "document_names", "cached_file_info", "look_for", "context"}


async def test_document_chat_answers_with_verified_citations(orc: System, owner: Owner) -> None:
    result = await call_tool(
        orc, scope_over(owner, "a.txt"), "document_chat", **document_chat_arguments("a.txt")
    )
    answer = found(result)
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == answer.answer
    assert answer.citations[0].verified
    assert answer.citations[0].document_id == BlobPath(owner, "a.txt").document_id


async def progress_of(orc: System, owner: Owner, meta: Any) -> tuple[DocumentChatResult, list[str]]:
    """An answer, and the progress messages that came before it."""
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with tools_client(orc, scope_over(owner, "a.txt")) as client:
        arguments = document_chat_arguments("a.txt")
        result = await client.call_tool("document_chat", arguments, progress_callback=hear, meta=meta)
    return found(result), heard


async def test_a_caller_that_streams_gets_the_answer_in_pieces_and_others_plain_progress(
    orc: System, owner: Owner, double: OpenAIDouble
) -> None:
    double.script = Script(tokens=20, text="The quay opens at seven.")
    answer, typed = await progress_of(orc, owner, {STREAM_META_KEY: True})
    pieces = [tool_progress.validate_json(message) for message in typed]
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == answer.answer
    assert [piece.total for piece in pieces if isinstance(piece, StatusLine)] == [2]
    answer, plain = await progress_of(orc, owner, None)
    assert plain
    assert not any(message.startswith("{") or answer.answer in message for message in plain)


async def test_documents_list_shows_what_is_in_scope_and_nothing_else(orc: System, owner: Owner) -> None:
    result = await call_tool(orc, scope_over(owner, "a.txt"), "documents_list")
    listed = DocumentsListResult.model_validate(result.structured_content).documents
    assert [(each.filename, each.pages) for each in listed] == [("a.txt", 1)]
    assert listed[0].status in {"uploaded", "processing", "completed"}


async def test_arguments_that_name_another_place_change_nothing(
    orc: System, owner: Owner, stranger: Owner
) -> None:
    elsewhere = {
        "organization_id": stranger.organization_id,
        "user_id": stranger.user_id,
        "conversation_id": stranger.conversation_id,
        "document_names": ["b.txt"],
        "scope": scope_over(stranger, "secret.txt").model_dump(),
    }
    async with tools_client(orc, scope_over(owner, "a.txt")) as client:
        listed = await client.call_tool("documents_list", elsewhere)
        answer = await client.call_tool("document_chat", {**elsewhere, **document_chat_arguments("a.txt")})
    documents = DocumentsListResult.model_validate(listed.structured_content).documents
    assert [document.filename for document in documents] == ["a.txt"]
    assert found(answer).citations[0].document_id == BlobPath(owner, "a.txt").document_id


async def refusal(orc: System, scope: Scope, name: str) -> Json:
    """How a document is refused, less its name."""
    error = failure(await call_tool(orc, scope, "document_chat", **document_chat_arguments("a.txt", name)))
    return {**error, "message": error["message"].replace(name, "NAME")}


async def test_documents_outside_the_token_are_refused_like_missing_ones(
    orc: System, owner: Owner, stranger: Owner, double: OpenAIDouble
) -> None:
    scope = scope_over(owner, "a.txt")
    missing = await refusal(orc, scope, "absent.txt")
    assert (missing["code"], missing["retryable"]) == ("not_found", False)
    nowhere = Owner(stranger.organization_id, stranger.user_id, new_id())
    unreachable = [
        "b.txt",
        str(BlobPath(owner, "b.txt")),
        "secret.txt",
        str(BlobPath(stranger, "secret.txt")),
        str(BlobPath(stranger, "a.txt")),
        str(BlobPath(nowhere, "a.txt")),
        BlobPath(stranger, "a.txt").document_id,
    ]
    assert [await refusal(orc, scope, name) for name in unreachable] == [missing] * len(unreachable)
    assert double.requests == []


async def test_a_token_that_lists_a_foreign_document_gives_no_access_to_it(
    orc: System, owner: Owner, stranger: Owner
) -> None:
    """Even if the orchestrator minted nonsense: names are looked up in the token's own folder."""
    scope = scope_over(owner, "a.txt")
    foreign = scope_over(stranger, "a.txt", "secret.txt").document_ids or ()
    wide = scope.model_copy(update={"document_ids": (*(scope.document_ids or ()), *foreign)})
    assert (await refusal(orc, wide, "secret.txt"))["code"] == "not_found"
    assert (await refusal(orc, wide, str(BlobPath(stranger, "secret.txt"))))["code"] == "not_found"
    answer = found(await call_tool(orc, wide, "document_chat", **document_chat_arguments("a.txt")))
    assert "canary" not in answer.model_dump_json()
    listed = await call_tool(orc, wide, "documents_list")
    assert "secret.txt" not in str(listed.structured_content)


async def test_a_foreign_file_id_is_ignored_and_replaced(orc: System, owner: Owner, stranger: Owner) -> None:
    arguments = document_chat_arguments("a.txt")
    foreign = found(await call_tool(orc, scope_over(stranger, "a.txt"), "document_chat", **arguments))
    statuses, ids = [], set()
    for cached in (
        [foreign.files[0].model_dump()],
        [{"file_id": "file-made-up", "blob_name": "a.txt"}],
        [{"file_id": foreign.files[0].file_id, "blob_name": "b.txt"}],
    ):
        scope = scope_over(owner, "a.txt")
        answer = found(await call_tool(orc, scope, "document_chat", **arguments, cached_file_info=cached))
        statuses.append(answer.metadata.files[0].status)
        ids.add(answer.files[0].file_id)
        assert "canary" not in answer.model_dump_json()
    assert statuses == ["created", "reused", "reused"]
    assert len(ids - {foreign.files[0].file_id, "file-made-up"}) == len(ids) == 1
    own = [ref.model_dump() for ref in answer.files]
    again = found(await call_tool(orc, scope, "document_chat", **arguments, cached_file_info=own))
    assert again.metadata.files[0].status == "reused"


@pytest.mark.parametrize("name", ["../a.txt", "..", "a\\b.txt", "a%2Fb.txt", "a\u202e.txt"])
async def test_an_unsafe_name_is_refused_as_such(name: str, orc: System, owner: Owner) -> None:
    assert (await refusal(orc, scope_over(owner, "a.txt"), name))["code"] == "unsafe_name"


async def test_a_model_that_is_down_is_a_failure_that_can_be_tried_again(
    orc: System, owner: Owner, double: OpenAIDouble
) -> None:
    double.script = Script.model_validate({"failures": [{"status": 503}] * 3})
    error = failure(
        await call_tool(orc, scope_over(owner, "a.txt"), "document_chat", **document_chat_arguments("a.txt"))
    )
    assert (error["dependency"], error["retryable"]) == ("model", True)
