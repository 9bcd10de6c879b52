"""A foreign id gets the same response as an unknown id, on every route of the API."""

import re
import uuid
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from devkit.system import System, principal_headers, upload
from orc.contexts.ids import new_id as new_context_id
from orc_core.names import BlobPath, Owner
from scripts.api_snapshot import snapshot
from tests.system.conftest import MakeClient
from tests.system.steps import Json, answered, ask, conversation, conversation_with, new_id, wait_until

OF_CONTEXTS = {"context_id", "kind", "principal"}
"""Names in paths that belong to no conversation."""
OPEN_ROUTES = {"/api/health", "/api/ready"}
HARMLESS = {"limit", "cursor", "after_seq", "before_seq", "full", "format", "follow"}
HARMLESS |= {"last-event-id", "idempotency-key", "x-client-id"}
HARMLESS_IN_BODY = {
    "closest_passages",
    "feature_flags",
    "question",
    "messages",
    "message",
    "tools",
    "model",
    "file",
    "file_name",
    "size",
}
HARMLESS_IN_BODY |= {"session_id"}  # what it names is always the caller's own: see test_chat.py
# Of OpenAI's interface; `metadata` and headers may name a session, which has its own test below.
HARMLESS_IN_BODY |= {
    "max_tokens",
    "metadata",
    "n",
    "response_format",
    "stream",
    "stream_options",
    "tool_choice",
}
# Of `/v1/responses`; `conversation` is a name of the caller's own.
HARMLESS_IN_BODY |= {"input", "text", "background", "conversation"}
HARMLESS |= {"x-session-id", "x-openwebui-chat-id", "x-orc-task"}
# Filters of the admin's traces apply within the admin's organization: see test_admin.py.
HARMLESS |= {"since", "until", "user_id", "conversation_id", "status", "intent", "model"}
HARMLESS |= {"trace_id", "attempt", "context_id"}
# A link is looked up in the reader's organization: see test_sharing.py.
HARMLESS |= {"x-share-link", "language", "zone"}
HARMLESS |= {"q", "about", "inherited", "if-match", "name", "replace"}
# What is below a context is listed to those who see it: see test_contexts.py.
HARMLESS |= {"parent_id"}
HARMLESS_IN_BODY |= {"rating", "reason", "comment"}
HARMLESS_IN_BODY |= {"name", "description", "type", "tools_off", "role", "label", "title"}
HARMLESS_IN_BODY |= {"days", "is_pinned"}
# The interface that a key is for.
HARMLESS_IN_BODY |= {"only"}
# Which page of a document that the caller may read, and how.
HARMLESS |= {"number", "numbers", "width", "v", "boxes", "download", "if-none-match"}
SECRET = "The canary sings at noon."

OPENAPI: Json = snapshot()
"""The document as it was written: every process of pytest would have to make it again.

tests/unit/scripts compares it with the code."""
ROUTES = [
    (method.upper(), path, operation)
    for path, operations in OPENAPI["paths"].items()
    for method, operation in operations.items()
]
each_route = pytest.mark.parametrize(
    ("method", "path", "operation"), ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES]
)


@dataclass(frozen=True)
class Ids:
    """Values for everything in a request that names something."""

    owner: Owner
    document_id: str
    turn_id: str
    trace_id: str
    context_id: str
    note_id: str
    blob_name: str = "secret.txt"

    @property
    def in_path(self) -> dict[str, str]:
        return {
            "conversation_id": self.owner.conversation_id,
            "document_id": self.document_id,
            "turn_id": self.turn_id,
            "trace_id": self.trace_id,
            "context_id": self.context_id,
            "note_id": self.note_id,
            "proposal_id": self.note_id,  # stored with its owner: see test_proposals.py
            "decision": "confirm",
            "session_id": self.owner.conversation_id,
            "kind": "user",
            "principal": "ann",
            "model": "none",  # the same for all callers
            "link_id": "none",  # of the conversation's owner: see test_sharing.py
            "key_id": "none",  # of users who sign in on the page: see test_keys.py
            "number": "1",
        }

    @property
    def in_body(self) -> dict[str, list[Any]]:
        """The values to try of each field, one at a time."""
        path = str(BlobPath(self.owner, self.blob_name))
        return {
            "conversation_id": [self.owner.conversation_id],
            "blob_names": [
                [path],
                [self.blob_name],
                [{"blob_name": path}],
                [{"blob_name": self.blob_name, "context": {"type": "workspace", "id": self.context_id}}],
                [f"acme/~contexts/{self.context_id}/{self.blob_name}"],
            ],
            "parent_id": [self.context_id],
            "contexts": [[{"type": "workspace", "id": self.context_id}]],
            "replaces": [self.turn_id],
            "previous_response_id": [f"resp_{self.owner.conversation_id}_{self.turn_id}"],
        }


@pytest.fixture(scope="module")
def victim(orc: System) -> Ids:
    """What ann of acme has: a conversation with a document and a turn about it."""
    with orc.client("acme", "ann") as ann:
        owner = Owner("acme", "ann", new_id())
        conversation_with(ann, "secret.txt", text=SECRET, within=owner.conversation_id)
        turn = answered(ask(ann, owner.conversation_id, "secret.txt"))
        answered(ask(ann, owner.conversation_id, question="Please answer in German."))
        memory = f"/conversations/{owner.conversation_id}/memory"
        wait_until(lambda: bool(answered(ann.get(memory))["notes"]), "a wish is noted")
        [note] = answered(ann.get(memory))["notes"]
    document_id = BlobPath(owner, "secret.txt").document_id
    new = {"type": "organization", "name": "Secret project"}
    created = httpx.post(
        f"{orc.api}/contexts", json=new, headers=principal_headers("acme", "ann", "orc.admin"), timeout=30
    )
    assert created.status_code == 201, created.text
    context_id = created.json()["context_id"]
    return Ids(owner, document_id, turn["turn_id"], turn["metadata"]["trace_id"], context_id, note["note_id"])


def missing_like(ids: Ids) -> Ids:
    """Ids of the same form that do not exist."""
    owner = Owner(ids.owner.organization_id, ids.owner.user_id, new_id())
    return Ids(
        owner, new_id(), new_id(), uuid.uuid4().hex, new_context_id(), uuid.uuid4().hex[:16], "absent.txt"
    )


def schema_of(reference: Json) -> Json:
    schema: Json = OPENAPI["components"]["schemas"][reference["$ref"].rsplit("/", 1)[-1]]
    return schema


def request_fields(operation: Json) -> set[str]:
    """The fields of an operation's body."""
    contents = operation.get("requestBody", {}).get("content", {}).values()
    return {name for content in contents for name in schema_of(content["schema"])["properties"]}


def requests_with(ids: Ids, method: str, path: str, operation: Json) -> list[tuple[str, str, Json]]:
    """Requests of this operation that each put one of the ids somewhere."""
    url = path.format(**ids.in_path).removeprefix("/api")
    fields = request_fields(operation)
    if "file" in fields:
        return [(method, url, {"files": [("file", ("own.txt", b"My own text."))]})]
    if "file_name" in fields:
        return [(method, url, {"json": {"file_name": "own.txt", "size": 1}})]
    if not fields:
        return [(method, url, {})] if "{" in path else []
    if "rating" in fields:
        return [(method, url, {"json": {"rating": "up"}})]
    if "title" in fields:
        return [(method, url, {"json": {"title": "Mine"}})]
    if "parent_id" in fields:
        new = {"type": "folder", "name": "Mine"}
        return [(method, url, {"json": {**new, "parent_id": value}}) for value in ids.in_body["parent_id"]]
    if "context_id" in path and "message" not in fields:
        return [(method, url, {"json": {"role": "viewer"} if "role" in fields else {"name": "Mine"}})]
    asked = {"messages": [{"role": "user", "content": "What is it?"}]}
    question = asked if "messages" in fields else {"question": "What is it?"}
    question = {"message": "What is it?"} if "message" in fields else question
    question = {"input": "What is it?"} if "input" in fields else question
    return [
        (method, url, {"json": {**question, name: value}})
        for name in sorted(fields - HARMLESS_IN_BODY)
        for value in ids.in_body[name]
    ]


def what_shows(response: httpx.Response, ids: Ids) -> tuple[int, str, str]:
    """The answer as a stranger sees it, less what differs between any two answers."""
    body = response.text.replace(ids.blob_name, "NAME").replace(ids.context_id, "CONTEXT")
    body = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", body)
    body = re.sub(r'"(trace_id|created_at|updated_at)":"[^"]*"', "", body)
    body = re.sub(r'"(timings_ms|timings)":{[^}]*}|"timeline":\[[^\]]*\]', "", body)
    # How many events the text comes in, and whether a new file is indexed yet, depend on the machine.
    body = re.sub(r'"status":"(uploaded|processing|completed)"', '"status":"STORED"', body)
    body = re.sub(r"(?m)^id: \d+$", "", body)
    body = re.sub(r'"}\n\n\nevent: token\ndata: {"text":"', "", body)
    return response.status_code, response.headers.get("content-type", ""), body


@each_route
def test_every_identifier_of_a_route_is_known_to_these_tests(
    method: str, path: str, operation: Json, victim: Ids
) -> None:
    in_path = set(re.findall(r"{(\w+)}", path))
    others = {parameter["name"] for parameter in operation.get("parameters", [])} - in_path
    assert in_path <= victim.in_path.keys(), "teach Ids.in_path what this route names"
    assert others <= HARMLESS, "a parameter that may name something: teach these tests about it"
    assert request_fields(operation) - HARMLESS_IN_BODY <= victim.in_body.keys(), "teach Ids.in_body"


def refusal_of(path: str) -> int:
    """What a route answers to an unauthorized caller; an admin route refuses before any look-up."""
    return 403 if "/admin/" in path else 404


@each_route
@pytest.mark.parametrize("organization", ["acme", "another"])
def test_a_foreign_id_answers_like_a_missing_one(
    method: str, path: str, operation: Json, organization: str, victim: Ids, client_of: MakeClient
) -> None:
    """A user of the same organization, and a namesake of the owner's in another one."""
    absent = missing_like(victim)
    foreign = requests_with(victim, method, path, operation)
    missing = requests_with(absent, method, path, operation)
    for of_victim, of_absent in zip(foreign, missing, strict=True):
        stranger = strangers_client(client_of, organization)
        shown = what_shows(request(stranger, of_victim), victim)
        assert shown == what_shows(request(stranger, of_absent), absent)
        is_own = method == "POST" and "conversation_id" in path
        own = {"documents": 201, "uploads": 409} if is_own else {}
        # What is being read is nothing, for any id of a conversation.
        own |= {"reading": 200} if "conversation_id" in path else {}
        opens = "conversation_id" in of_victim[2].get("json", {})
        assert shown[0] == (200 if opens else own.get(path.rpartition("/")[2], refusal_of(path)))


@each_route
def test_an_id_of_the_callers_other_conversation_answers_like_a_missing_one(
    method: str, path: str, operation: Json, victim: Ids, client_of: MakeClient
) -> None:
    ann = client_of("acme", "ann")
    elsewhere = Owner("acme", "ann", conversation_with(ann, "other.txt"))
    for name in set(re.findall(r"{(\w+)}", path)) - {"conversation_id"} - OF_CONTEXTS:
        absent = missing_like(victim)
        places = {**victim.in_path, "conversation_id": elsewhere.conversation_id}
        content: Json = {"json": {"rating": "up"}} if "rating" in request_fields(operation) else {}
        foreign = ann.request(method, path.format(**places).removeprefix("/api"), **content)
        places[name] = absent.in_path[name]
        missing = ann.request(method, path.format(**places).removeprefix("/api"), **content)
        assert what_shows(foreign, victim) == what_shows(missing, absent)
        assert foreign.status_code == refusal_of(path)


def test_every_inaccessible_document_gets_the_same_error(victim: Ids, client_of: MakeClient) -> None:
    """A foreign document, one of another conversation of the same user, and an absent one."""
    ann, stranger = client_of("acme", "ann"), client_of(f"org-{new_id()}", "ann")
    path = str(BlobPath(victim.owner, "secret.txt"))
    own, elsewhere = conversation_with(ann, "other.txt"), conversation_with(stranger, "other.txt")
    tried = [
        (ann, own, "absent.txt"),
        (ann, own, "secret.txt"),
        (ann, own, path),
        (stranger, elsewhere, path),
    ]
    details = []
    for caller, conversation_id, name in tried:
        response = ask(caller, conversation_id, name)
        assert response.status_code == 404
        details.append(response.json()["detail"].replace(name, "NAME"))
    assert set(details) == {details[0]}


@each_route
@pytest.mark.parametrize("principal", [None, "", "bm90IGpzb24=", "eyJjbGFpbXMiOltdfQ=="])
def test_without_an_identity_every_route_answers_401(
    method: str, path: str, operation: Json, principal: str | None, victim: Ids, orc: System
) -> None:
    requests = requests_with(victim, method, path, operation) or [(method, path.removeprefix("/api"), {})]
    headers = {} if principal is None else {"x-ms-client-principal": principal}
    expected = 200 if path in OPEN_ROUTES else 401
    with httpx.Client(base_url=orc.api, headers=headers, timeout=30) as anonymous:
        assert {request(anonymous, each).status_code for each in requests} == {expected}


@pytest.mark.parametrize("organization", ["..", "acme/ann", "acme\\ann", "ac\u0301me", "a\u202eb", ""])
def test_an_identity_with_a_path_traversal_is_rejected(organization: str, orc: System) -> None:
    response = httpx.get(f"{orc.api}/conversations", headers=principal_headers(organization, "ann"))
    assert response.status_code == 401


def test_lists_hold_only_the_callers_own_with_any_cursor(victim: Ids, client_of: MakeClient) -> None:
    ann = client_of("acme", "ann")
    conversation_with(ann, "newest.txt")
    page = answered(ann.get("/conversations", params={"limit": 1}))
    for stranger in (client_of("acme", f"user-{new_id()}"), client_of(f"org-{new_id()}", "ann")):
        mine = answered(ask(stranger))["conversation_id"]
        for cursor in (None, page["next_cursor"]):
            listed = answered(stranger.get("/conversations", params={"cursor": cursor} if cursor else {}))
            assert {each["conversation_id"] for each in listed["conversations"]} <= {mine}


def test_an_idempotency_key_is_the_callers_own(ann: httpx.Client, client_of: MakeClient) -> None:
    stranger, key = client_of(f"org-{new_id()}", "ann"), new_id()
    first, second = answered(ask(ann, key=key)), answered(ask(stranger, key=key))
    assert first["conversation_id"] != second["conversation_id"]
    assert first["turn_id"] != second["turn_id"]


def test_a_conversation_id_that_two_users_chose_is_two_conversations(
    victim: Ids, client_of: MakeClient
) -> None:
    ann, bob = client_of("acme", "ann"), client_of("acme", f"user-{new_id()}")
    before = conversation(ann, victim.owner.conversation_id)["turns"]
    conversation_with(bob, "secret.txt", text="Bob's own words.", within=victim.owner.conversation_id)
    answer = answered(ask(bob, victim.owner.conversation_id, "secret.txt"))
    assert answer["answer"].startswith("Bob's own words.")
    assert conversation(ann, victim.owner.conversation_id)["turns"] == before


@pytest.mark.parametrize("place", ["x-session-id", "x-openwebui-chat-id", "metadata"])
def test_a_session_that_a_client_of_openai_names_is_the_callers_own(
    place: str, victim: Ids, client_of: MakeClient
) -> None:
    stranger, named = client_of("acme", f"user-{new_id()}"), victim.owner.conversation_id
    ann = client_of("acme", "ann")
    before = conversation(ann, named)["turns"]
    body: Json = {"model": "orc", "messages": [{"role": "user", "content": "What sings at noon?"}]}
    body |= {"metadata": {"session_id": named}} if place == "metadata" else {}
    headers = {} if place == "metadata" else {place: named}
    response = stranger.post("/v1/chat/completions", json=body, headers=headers)
    assert response.status_code == 200, response.text
    assert "canary" not in response.text
    assert len(conversation(stranger, named)["turns"]) == 1
    assert conversation(ann, named)["turns"] == before


def test_strangers_changed_nothing(victim: Ids, client_of: MakeClient) -> None:
    """Last in this module: the owner still has what strangers asked for, listed and deleted above."""
    ann = client_of("acme", "ann")
    again = answered(ask(ann, victim.owner.conversation_id, "secret.txt"))
    assert again["answer"].startswith(SECRET)
    assert victim.turn_id in {
        turn["turn_id"] for turn in conversation(ann, victim.owner.conversation_id)["turns"]
    }
    assert upload(ann, victim.owner.conversation_id, ("more.txt", b"More.")).status_code == 201


def strangers_client(client_of: MakeClient, organization: str) -> httpx.Client:
    """A user without documents: a colleague, or one of the same name in another organization."""
    if organization == "acme":
        return client_of("acme", f"user-{new_id()}")
    return client_of(f"org-{new_id()}", "ann")


def request(client: httpx.Client, made: tuple[str, str, Json]) -> httpx.Response:
    method, url, content = made
    return client.request(method, url, **content)
