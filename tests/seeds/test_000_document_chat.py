"""Seed 000, the document chat workflow: its payloads, its scenarios and its rules of reuse."""

import json
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import ChatRequest
from devkit.system import upload
from orc.graphs.mcp_executor import as_first_read, document_chat_arguments
from orc.graphs.models import ConversationState
from orc.tools.mcp_client import McpToolGateway
from orc_core.documents.scope import Scope
from orc_core.mcp_contract import DocumentChatResult, FileStatus
from orc_core.names import Owner
from tests.seeds.conftest import TENANT, World, ask, with_files
from tests.system.steps import Json, answered, new_id
from tests.unit.orc_core.extraction.samples import pdf

DOC1, DOC2 = "The notice period is thirty days.", "The notice period is ninety days."
PAYLOAD: Json = {
    "question": "Summarize the contract differences",
    "conversation_id": "<uuid>",
    "blob_names": ["doc1.pdf", "doc2.pdf"],
}
CACHED: list[Json] = [
    {"file_id": "file-abc123", "blob_name": "doc1.pdf"},
    {"file_id": "file-def456", "blob_name": "doc2.pdf"},
]


def statuses(turn: Json) -> dict[str, str]:
    return {each["blob_name"]: each["status"] for each in turn["metadata"]["files"]}


FILES = [("doc1.pdf", pdf(DOC1)), ("doc2.pdf", pdf(DOC2))]


def pdfs(client: httpx.Client) -> str:
    """A conversation with the two files."""
    conversation = new_id()
    assert upload(client, conversation, *FILES).json()["errors"] == []
    return conversation


def test_the_example_request_is_answered_about_both_documents(ann: httpx.Client) -> None:
    """The placeholder is no id: it is refused with the reason."""
    refused = ann.post("/orc", json=PAYLOAD)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "conversation_id")
    turn = answered(ann.post("/orc", json={**PAYLOAD, "conversation_id": pdfs(ann)}))
    assert turn["last_mcp_tool_used"] == "document_chat"
    assert [set(ref) for ref in turn["uploaded_file_refs"]] == [{"file_id", "blob_name"}] * 2
    assert {ref["blob_name"] for ref in turn["uploaded_file_refs"]} == {"doc1.pdf", "doc2.pdf"}


@pytest.mark.parametrize("content_type", [{}, {"content-type": "application/json"}])
def test_the_body_needs_no_content_type(content_type: dict[str, str], ann: httpx.Client) -> None:
    """As in a function app, whose `req.get_json()` does not look at it."""
    body = json.dumps({**PAYLOAD, "conversation_id": pdfs(ann)}).encode()
    turn = answered(ann.post("/orc", content=body, headers=content_type))
    assert turn["last_mcp_tool_used"] == "document_chat"


def test_named_documents_are_routed_to_the_tool_at_once_and_it_is_offered_to_no_model(
    world: World, ann: httpx.Client
) -> None:
    """No model plans while documents are named; without names the tool is not among those it may call."""
    conversation = pdfs(ann)
    ask(ann, "What is the notice period?", conversation_id=conversation, blob_names=["doc1.pdf"])
    assert not any(ChatRequest(body=each.body).form for each in world.model.requests)
    world.model.requests.clear()
    flags = {"model_searches": True}
    ask(ann, "Which period is longer?", conversation_id=conversation, feature_flags=flags)
    offered = [
        tool["function"]["name"] for each in world.model.requests for tool in each.body.get("tools", [])
    ]
    assert "semantic_search" in offered
    assert "document_chat" not in offered


@pytest.mark.parametrize(
    ("blob_names", "uploaded_file_refs", "cached"),
    [
        (["doc1.pdf"], [], None),
        (["doc1.pdf"], [{"file_id": "abc", "blob_name": "doc1.pdf"}], ["abc"]),
        (["doc2.pdf"], [{"file_id": "abc", "blob_name": "doc1.pdf"}], None),
        (["doc2.pdf", "doc1.pdf"], CACHED, ["file-abc123", "file-def456"]),
        (["doc1.pdf"], CACHED, None),
        (["Doc1.pdf"], [{"file_id": "abc", "blob_name": "doc1.pdf"}], None),
    ],
    ids=["first upload", "same documents", "different documents", "another order", "a part", "another case"],
)
def test_the_cache_is_sent_for_exactly_the_same_set(
    blob_names: list[str], uploaded_file_refs: list[Json], cached: list[str] | None
) -> None:
    state = ConversationState.model_validate(
        {
            "question": "q",
            "conversation_id": "c",
            "blob_names": blob_names,
            "uploaded_file_refs": uploaded_file_refs,
        }
    )
    sent = document_chat_arguments(state)
    assert sent["document_names"] == blob_names
    assert [ref["file_id"] for ref in sent.get("cached_file_info", [])] == (cached or [])
    assert ("cached_file_info" in sent) == (cached is not None)


def test_the_testing_scenarios_in_a_row(ann: httpx.Client) -> None:
    """A reference that is still valid is reused if the set differs, too: it belongs to the content."""
    conversation = pdfs(ann)

    def turn(*names: str) -> Json:
        return ask(ann, "What is the notice period?", conversation_id=conversation, blob_names=list(names))

    first, same, other, both = (
        turn("doc1.pdf"),
        turn("doc1.pdf"),
        turn("doc2.pdf"),
        turn("doc1.pdf", "doc2.pdf"),
    )
    assert statuses(first) == {"doc1.pdf": "created"}
    assert statuses(same) == {"doc1.pdf": "reused"}
    assert same["uploaded_file_refs"] == first["uploaded_file_refs"]
    assert statuses(other) == {"doc2.pdf": "created"}
    assert [ref["blob_name"] for ref in other["uploaded_file_refs"]] == ["doc2.pdf"]
    assert statuses(both) == {"doc1.pdf": "reused", "doc2.pdf": "reused"}
    stored = ann.get(f"/conversations/{conversation}?full=true").json()["history"][-1]
    assert stored["uploaded_file_refs"] == both["uploaded_file_refs"]
    assert stored["last_mcp_tool_used"] == "document_chat"


def test_a_first_use_is_a_first_use_if_the_answer_was_made_twice() -> None:
    """The second attempt at an answer reuses what the first has created."""
    name = {"document_id": "d1", "blob_name": "doc1.pdf"}
    metadata = {"mode": "inline", "reason": "", "files": [{**name, "status": "reused"}]}
    reply = DocumentChatResult.model_validate({"answer": "a", "metadata": metadata})
    for first, said in (("created", "created"), ("reused", "reused")):
        before = [FileStatus.model_validate({**name, "status": first})]
        assert [each.status for each in as_first_read(reply, before).metadata.files] == [said]


def test_a_file_that_has_expired_at_the_provider_is_sent_again_unseen(
    world: World, ann: httpx.Client
) -> None:
    conversation = pdfs(ann)

    def turn() -> tuple[Json, str]:
        found = ask(ann, "What is the notice period?", conversation_id=conversation, blob_names=["doc1.pdf"])
        [ref] = found["uploaded_file_refs"]
        return found, ref["file_id"]

    first, sent = turn()
    world.model.files.files[sent].expires_at = 1
    second, again = turn()
    assert sent != again
    assert again in world.model.files.files
    assert second["answer"] == first["answer"]
    assert statuses(second) == {"doc1.pdf": "created"}


async def test_the_example_arguments_of_the_tool(world: World) -> None:
    """Ids of files that are not the caller's are accepted and of no effect; expired ones are made again."""
    owner = Owner(TENANT, "inspector", new_id())
    with world.client(owner.user_id) as client:
        assert upload(client, owner.conversation_id, *FILES).status_code == 201
    token = world.here.documents.tokens.mint(Scope.of_session(owner), seconds=60)
    gateway = McpToolGateway(world.here.mcp_url, timeout_seconds=60)
    arguments: dict[str, Any] = {
        "question": "...question...",
        "document_names": ["doc1.pdf", "doc2.pdf"],
        "cached_file_info": CACHED,
    }
    try:
        result = await gateway.call("document_chat", arguments, token)
    finally:
        await gateway.close()
    assert result.keys() >= {"answer", "files", "metadata"}
    assert [set(each) for each in result["files"]] == [{"file_id", "blob_name"}] * 2
    assert {each["file_id"] for each in result["files"]} & {each["file_id"] for each in CACHED} == set()


def test_any_number_of_names_is_accepted(ann: httpx.Client) -> None:
    """The page attaches more than three too: those are searched, and the answer says so."""
    names = [f"doc{n}.txt" for n in range(4)]
    conversation = with_files(ann, **{name.replace(".", "_"): DOC1 for name in names})
    turn = ask(ann, "What is the notice period?", conversation_id=conversation, blob_names=names)
    assert "at most 3 are read whole" in turn["metadata"]["retrieval_reason"]
    assert {ref["blob_name"] for ref in turn["uploaded_file_refs"]} == set(names)


def test_names_are_case_sensitive_and_the_refusal_names_the_similar_one(ann: httpx.Client) -> None:
    body = {"question": "q", "conversation_id": pdfs(ann), "blob_names": ["Doc1.pdf"]}
    refused = ann.post("/orc", json=body)
    assert refused.status_code == 404
    assert 'Did you mean "doc1.pdf"?' in refused.json()["detail"]


def test_blobs_lie_where_the_seed_says_and_need_no_ending(world: World, ann: httpx.Client) -> None:
    """container / organization / user / conversation / file; a path may leave the container out."""
    conversation = with_files(ann, file=DOC1)
    [path] = world.here.folder.glob(f"blobs/{TENANT}/*/{conversation}/*")
    path.rename(path.with_name("file_1_id"))
    names = ["file_1_id", f"{TENANT}/{path.parts[-3]}/{conversation}/file_1_id"]
    for name in [*names, f"documents/{names[1]}"]:
        turn = ask(ann, "What is the notice period?", conversation_id=conversation, blob_names=[name])
        assert turn["citations"][0]["blob_name"] == "file_1_id"
    with world.client("eve") as eve:
        body = {"question": "q", "conversation_id": conversation, "blob_names": [f"documents/{names[1]}"]}
        assert eve.post("/orc", json=body).status_code == 404
