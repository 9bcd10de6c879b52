"""A stream that broke is taken up by what the client has received, and no client shows an answer twice."""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import FakeTools, models_of, scripted
from devkit.pausing_api import events_of
from devkit.stream_to_json import shown_text
from devkit.system import Event, principal_headers
from orc.api.app import create_app
from orc.bootstrap import AppProvider
from orc.settings import AuthMode, Settings
from orc.turns.results import STORED_AFTER
from orc.turns.running_turn import TurnDependencies

pytestmark = pytest.mark.slow

Json = dict[str, Any]
ENDPOINTS = {
    "/orc": {"question": "The fee?"},
    "/orc/stream": {"question": "The fee?"},
    "/chat": {"messages": [{"role": "user", "content": "The fee?"}]},
    "/chat/stream": {"messages": [{"role": "user", "content": "The fee?"}]},
}
ANSWER = "The fee is ten euros a day."
WAIT_SECONDS = 60


class Api:
    """The API over a model that answers as soon as the test allows it."""

    def __init__(self, folder: Path) -> None:
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.is_asked = threading.Event()
        model, self.model = scripted(self._answer)

        def change(parts: TurnDependencies) -> TurnDependencies:
            return replace(parts, models=models_of(model), tools=FakeTools())

        settings = Settings(data_dir=folder, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True)
        self.app = create_app(settings, change)
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url="http://127.0.0.1/api",
            headers=principal_headers("acme", "ann"),
        )

    def _answer(self, _messages: list[BaseMessage], _options: Json) -> AIMessage:
        self.is_asked.set()
        assert self.may_answer.wait(WAIT_SECONDS)
        return AIMessage(ANSWER)

    async def post(self, endpoint: str = "/orc", *, accept: str = "text/event-stream", **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(endpoint, json=ENDPOINTS[endpoint], headers={"accept": accept, **named})

    async def follow(self, ids: Json, after: int) -> httpx.Response:
        path = f"/conversations/{ids['conversation_id']}/turns/{ids['turn_id']}/events"
        return await self.http.get(path, headers={"last-event-id": str(after)})

    @asynccontextmanager
    async def running_turn(self, endpoint: str, key: str) -> AsyncIterator[asyncio.Task[httpx.Response]]:
        """A turn whose model is asked; it answers when the block ends, or before if the block allows it."""
        self.may_answer.clear()
        task = asyncio.create_task(self.post(endpoint, idempotency_key=key))
        assert await asyncio.to_thread(self.is_asked.wait, WAIT_SECONDS)
        try:
            yield task
        finally:
            self.may_answer.set()
            await task

    async def close(self) -> None:
        await self.http.aclose()
        provider: AppProvider = self.app.state.provider
        await provider.close()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    opened = Api(tmp_path)
    yield opened
    await opened.close()


@asynccontextmanager
async def restarted(api: Api, folder: Path) -> AsyncIterator[Api]:
    """Another process over the same data: it has no events in memory."""
    await api.close()
    other = Api(folder)
    try:
        yield other
    finally:
        await other.close()


def kinds_of(events: list[Event]) -> list[str]:
    return [kind for _, kind, _ in events]


async def test_a_stream_names_its_turn_before_anything_else(api: Api) -> None:
    for endpoint in ENDPOINTS:
        response = await api.post(endpoint)
        (number, kind, named), *_, (_, _, done) = events_of(response)
        assert (number, kind) == (1, "turn")
        for name in ("conversation_id", "turn_id"):
            assert named[name] == done[name] == response.headers[f"x-{name.replace('_', '-')}"]


async def test_a_json_response_names_its_turn_in_the_headers(api: Api) -> None:
    for endpoint in ("/orc", "/chat"):
        response = await api.post(endpoint, accept="application/json")
        assert response.headers["x-conversation-id"] == response.json()["conversation_id"]
        assert response.headers["x-turn-id"] == response.json()["turn_id"]


@pytest.mark.parametrize("endpoint", ["/orc", "/chat/stream"])
async def test_a_running_turn_is_joined_by_its_key_and_the_last_event(endpoint: str, api: Api) -> None:
    async with api.running_turn(endpoint, "key") as first:
        conflict = await api.post(endpoint, idempotency_key="key")
        assert conflict.status_code == 409
        joining = asyncio.create_task(api.post(endpoint, idempotency_key="key", last_event_id="1"))
        await asyncio.sleep(0.02)
        api.may_answer.set()
        whole, rest = events_of(await first), events_of(await joining)
    ids = whole[0][2]
    for name in ("conversation_id", "turn_id"):
        assert conflict.json()[name] == conflict.headers[f"x-{name.replace('_', '-')}"] == ids[name]
    assert [whole[0], *rest] == whole
    assert len(api.model.calls) == 1


async def test_a_finished_stream_is_continued_with_the_same_numbers(api: Api) -> None:
    whole = events_of(await api.post(idempotency_key="key"))
    for cut in (1, len(whole) // 2, len(whole) - 1):
        rest = events_of(await api.post(idempotency_key="key", last_event_id=str(cut)))
        assert [*whole[:cut], *rest] == whole
    assert events_of(await api.post(idempotency_key="key")) == whole
    assert len(api.model.calls) == 1


async def test_a_reader_of_a_finished_stream_is_asked_not_to_come_back(api: Api) -> None:
    whole = events_of(await api.post())
    ids, last = whole[0][2], len(whole)
    assert [(await api.follow(ids, after)).status_code for after in (last, last + 1)] == [204, 204]
    assert events_of(await api.follow(ids, last - 1)) == whole[-1:]


@pytest.mark.parametrize(("by", "received"), [("key", 2), ("id", 1000)], ids=["key", "id"])
async def test_after_a_restart_the_answer_replaces_what_was_shown(
    received: int, by: str, api: Api, tmp_path: Path
) -> None:
    before = events_of(await api.post(idempotency_key="key"))
    ids, seen = before[0][2], before[:received]
    async with restarted(api, tmp_path) as other:

        async def come_back(after: int) -> httpx.Response:
            if by == "id":
                return await other.follow(ids, after)
            response: httpx.Response = await other.post(idempotency_key="key", last_event_id=str(after))
            return response

        replayed = events_of(await come_back(seen[-1][0]))
        assert kinds_of(replayed) == ["reset", "turn", "token", "citations", "done"]
        assert shown_text([*seen, *replayed]).strip() == ANSWER
        # Cut off again, the reader gets the rest of the replay.
        for number in range(1, len(replayed)):
            assert events_of(await come_back(replayed[number - 1][0])) == replayed[number:]
        assert (await other.follow(ids, replayed[-1][0])).status_code == 204


async def test_a_replay_to_a_new_reader_is_numbered_as_to_one_that_returns(api: Api, tmp_path: Path) -> None:
    await api.post(idempotency_key="key")
    async with restarted(api, tmp_path) as other:
        replayed = events_of(await other.post(idempotency_key="key"))
        assert kinds_of(replayed) == ["turn", "token", "citations", "done"]
        rest = await other.post(idempotency_key="key", last_event_id=str(replayed[1][0]))
        assert events_of(rest) == replayed[2:]


async def test_taking_up_a_stream_never_asks_again(api: Api) -> None:
    without_key = await api.post(last_event_id="3")
    assert (without_key.status_code, without_key.json()["errors"][0]["field"]) == (422, "Idempotency-Key")
    unknown = await api.post(idempotency_key=str(uuid.uuid4()), last_event_id="3")
    assert unknown.status_code == 404
    assert api.model.calls == []


@pytest.mark.parametrize(
    ("sent", "reason"),
    [("-1", "Input should be greater than or equal to 0"), ("x", "must be a whole number")],
)
async def test_a_last_event_that_is_no_number_is_refused_with_one_reason(
    api: Api, sent: str, reason: str
) -> None:
    refused = await api.post(idempotency_key="key", last_event_id=sent)
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert error["field"] == "last-event-id" and error["reason"].endswith(reason)


async def test_the_key_of_another_body_does_not_lead_to_its_turn(api: Api) -> None:
    ids = events_of(await api.post(idempotency_key="key"))[0][2]
    body = {"question": "The rent?", "conversation_id": ids["conversation_id"]}
    await api.http.post("/orc", json={**body, "question": "The fee?"}, headers={"idempotency-key": "here"})
    headers = {"idempotency-key": "here", "last-event-id": "1"}
    refused = await api.http.post("/orc", json=body, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")


async def test_the_error_of_a_failed_turn_is_repeated_and_only_a_new_request_asks_again(
    api: Api, tmp_path: Path
) -> None:
    script, api.model.script = api.model.script, _fail
    failed = events_of(await api.post(idempotency_key="key"))
    assert kinds_of(failed)[-1] == "error"
    again = await api.post(idempotency_key="key", last_event_id=str(len(failed) - 1))
    assert events_of(again) == failed[-1:]
    async with restarted(api, tmp_path) as other:
        [(number, kind, _)] = events_of(await other.post(idempotency_key="key", last_event_id="2"))
        assert (number, kind) == (STORED_AFTER, "error")
        assert (await other.follow(failed[0][2], number)).status_code == 204
        other.model.script = script
        answered = events_of(await other.post(idempotency_key="key"))
        assert (shown_text(answered).strip(), answered[0][2]) == (ANSWER, failed[0][2])


def _fail(_messages: list[BaseMessage], _options: Json) -> AIMessage:
    raise ValueError("a bug")
