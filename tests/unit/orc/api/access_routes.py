"""What every route of the API needs: the table that the matrix of access goes through, route by route."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from orc.contexts.rights import Right

Json = dict[str, Any]
QUESTION = "What does the ferry cost?"
TITLE, SECRET = "secret-name", "secret-words"
"""How the name of a context begins, and the words of its document."""


class Of(Enum):
    """Who may use a route, unless a right on a context decides."""

    EVERYBODY = "anonymous callers too"
    CALLERS = "all who are signed in"
    OWNER = "whose conversation it is"
    INSTALLATION = "administrators of the installation"


class Entry(NamedTuple):
    """A route's request, who may make it, and what it then answers.

    `path` and `options` have fields in braces for ids. `shows`: which secret of the target the response has.
    `in_session`: the session is the caller's own besides. `leaf_status`: the answer if nothing can be below.
    """

    needs: Right | Of
    status: int
    path: str = ""
    options: Mapping[str, Any] = {}
    shows: str = ""
    in_session: bool = False
    leaf_status: int = 0


SEE, READ, CHANGE = Right.SEE, Right.READ_DOCUMENTS, Right.CHANGE_DOCUMENTS
CONVERSATION = "/api/conversations/{conversation_id}"
DOCUMENT = "/documents/{document_id}"
TURN = CONVERSATION + "/turns/{turn_id}"
CONTEXT, WORKSPACE = "/api/contexts/{context_id}", "/api/workspaces/{context_id}"
SESSION = WORKSPACE + "/sessions/{session_id}"
CHAT_SESSION = WORKSPACE + "/chat/sessions/{session_id}"
MEMBER = CONTEXT + "/members/{kind}/{principal}"
FILE = {"files": [("file", ("notes.txt", b"The ferry costs ten crowns."))]}
FOCUS = [{"type": "workspace", "id": "{context_id}"}]
ASKED = {"json": {"question": QUESTION, "contexts": FOCUS}}
SAID = {"json": {"messages": [{"role": "user", "content": QUESTION}], "contexts": FOCUS}}
MESSAGE = {"json": {"message": QUESTION}}
COMPLETION = {"json": {"model": "orc", "messages": [{"role": "user", "content": QUESTION}]}}
NEW = {"json": {"type": "usecase", "name": "new", "parent_id": "{context_id}"}}
PICTURE = 415  # a text has none

TABLE: dict[str, Entry] = {
    "GET /api/health": Entry(Of.EVERYBODY, 200),
    "GET /api/ready": Entry(Of.EVERYBODY, 503),  # there is no tools server here
    "GET /api/me": Entry(Of.CALLERS, 200),
    # There are keys in `oidc` mode only, which is not the mode here.
    "GET /api/keys": Entry(Of.CALLERS, 404),
    "POST /api/keys": Entry(Of.CALLERS, 404, options={"json": {"name": "laptop"}}),
    "DELETE /api/keys/{key_id}": Entry(Of.CALLERS, 404, "/api/keys/k"),
    "GET /v1/models": Entry(Of.CALLERS, 200),
    "GET /v1/models/{model}": Entry(Of.CALLERS, 200, "/v1/models/orc"),
    "POST /v1/chat/completions": Entry(Of.CALLERS, 200, options=COMPLETION),
    "POST /v1/responses": Entry(Of.CALLERS, 200, options={"json": {"model": "orc", "input": QUESTION}}),
    "GET /api/conversations": Entry(
        Of.CALLERS, 200, "/api/conversations?context_id={context_id}&about={context_id}&q={conversation_id}"
    ),
    # Questions: the focus decides.
    "POST /api/orc": Entry(READ, 200, options=ASKED),
    "POST /api/orc/stream": Entry(READ, 200, options=ASKED),
    "POST /api/chat": Entry(READ, 200, options=SAID),
    "POST /api/chat/stream": Entry(READ, 200, options=SAID),
    # What belongs to one conversation. An upload opens one, under the caller's own name.
    f"GET {CONVERSATION}": Entry(Of.OWNER, 200),
    f"PATCH {CONVERSATION}": Entry(Of.OWNER, 200, options={"json": {"title": "Mine"}}),
    f"GET {CONVERSATION}/events": Entry(Of.OWNER, 200, CONVERSATION + "/events?follow=false"),
    f"GET {CONVERSATION}/export": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}/suggestions": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}/memory": Entry(Of.OWNER, 200),
    f"DELETE {CONVERSATION}/memory/{{note_id}}": Entry(
        Of.OWNER, 404, CONVERSATION + "/memory/5d41402abc4b2a76"
    ),
    f"POST {CONVERSATION}/links": Entry(Of.OWNER, 201, options={"json": {"days": 7}}),
    f"GET {CONVERSATION}/links": Entry(Of.OWNER, 200),
    f"DELETE {CONVERSATION}/links/{{link_id}}": Entry(Of.OWNER, 404, CONVERSATION + "/links/none"),
    "GET /api/shared": Entry(Of.CALLERS, 404, options={"headers": {"x-share-link": "none"}}),
    f"GET {CONVERSATION}/proposals": Entry(Of.OWNER, 200),
    f"POST {CONVERSATION}/proposals/{{proposal_id}}/{{decision}}": Entry(
        Of.CALLERS, 404, CONVERSATION + "/proposals/5d41402abc4b2a76/confirm"
    ),
    f"GET {TURN}/events": Entry(Of.OWNER, 200),
    f"POST {TURN}/stop": Entry(Of.OWNER, 200),
    f"POST {TURN}/retry": Entry(Of.OWNER, 409),
    f"PUT {TURN}/feedback": Entry(Of.OWNER, 200, options={"json": {"rating": "up"}}),
    f"DELETE {TURN}/feedback": Entry(Of.OWNER, 204),
    f"GET {TURN}/suggestions": Entry(Of.OWNER, 200),
    f"POST {CONVERSATION}/documents": Entry(
        Of.CALLERS, 201, "/api/conversations/{new_id}/documents", options=FILE
    ),
    f"POST {CONVERSATION}/uploads": Entry(Of.CALLERS, 409, options={"json": {"file_name": "a", "size": 1}}),
    f"GET {CONVERSATION}/documents": Entry(Of.OWNER, 200),
    # What is being read: nothing, whether there is such a conversation or not.
    f"GET {CONVERSATION}/documents/reading": Entry(Of.CALLERS, 200),
    f"POST {CONVERSATION}/documents/failed": Entry(Of.OWNER, 200),
    f"DELETE {CONVERSATION}/documents/failed": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}{DOCUMENT}/events": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}{DOCUMENT}/content": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}{DOCUMENT}/pages": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}{DOCUMENT}/pages/{{number}}": Entry(Of.OWNER, 200),
    f"GET {CONVERSATION}{DOCUMENT}/pages/{{number}}/image": Entry(Of.OWNER, PICTURE),
    f"DELETE {CONVERSATION}{DOCUMENT}": Entry(Of.OWNER, 204),
    f"DELETE {CONVERSATION}": Entry(Of.OWNER, 204),
    # Contexts, their members and documents.
    "GET /api/contexts": Entry(SEE, 200, "/api/contexts?parent_id={context_id}"),
    "POST /api/contexts": Entry(Right.CREATE_BELOW, 201, options=NEW, leaf_status=422),
    f"GET {CONTEXT}": Entry(SEE, 200, shows=TITLE),
    f"PATCH {CONTEXT}": Entry(Right.DESCRIBE, 200, options={"json": {"description": "more"}}, shows=TITLE),
    f"PATCH {CONTEXT} tools": Entry(Right.RESTRICT_TOOLS, 200, options={"json": {"tools_off": []}}),
    f"GET {CONTEXT}/members": Entry(Right.SEE_MEMBERS, 200),
    f"GET {CONTEXT}/people": Entry(Right.GRANT, 200, CONTEXT + "/people?q=ada"),
    f"PUT {MEMBER}": Entry(Right.GRANT, 204, options={"json": {"role": "viewer"}}),
    f"DELETE {MEMBER}": Entry(Right.GRANT, 204),
    f"GET {CONTEXT}/documents": Entry(READ, 200, shows=SECRET),
    f"POST {CONTEXT}/documents": Entry(CHANGE, 201, CONTEXT + "/documents?replace=true", options=FILE),
    f"GET {CONTEXT}/documents/reading": Entry(READ, 200),
    f"POST {CONTEXT}/documents/failed": Entry(CHANGE, 200),
    f"DELETE {CONTEXT}/documents/failed": Entry(CHANGE, 200),
    f"GET {CONTEXT}{DOCUMENT}/events": Entry(READ, 200, shows=SECRET),
    f"GET {CONTEXT}{DOCUMENT}/content": Entry(READ, 200, shows=SECRET),
    f"GET {CONTEXT}{DOCUMENT}/pages": Entry(READ, 200),
    f"GET {CONTEXT}{DOCUMENT}/pages/{{number}}": Entry(READ, 200, shows=SECRET),
    f"GET {CONTEXT}{DOCUMENT}/pages/{{number}}/image": Entry(READ, PICTURE),
    # Chats in a context.
    f"POST {WORKSPACE}/chat": Entry(READ, 200, options=MESSAGE),
    f"POST {WORKSPACE}/chat/stream": Entry(READ, 200, options=MESSAGE),
    f"GET {WORKSPACE}/sessions": Entry(SEE, 200),
    f"GET {SESSION}": Entry(SEE, 200, in_session=True),
    f"GET {SESSION}/export": Entry(SEE, 200, in_session=True),
    f"GET {SESSION}/suggestions": Entry(SEE, 200, in_session=True),
    f"GET {WORKSPACE}/chat/sessions": Entry(SEE, 200),
    f"GET {CHAT_SESSION}": Entry(SEE, 200, in_session=True),
    f"GET {CHAT_SESSION}/export": Entry(SEE, 200, in_session=True),
    f"GET {CHAT_SESSION}/suggestions": Entry(SEE, 200, in_session=True),
    f"DELETE {SESSION}": Entry(SEE, 204, in_session=True),
    f"DELETE {CHAT_SESSION}": Entry(SEE, 204, WORKSPACE + "/chat/sessions/{another_id}", in_session=True),
    # Administrators of the installation, without a role.
    "GET /api/admin/contexts": Entry(Of.INSTALLATION, 200),
    "GET /api/admin/audit": Entry(Of.INSTALLATION, 200, "/api/admin/audit?context_id={context_id}"),
    "DELETE /api/admin/links": Entry(Of.INSTALLATION, 200, "/api/admin/links?user_id=bob"),
    "GET /api/admin/telemetry": Entry(Of.INSTALLATION, 200),
    "GET /api/admin/telemetry/days": Entry(Of.INSTALLATION, 200),
    "GET /api/admin/telemetry/{trace_id}": Entry(Of.INSTALLATION, 404),
    # Last, since nothing is left.
    f"DELETE {CONTEXT}{DOCUMENT}": Entry(CHANGE, 204),
    f"DELETE {CONTEXT}": Entry(Right.DELETE, 202),
}


def filled(value: Any, ids: Mapping[str, str]) -> Any:
    """The value with ids in the place of fields in braces."""
    if isinstance(value, str):
        return value.format(**ids)
    if isinstance(value, dict):
        return {name: filled(each, ids) for name, each in value.items()}
    return [filled(each, ids) for each in value] if isinstance(value, list) else value


def request_of(route: str, entry: Entry, ids: Mapping[str, str]) -> tuple[str, str, Json]:
    """The method, path and options of a route's request about these ids."""
    method, path = route.split(" ")[:2]
    options = dict(entry.options)
    if "json" in options:
        options["json"] = filled(options["json"], ids)
    return method, filled(entry.path or path, ids), options
