"""Seed 003, chats in a workspace: its endpoints, tools, rules of grounding and limits.

Its endpoints answer in its shapes. An answer also has the fields that all answers have, in snake case.
"""

from collections.abc import Callable
from datetime import datetime

import httpx
import pytest

from devkit.doubles.openai_double import ChatRequest, Reply, ToolCall
from tests.seeds.conftest import World, plans
from tests.system.steps import Json, answered, new_id

MANUAL = b"The transformer T1 feeds the busbar B2."
SERVICE = (
    b"# Service\n\n## What cools the transformer?\n\nThe transformer is cooled by oil.\n\n"
    b"## When is the oil of the transformer changed?\n\nIt is changed every ten years."
)


class Workspace:
    """A workspace with a document, and a member of it who asks there."""

    def __init__(self, world: World) -> None:
        self.user = f"ann-{new_id()}"
        self.id = world.context("workspace", "Plant", **{self.user: "viewer"})
        self.world = world

    def client(self, variant: str = "") -> httpx.Client:
        return self.world.client(self.user, variant)

    def post(self, client: httpx.Client, message: str, **body: object) -> httpx.Response:
        return client.post(f"/workspaces/{self.id}/chat", json={"message": message, **body})


@pytest.fixture
def plant(world: World) -> Workspace:
    workspace = Workspace(world)
    world.share(workspace.id, ("manual.txt", MANUAL), ("service.md", SERVICE))
    world.here.index()
    return workspace


def test_the_chat_endpoint_opens_a_session_and_goes_on_with_it(plant: Workspace) -> None:
    with plant.client() as ann:
        first = answered(plant.post(ann, "Show me transformers"))
        message = first["message"]
        assert message["role"] == "assistant"
        assert message["content"] == first["answer"]
        assert datetime.fromisoformat(message["createdAt"])
        assert message["citations"]
        assert len({each["pageId"] for each in message["citations"]}) == len(message["citations"])
        for citation in message["citations"]:
            assert citation.keys() == {"documentId", "pageNumber", "pageId"}
            page = ann.get(f"/contexts/{plant.id}/documents/{citation['documentId']}/pages/1")
            assert (page.status_code, citation["pageNumber"]) == (200, 1)
        again = answered(plant.post(ann, "And the oil?", sessionId=first["sessionId"], model="gpt-5.1"))
        assert again["sessionId"] == again["session_id"] == first["sessionId"]
        assert ann.get(f"/workspaces/{plant.id}/chat").status_code == 405
        assert plant.post(ann, "And?", sessionId=new_id()).status_code == 404
        for refused in ({"message": ""}, {}, {"message": "q", "model": "gpt-3"}):
            response = ann.post(f"/workspaces/{plant.id}/chat", json=refused)
            assert response.status_code == 422
            fields = [(each["field"], each["reason"]) for each in response.json()["errors"]]
            assert len(fields) == len(set(fields)), fields


def calling(name: str, arguments: Json) -> Callable[[ChatRequest], Reply | None]:
    """A model that calls a tool once it is offered, and then answers from what it gave."""

    def respond(request: ChatRequest) -> Reply | None:
        if request.body.get("tools") and not request.form and request.body["messages"][-1]["role"] != "tool":
            return Reply(tool_calls=[ToolCall(name=name, arguments=arguments)])
        return plans()(request)

    return respond


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("search_pages", {"query": "transformer"}, "finished"),
        ("search_pages", {"query": "transformer", "limit": 20}, "finished"),
        ("search_pages", {"query": "transformer", "limit": 25}, "finished"),
        ("get_page", {"document": "manual.txt", "page_number": 1}, "finished"),
        ("get_page", {"document": "manual.txt", "page_number": 99}, "failed"),
        ("get_page", {}, "failed"),
    ],
)
def test_the_tools_take_the_arguments_of_the_seed_and_are_logged(
    name: str, arguments: Json, status: str, plant: Workspace
) -> None:
    """A limit above 20 is 20, as in the seed; a model names documents by their names or by handles."""
    plant.world.model.responder = calling(name, arguments)
    flags = {"model_searches": True}
    with plant.client() as ann:
        found = answered(plant.post(ann, "Show me transformers", feature_flags=flags))
        stored = ann.get(f"/conversations/{found['sessionId']}?full=true").json()
    for metadata in (found["metadata"], stored["turns"][0]["result"]["metadata"]):
        [call] = [each for each in metadata["tools"] if each["name"] == name]
        assert call["status"] == status
        shown = {key: value for key, value in arguments.items() if key not in ("document", "page")}
        assert call["arguments"].items() >= shown.items()
        assert (call["hits"] or 0) >= (status == "finished")
        assert call["duration_ms"] >= 0


def test_a_workspace_that_is_not_indexed_says_why(world: World) -> None:
    """Of several kinds: 409 and a code, instead of the seed's 400 for all."""
    workspace = Workspace(world)
    with workspace.client() as ann:
        empty = workspace.post(ann, "Show me transformers")
        assert (empty.status_code, empty.json()["code"]) == (409, "workspace_empty")
        world.share(workspace.id, ("blank.txt.pdf", _blank_pdf()))
        world.here.index()
        unreadable = workspace.post(ann, "Show me transformers")
    problem = unreadable.json()
    assert (unreadable.status_code, problem["code"]) == (409, "workspace_unreadable")
    assert (problem["retryable"], problem["documents"]["failed"]) == (False, 1)
    assert "retry-after" not in unreadable.headers


def _blank_pdf() -> bytes:
    from tests.unit.orc_core.extraction.samples import pdf

    return pdf("")


def test_what_is_not_found_is_said_in_the_words_of_a_workspace(plant: Workspace) -> None:
    plant.world.model.responder = lambda request: plans()(request) or Reply(text="[none]")
    with plant.client() as ann:
        found = answered(plant.post(ann, "Who is the minister of tides?"))
    assert found["answer_kind"] == "not_found"
    assert found["answer"] == "I could not find this in the documents."


def test_sessions_are_listed_read_exported_and_deleted(plant: Workspace) -> None:
    with plant.client() as ann:
        first = answered(plant.post(ann, "Show me transformers"))
        session, sessions = first["sessionId"], f"/workspaces/{plant.id}/chat/sessions"
        [listed] = ann.get(sessions).json()["sessions"]
        assert (listed["sessionId"], listed["messageCount"]) == (session, 2)
        assert listed["title"] == "Show me transformers"
        assert datetime.fromisoformat(listed["createdAt"]) <= datetime.fromisoformat(listed["lastMessageAt"])
        asked, said = ann.get(f"{sessions}/{session}").json()["session"]["messages"]
        assert (asked["role"], asked["content"]) == ("user", "Show me transformers")
        assert (said["role"], said["content"]) == ("assistant", first["answer"])
        assert said["citations"] == first["message"]["citations"]
        for kind, start in (("markdown", b"#"), ("pdf", b"%PDF")):
            exported = ann.get(f"{sessions}/{session}/export?format={kind}")
            assert exported.status_code == 200
            assert exported.content.startswith(start)
        with plant.world.client("stranger") as stranger:
            assert stranger.get(f"{sessions}/{session}").status_code == 404
        assert ann.delete(f"{sessions}/{session}").status_code == 204
        assert ann.get(f"{sessions}/{session}").status_code == 404


def test_questions_are_suggested_from_the_documents_of_the_workspace(plant: Workspace) -> None:
    with plant.client() as ann:
        session = answered(plant.post(ann, "What does the transformer feed?"))["session_id"]
        found = ann.get(f"/workspaces/{plant.id}/chat/sessions/{session}/suggestions").json()
        questions = {"What cools the transformer?", "When is the oil of the transformer changed?"}
        assert set(found["suggestions"]) == questions
        with plant.world.client("root", "", "orc.admin") as root:
            root.delete(f"/contexts/{plant.id}/members/user/{plant.user}").raise_for_status()
        # A right that was withdrawn shows nothing more, there or in the conversation.
        assert ann.get(f"/conversations/{session}/suggestions").json()["suggestions"] == []


def test_twenty_messages_an_hour(world: World) -> None:
    with world.client(f"ann-{new_id()}", "limited") as ann:
        statuses = [ann.post("/orc", json={"question": "Hello"}).status_code for _ in range(20)]
        refused = ann.post("/orc", json={"question": "Hello"})
    assert statuses == [200] * 20
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    # Counted in slots of a minute, so that no hour, wherever it begins, has more.
    assert 3540 <= int(refused.headers["retry-after"]) <= 3660


def test_all_failed_files_of_a_workspace_are_read_again_or_removed_at_once(world: World) -> None:
    workspace = Workspace(world)
    world.share(workspace.id, ("one.pdf", _blank_pdf()), ("two.pdf", _blank_pdf()), ("manual.txt", MANUAL))
    world.here.index()
    path = f"/contexts/{workspace.id}/documents"
    with workspace.client() as ann, world.client("root", "", "orc.admin") as root:
        assert ann.delete(f"{path}/failed").json()["code"] == "role_too_low"
        assert root.post(f"{path}/failed").json() == {"documents": 2}
        statuses = {each["blob_name"]: each["status"] for each in root.get(path).json()["documents"]}
        assert statuses == {"one.pdf": "uploaded", "two.pdf": "uploaded", "manual.txt": "completed"}
        world.here.index()
        assert root.delete(f"{path}/failed").json() == {"documents": 2}
        assert [each["blob_name"] for each in root.get(path).json()["documents"]] == ["manual.txt"]
