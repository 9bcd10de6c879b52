"""What system tests do again and again: make a conversation, ask, wait, call a tool."""

import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from devkit.system import Event, System, read_events, upload
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.infra.keys import Keys
from orc_core.names import BlobPath, Owner

QUAY = "The quay opens at seven. The harbour master keeps the key."
UPLOAD_LIMIT = 200_000
WAIT_SECONDS = 60.0
SILENCE_SECONDS = 10.0  # less than the time between two pings, which would keep a stuck stream alive
PROBLEM = "application/problem+json"
PROTOCOL = "2026-07-28"
Json = dict[str, Any]


def new_id() -> str:
    """An id that nothing has yet."""
    return str(uuid.uuid4())


def conversation_with(client: httpx.Client, *names: str, text: str = QUAY, within: str = "") -> str:
    """A conversation with text files of these names."""
    conversation_id = within or new_id()
    response = upload(client, conversation_id, *((name, text.encode()) for name in names))
    assert response.status_code == 201, response.text
    assert response.json()["errors"] == []
    return conversation_id


def ask(
    client: httpx.Client, conversation_id: str | None = None, *names: str, key: str | None = None, **body: Any
) -> httpx.Response:
    """One turn as JSON."""
    asked = {"question": "When does the quay open?", "blob_names": list(names), **body}
    if conversation_id is not None:
        asked["conversation_id"] = conversation_id
    return client.post("/orc", json=asked, headers={"idempotency-key": key} if key else {})


def answered(response: httpx.Response) -> Json:
    """The body of a turn that was answered."""
    assert response.status_code == 200, response.text
    body: Json = response.json()
    return body


def conversation(client: httpx.Client, conversation_id: str) -> Json:
    """The conversation as it is stored."""
    whole = {"full": "true", "limit": "200"}
    return answered(client.get(f"/conversations/{conversation_id}", params=whole))


def turns_of(client: httpx.Client, conversation_id: str) -> list[Json]:
    """The stored turns of a conversation."""
    turns: list[Json] = conversation(client, conversation_id)["turns"]
    return turns


def come_back(client: httpx.Client, turn: str, *, after: int | None = None) -> list[Event]:
    """The events that are left of a turn, for a reader that has those up to `after`."""
    headers = {} if after is None else {"last-event-id": str(after)}
    with client.stream("GET", f"{turn}/events", headers=headers, timeout=SILENCE_SECONDS) as response:
        assert response.status_code == 200, response.read()
        return list(read_events(response))


def wait_until(reached: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    """Wait for a condition that another process brings about."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def files_under(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and the time of its last change."""
    found = [path for path in folder.rglob("*") if path.name != "serve.log"]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def leaves_files_alone(act: Callable[[], None], folder: Path) -> bool:
    """Whether an act changes no file. It is repeated for as long as work in the background may have."""
    deadline = time.monotonic() + WAIT_SECONDS / 4
    while time.monotonic() < deadline:
        before = files_under(folder)
        act()
        if files_under(folder) == before:
            return True
        time.sleep(0.05)
    return False


def scope_tokens(system: System) -> ScopeTokens:
    """Mints tokens as the orchestrator of this system would."""
    return ScopeTokens(Keys((system.data_dir / "scope.key").read_text()))


def scope_over(owner: Owner, *names: str) -> Scope:
    """A scope that reaches these documents of the owner."""
    ids = tuple(BlobPath(owner, name).document_id for name in names)
    return Scope.of_session(owner).model_copy(update={"document_ids": ids})


@asynccontextmanager
async def tools_client(system: System, scope: Scope) -> AsyncIterator[Client]:
    """A plain MCP client of the system's tools server, with a token for `scope`."""
    token = scope_tokens(system).mint(scope, seconds=60)
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http,
        Client(streamable_http_client(system.mcp_url, http_client=http), mode=PROTOCOL) as client,
    ):
        yield client


async def call_tool(system: System, scope: Scope, name: str, /, **arguments: Any) -> CallToolResult:
    """One tool call in a separate session."""
    async with tools_client(system, scope) as client:
        return await client.call_tool(name, arguments)


def document_chat_arguments(*names: str, **more: Any) -> Json:
    """A call of document_chat over these documents."""
    return {"question": "When does the quay open?", "document_names": list(names), **more}
