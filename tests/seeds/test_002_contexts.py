"""The seed's testing notes on sessions over several contexts, each as a test of its name."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply
from devkit.in_process import InProcess, Variant, over_model
from devkit.system import ask_streaming, principal_headers, upload
from orc.tools.mcp_client import McpToolGateway
from orc_core.documents.places import Place, PlaceType, session_place
from orc_core.documents.scope import Scope
from orc_core.errors import OrcError
from orc_core.mcp_contract import TOOL_FACTS
from orc_core.names import Owner
from tests.system.steps import Json, answered, new_id

TITLE_MODEL = "gpt-4.1-nano"
TITLE = "Costs of the ferry"
TENANT = "acme"


class Seeded(NamedTuple):
    """What is running, and the contexts of a tenant with a document in each, by their types."""

    here: InProcess
    double: OpenAIDouble
    ids: dict[str, str]

    def client(self, user: str = "vera") -> httpx.Client:
        """A client of a user; `vera` is a viewer of everything."""
        return self.here.client("", TENANT, user)

    def call(self, name: str, scope: Scope, **arguments: Any) -> Json:
        """A tool call with a token for `scope`."""
        token = self.here.documents.tokens.mint(scope, seconds=600)

        async def work() -> Json:
            gateway = McpToolGateway(self.here.mcp_url, timeout_seconds=60)
            try:
                return await gateway.call(name, arguments, token)
            finally:
                await gateway.close()

        return asyncio.run(work())


def respond(request: ChatRequest) -> Reply | None:
    """A title to the model that makes them; what the double says by itself to all others."""
    return Reply(text=json.dumps({"title": TITLE})) if request.body["model"] == TITLE_MODEL else None


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    double = OpenAIDouble(respond)
    folder = tmp_path_factory.mktemp("seeded")
    with over_model(double, folder, {"": Variant({"critic": "off"})}, title_model=TITLE_MODEL) as here:
        yield Seeded(here, double, _contexts(here))


def _contexts(here: InProcess) -> dict[str, str]:
    ids: dict[str, str] = {}
    with httpx.Client(
        base_url=here.addresses[""], headers=principal_headers(TENANT, "root", "orc.admin"), timeout=60
    ) as root:
        for kind, parent in (("organization", None), ("folder", "organization"), ("usecase", "folder")):
            new = {"type": kind, "name": f"The {kind}", "parent_id": ids.get(parent or "")}
            ids[kind] = root.post("/contexts", json=new).raise_for_status().json()["context_id"]
        new = {"type": "workspace", "name": "The workspace"}
        ids["workspace"] = root.post("/contexts", json=new).raise_for_status().json()["context_id"]
        for kind, context_id in ids.items():
            text = f"The ferry of the {kind} costs {len(kind)} crowns."
            files = [("file", (f"{kind}.txt", text.encode()))]
            root.post(f"/contexts/{context_id}/documents", files=files).raise_for_status()
            if "-" not in context_id:
                path = f"/contexts/{context_id}/members/user/vera"
                root.put(path, json={"role": "viewer"}).raise_for_status()
    return ids


def place(seeded: Seeded, kind: str, **fields: Any) -> Place:
    return Place(type=PlaceType(kind), id=seeded.ids[kind], name=f"The {kind}", **fields)


def ask(client: httpx.Client, *contexts: tuple[str, str], **body: Any) -> Json:
    named = [{"type": kind, "id": context_id} for kind, context_id in contexts]
    asked = {"question": "What does the ferry cost?", "contexts": named, **body}
    answered = client.post("/orc", json=asked)
    assert answered.status_code == 200, answered.text
    result: Json = answered.json()
    return result


def test_tool_listing_reflects_document_context_origin(seeded: Seeded) -> None:
    owner = Owner(TENANT, "vera", new_id())
    with seeded.client() as vera:
        assert upload(vera, owner.conversation_id, ("own.txt", b"Mine.")).status_code == 201
    near, far = place(seeded, "usecase"), place(seeded, "organization", deep=True, near=False)
    scope = Scope.of_session(owner).model_copy(update={"places": (session_place(owner), near, far)})
    listed = seeded.call("documents_list", scope)["documents"]
    origins = {each["filename"]: (each["context_type"], each["context_id"]) for each in listed}
    assert origins["own.txt"] == ("session", owner.conversation_id)
    assert origins["usecase.txt"] == ("usecase", seeded.ids["usecase"])
    assert origins["organization.txt"] == ("organization", seeded.ids["organization"])
    assert set(origins) == {"own.txt", "usecase.txt", "folder.txt", "organization.txt"}
    assert all({"status", "summary_available"} <= set(each) for each in listed)


AVAILABLE = {
    "usecase": {"usecase", "folder", "organization"},
    "folder": {"usecase", "folder", "organization"},
    "organization": {"usecase", "folder", "organization"},
    "workspace": {"workspace"},
}


@pytest.mark.parametrize("focus", AVAILABLE)
def test_document_availability_on_focus_and_historical_contexts(focus: str, seeded: Seeded) -> None:
    with seeded.client() as vera:
        for kind in seeded.ids:
            question = f"What does the ferry of the {kind} cost?"
            found = ask(vera, (focus, seeded.ids[focus]), question=question)
            cited = {citation["blob_name"] for citation in found["citations"]}
            assert (f"{kind}.txt" in cited) == (kind in AVAILABLE[focus]), found["answer"]
        first = ask(vera, ("workspace", seeded.ids["workspace"]))
        later = ask(
            vera,
            ("usecase", seeded.ids["usecase"]),
            conversation_id=first["conversation_id"],
            question="What does the ferry of the workspace cost?",
        )
    historical = later["metadata"]["contexts"]["historical"]
    assert [each["name"] for each in historical] == ["The workspace"]
    assert "workspace.txt" in {citation["blob_name"] for citation in later["citations"]}
    assert 'in workspace "The workspace"' in later["answer"]


def test_each_message_stores_its_contexts_and_one_that_is_not_active_is_left_out(seeded: Seeded) -> None:
    """`chat_messages.contexts`: with type and id, as they were sent."""
    sent = [
        {"type": "usecase", "id": seeded.ids["usecase"], "active": True},
        {"type": "workspace", "id": seeded.ids["workspace"], "active": False},
    ]
    with seeded.client() as vera:
        question = {"question": "What does the ferry of the workspace cost?", "contexts": sent}
        found = answered(vera.post("/orc", json=question))
        stored = vera.get(f"/conversations/{found['conversation_id']}?full=true").json()["history"][0]
    assert [{name: each[name] for name in ("type", "id", "active")} for each in stored["contexts"]] == sent
    assert "workspace.txt" not in {citation["blob_name"] for citation in found["citations"]}


def test_the_tools_of_a_document_depend_on_its_state(seeded: Seeded) -> None:
    """Not ready: analyze, no summary. Ready and short: its content."""
    owner = Owner(TENANT, "vera", new_id())
    with seeded.client() as vera:
        assert upload(vera, owner.conversation_id, ("own.txt", b"The ferry is mine.")).status_code == 201
    scope = Scope.of_session(owner)
    [listed] = seeded.call("documents_list", scope)["documents"]
    named = {"document_id": listed["document_id"]}
    assert (listed["filename"], listed["status"], listed["summary_available"]) == (
        "own.txt",
        "uploaded",
        False,
    )
    with pytest.raises(OrcError) as refused:
        seeded.call("documents_get_summary", scope, **named)
    assert refused.value.code == "not_ready"
    assert "mine" in seeded.call("documents_analyze", scope, **named, question="Whose is it?")["answer"]
    seeded.here.index()
    assert seeded.call("documents_get_summary", scope, **named)["summary"]
    assert seeded.call("documents_get_content", scope, **named)["pages"][0]["text"] == "The ferry is mine."


def test_the_prompt_has_the_focus_the_earlier_contexts_in_order_and_the_rule(seeded: Seeded) -> None:
    """The instructions are parts of one file, of which those are in a prompt that apply."""
    with seeded.client() as vera:
        first = ask(vera, ("workspace", seeded.ids["workspace"]))
        seeded.double.requests.clear()
        ask(vera, ("usecase", seeded.ids["usecase"]), conversation_id=first["conversation_id"])
    answering = [each for each in seeded.double.requests if ChatRequest(body=each.body).sources]
    system = json.dumps(answering[-1].body["messages"])
    assert system.index("The usecase") < system.index("The workspace")
    assert "Use other contexts only if the focus does not contain the answer." in system
    assert "If the goal is clear, act on it without asking first." in system


def test_session_documents_are_usable_by_tools_immediately_after_upload(seeded: Seeded) -> None:
    conversation = new_id()
    with seeded.client() as vera:
        assert upload(vera, conversation, ("fee.txt", b"The mooring fee is nine crowns.")).status_code == 201
        found = ask(vera, conversation_id=conversation, question="What is the mooring fee?")
    assert "nine crowns" in found["answer"]
    assert found["citations"][0]["blob_name"] == "fee.txt"


def test_viewers_can_create_sessions_send_and_retry_messages_upload_and_delete_session_documents(
    seeded: Seeded,
) -> None:
    context = {"type": "usecase", "id": seeded.ids["usecase"]}
    with seeded.client() as vera:
        refused = [True]

        def refuse_once(request: ChatRequest) -> Reply | None:
            if request.body["model"] != TITLE_MODEL and refused:
                refused.clear()
                return Reply(choices=False)
            return respond(request)

        seeded.double.responder = refuse_once
        body = {"question": "What does the ferry cost?", "contexts": [context]}
        failed = vera.post("/orc", json=body)
        seeded.double.responder = respond
        assert failed.status_code == 503, failed.text
        path = f"/conversations/{failed.headers['x-conversation-id']}"
        retried = vera.post(f"{path}/turns/{failed.headers['x-turn-id']}/retry")
        assert retried.status_code == 200, retried.text
        assert retried.json()["metadata"]["contexts"]["focus"]["id"] == context["id"]
        stored = upload(vera, path.rpartition("/")[2], ("own.txt", b"Mine."))
        assert stored.status_code == 201
        own = stored.json()["documents"][0]["document_id"]
        assert vera.delete(f"{path}/documents/{own}").status_code == 204
        files = [("file", ("more.txt", b"More."))]
        shared = f"/contexts/{context['id']}"
        for method, end, options in (
            ("POST", "/documents", {"files": files}),
            ("PATCH", "", {"json": {"name": "Mine"}}),
            ("PUT", "/members/user/eve", {"json": {"role": "viewer"}}),
            ("DELETE", "", {}),
        ):
            answered = vera.request(method, f"{shared}{end}", **options)
            assert (answered.status_code, answered.json()["code"]) == (403, "role_too_low"), method


def test_update_tools_remain_disabled_for_viewer_role(seeded: Seeded) -> None:
    """The one tool that changes something is locked for vera, whatever her message switches on."""
    updates = [name for name, facts in TOOL_FACTS.items() if facts.kind == "update"]
    assert updates
    seeded.double.requests.clear()
    with seeded.client() as vera:
        found = ask(vera, ("organization", seeded.ids["organization"]), tools=dict.fromkeys(updates, True))
    assert "crowns" in found["answer"]
    offered = json.dumps([each.body.get("tools") for each in seeded.double.requests])
    assert not [name for name in updates if name in offered]


def test_session_titles_are_generated_and_updated_via_sse_after_the_first_user_message(
    seeded: Seeded,
) -> None:
    with seeded.client() as vera:
        events = ask_streaming(vera, question="What does the ferry cost?")
        titled = [data for _, kind, data in events if kind == "chat_session_title_updated"]
        conversation = vera.get(f"/conversations/{titled[-1]['conversation_id']}").json()
    assert titled[-1]["title"] == TITLE
    assert titled[-1]["by"] == "model"
    assert [kind for _, kind, _ in events][-1] == "done"
    assert (conversation["title"], conversation["title_by"]) == (TITLE, "model")
