"""One stream shows what happens in a conversation, whichever process or window causes it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from devkit.system import principal_headers
from orc.api import conversation_events
from orc.api.app import create_app
from orc.api.conversation_events import (
    ConversationReader,
    Seen,
    TurnState,
    changes_between,
    follow_conversation,
    snapshot_of,
)
from orc.api.schemas import DocumentView
from orc.bootstrap import App, AppProvider
from orc.conversations.models import Head, NewTurn, Retry, Started, Turn, TurnOutcome, TurnStatus
from orc.settings import AuthMode, Settings
from orc_core.models import DocumentStatus
from orc_core.names import Owner

CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
OWNER = Owner("acme", "ann", CONVERSATION)
EVENTS = f"/conversations/{CONVERSATION}/events"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PENDING, COMMITTED, FAILED = TurnStatus.PENDING, TurnStatus.COMMITTED, TurnStatus.FAILED


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[FastAPI]:
    settings = Settings(
        data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True, streams_per_user=2
    )
    app = create_app(settings)
    yield app
    await app.state.provider.close()


@pytest.fixture
async def ann(served: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a user who has a conversation with a document."""
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(served),
        base_url="http://127.0.0.1/api",
        headers=principal_headers("acme", "ann"),
    ) as client:
        path = f"/conversations/{CONVERSATION}/documents"
        assert (await client.post(path, files=[("file", ("a.txt", b"Words."))])).status_code == 201
        yield client


@pytest.fixture
async def app(served: FastAPI) -> App:
    provider: AppProvider = served.state.provider
    return await provider.get()


class Watching:
    """Reads the stream of a conversation as the route does."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.woken = asyncio.Event()

    async def __aenter__(self) -> "Watching":
        reader = ConversationReader(self._app.library, self._app.log, OWNER)
        present = await reader.read(Seen(), has_changed=True)
        self._events = follow_conversation(reader, present, self.woken, "trace", goes_on=True)
        await self.until("snapshot")
        return self

    async def __aexit__(self, *_: object) -> None:
        async with aclosing(self._events):  # type: ignore[type-var]
            pass

    async def until(self, kind: str) -> dict[str, Any]:
        """The data of the next event of this kind."""
        async with asyncio.timeout(60):
            async for _, event in self._events:
                if event.kind == kind:
                    return event.data()
        raise AssertionError(f"there was no {kind}")


async def begin(app: App, key: str = "k") -> Turn:
    new = NewTurn(key=key, request_hash="h", question="What is due?")
    begun = await app.log.begin(OWNER, new, lease_seconds=60)
    assert isinstance(begun, Started)
    return begun.turn


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.strip().split("\n\n")]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


async def test_the_present_state_comes_first(ann: httpx.AsyncClient, app: App) -> None:
    turn = await begin(app)
    response = await ann.get(EVENTS, params={"follow": "false"})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_in(response.text)
    assert [kind for kind, _ in events] == [
        "document",
        *(kind for kind, _ in events if kind == "document_progress"),
        "chat_session_title_updated",
        "turn_started",
        "snapshot",
    ]
    [listed] = (await ann.get(f"/conversations/{CONVERSATION}/documents")).json()["documents"]
    assert events[0][1] == listed
    assert events[-2][1] == {"turn_id": turn.turn_id, "seq": 1}
    assert events[-1][1] == {
        "document_ids": [listed["document_id"]],
        "running": [turn.turn_id],
        "turn_count": 1,
    }


async def test_a_conversation_that_is_absent_or_of_another_user_is_not_found(ann: httpx.AsyncClient) -> None:
    absent = await ann.get(EVENTS.replace(CONVERSATION, CONVERSATION.replace("3", "4")))
    foreign = await ann.get(EVENTS, headers=principal_headers("acme", "bob"))
    assert (absent.status_code, foreign.status_code) == (404, 404)


@pytest.mark.slow
async def test_what_another_process_does_is_noticed(ann: httpx.AsyncClient, app: App) -> None:
    async with Watching(app) as watching:
        turn = await begin(app)
        assert (await watching.until("chat_session_title_updated"))["title"] == "What is due?"
        assert await watching.until("turn_started") == {"turn_id": turn.turn_id, "seq": 1}
        await app.log.commit(OWNER, turn.turn_id, turn.attempt, TurnOutcome(answer="It.", result={}))
        ended = await watching.until("turn_ended")
        assert ended == {"turn_id": turn.turn_id, "seq": 1, "status": "committed"}
        again = await begin(app, "k2")
        await app.log.fail(OWNER, again.turn_id, again.attempt, "model_down", "Away.")
        assert (await watching.until("turn_ended"))["status"] == "failed"
        await app.log.retitle(OWNER, "Leave")
        titled = {"conversation_id": CONVERSATION, "title": "Leave", "by": "user"}
        assert await watching.until("chat_session_title_updated") == titled
        [document] = await app.library.recorded(OWNER)
        await app.worker.drain()
        assert (await watching.until("document"))["status"] == "completed"
        await app.library.delete(OWNER, document.document_id)
        assert await watching.until("document_removed") == {"document_id": document.document_id}
        await app.log.delete(OWNER)
        assert (await watching.until("error"))["code"] == "not_found"


async def test_a_retry_by_another_process_is_noticed_however_old_its_turn_is(app: App) -> None:
    for number in range(8):
        await fail(app, NewTurn(key=f"k{number}", request_hash="h", question="When?"))
    reader = ConversationReader(app.library, app.log, OWNER)
    before = await reader.read(Seen(), has_changed=True)
    again = NewTurn(key="k0", request_hash="h", question="When?", retry=Retry())
    begun = await app.log.begin(OWNER, again, lease_seconds=60)
    for known in (before, Seen()):
        now = await reader.read(known, has_changed=False)
        assert ("turn_started", "k0") in turns_of(known, now)
        assert snapshot_of(now).running == ["k0"]
    outcome = TurnOutcome(answer="Soon.", result={"answer": "Soon."})
    await app.log.commit(OWNER, "k0", begun.turn.attempt, outcome)
    ended = await reader.read(now, has_changed=True)
    assert [event.kind for event in changes_between(now, ended)] == ["turn_ended"]


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["k0"], ["k1", "k0"]], ids=["the last one", "the last two"])
async def test_a_further_retry_of_an_old_turn_is_noticed_too(app: App, keys: list[str]) -> None:
    """It leaves the head's list of the turns that were begun again as it was."""
    for number in range(8):
        await fail(app, NewTurn(key=f"k{number}", request_hash="h", question="When?"))
    reader, known = ConversationReader(app.library, app.log, OWNER), Seen()
    for _ in range(3):
        for key in keys:
            await fail(app, NewTurn(key=key, request_hash="h", question="When?", retry=Retry()))
        now = await reader.read(known, has_changed=False)
        if known.head is not None:
            ended = [event for key in sorted(keys) for event in (("turn_started", key), ("turn_ended", key))]
            assert (turns_of(known, now), now.head and now.head.retried) == (ended, known.head.retried)
        known = now


async def fail(app: App, new: NewTurn) -> None:
    begun = await app.log.begin(OWNER, new, lease_seconds=60)
    await app.log.fail(OWNER, new.key, begun.turn.attempt, "model_down", "The model did not answer.")


def turns_of(before: Seen, after: Seen) -> list[tuple[str, Any]]:
    return [(event.kind, event.data().get("turn_id")) for event in changes_between(before, after)]


async def test_what_this_process_does_is_shown_without_waiting(
    ann: httpx.AsyncClient, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_events, "FIRST_LOOK_SECONDS", 10_000.0)
    with app.turn_service.changes.followed(OWNER) as woken:
        async with Watching(app) as watching:
            watching_woken, watching.woken = watching.woken, woken
            renamed = asyncio.create_task(ann.patch(f"/conversations/{CONVERSATION}", json={"title": "Mine"}))
            await asyncio.wait_for(woken.wait(), 60)
            watching_woken.set()
            assert (await watching.until("chat_session_title_updated"))["title"] == "Mine"
            assert (await renamed).status_code == 200


@pytest.mark.slow
async def test_the_stream_ends_once_it_is_quiet_and_not_while_a_turn_is_running(
    ann: httpx.AsyncClient, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.worker.drain()
    monkeypatch.setattr(conversation_events, "FIRST_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(conversation_events, "QUIET_SECONDS", 0.1)
    turn = await begin(app)
    async with Watching(app) as watching:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watching.until("quiet"), 1)
    async with Watching(app) as watching:
        await app.log.commit(OWNER, turn.turn_id, turn.attempt, TurnOutcome(answer="It.", result={}))
        assert (await watching.until("turn_ended"))["status"] == "committed"
        await watching.until("quiet")
        with pytest.raises(AssertionError, match="there was no"):
            await watching.until("document")


async def test_a_user_follows_only_so_many_conversations(served: FastAPI, ann: httpx.AsyncClient) -> None:
    begun, leave = asyncio.Queue[int](), asyncio.Event()

    async def receive() -> Message:
        await leave.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            await begun.put(message["status"])

    headers = [(name.encode(), value.encode()) for name, value in principal_headers("acme", "ann").items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api{EVENTS}",
        "query_string": b"",
        "headers": headers,
    }
    open_ = [asyncio.create_task(served({**scope}, receive, send)) for _ in range(2)]
    async with asyncio.timeout(60):
        assert [await begun.get(), await begun.get()] == [200, 200]
        assert (await ann.get(EVENTS, params={"follow": "false"})).status_code == 429
        leave.set()
        await asyncio.gather(*open_)
        assert (await ann.get(EVENTS, params={"follow": "false"})).status_code == 200


HEAD = Head(organization_id="acme", user_id="ann", conversation_id="c", created_at=NOW, updated_at=NOW)
VIEW = DocumentView(
    document_id="d",
    blob_name="a.txt",
    status=DocumentStatus.COMPLETED,
    readable=True,
    size=1,
    pages=1,
    pages_without_text=0,
    pages_by_ocr=0,
    tokens=1,
    created_at=NOW,
    updated_at=NOW,
)


def kinds(before: Seen, after: Seen) -> list[str]:
    return [event.kind for event in changes_between(before, after)]


def turn(status: TurnStatus, attempt: str = "1") -> dict[str, TurnState]:
    return {"t": TurnState(1, status, attempt)}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({}, turn(PENDING), ["turn_started"]),
        ({}, turn(COMMITTED), ["turn_started", "turn_ended"]),
        (turn(PENDING), turn(FAILED), ["turn_ended"]),
        (turn(FAILED), turn(PENDING, "2"), ["turn_started"]),
        (turn(FAILED), turn(COMMITTED, "2"), ["turn_started", "turn_ended"]),
        (turn(COMMITTED), turn(COMMITTED), []),
    ],
)
def test_a_turn_begins_and_ends_once(
    before: dict[str, TurnState], after: dict[str, TurnState], found: list[str]
) -> None:
    assert kinds(Seen(HEAD, turns=before), Seen(HEAD, turns=after)) == found


def test_turns_that_had_ended_before_are_not_shown_as_news() -> None:
    assert kinds(Seen(), Seen(HEAD, turns=turn(COMMITTED))) == []
    assert kinds(Seen(), Seen(HEAD, turns=turn(PENDING))) == ["turn_started"]


def test_a_document_is_shown_again_if_anything_of_it_changes() -> None:
    known = Seen(HEAD, {"d": VIEW})
    changed = VIEW.model_copy(update={"summary_available": True})
    assert kinds(known, Seen(HEAD, {"d": changed})) == ["document"]
    assert kinds(known, replace(known)) == []
    assert kinds(known, Seen(HEAD)) == ["document_removed"]
