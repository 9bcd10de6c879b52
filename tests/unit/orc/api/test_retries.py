"""Turns are answered again as they were asked; new versions take the place of earlier ones for models."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage

from devkit.pausing_api import ANSWER, BEGUN_WITH, PausingApi, events_of
from devkit.stream_to_json import shown_text
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult
from orc_core.names import Owner

pytestmark = pytest.mark.slow

Json = dict[str, Any]


def _fail(_messages: list[BaseMessage], _options: Json) -> AIMessage:
    raise ValueError("a bug")


async def failed_turn(api: PausingApi, **body: Any) -> str:
    """The path of a turn that has failed."""
    script, api.model.script = api.model.script, _fail
    response = await api.http.post("/orc", json={"question": "When?", **body})
    assert response.status_code >= 500
    api.model.script = script
    return await api.newest()


async def status_of(api: PausingApi, path: str) -> list[str]:
    return [turn["status"] for turn in (await api.conversation(path.split("/")[2]))["turns"]]


async def retry(api: PausingApi, path: str, key: str | None = None, **headers: str) -> httpx.Response:
    named = {**headers, **({"idempotency-key": key} if key else {})}
    return await api.http.post(f"{path}/retry", headers=named)


async def test_a_failed_turn_is_answered_again_in_its_place(api: PausingApi) -> None:
    chosen = {"model": "scripted", "tools": {"web_search": False}, "feature_flags": {"critic": "off"}}
    path = await failed_turn(api, **chosen)
    answered = await retry(api, path)
    assert (answered.status_code, answered.json()["answer"].strip()) == (200, ANSWER)
    assert answered.json()["turn_id"] == answered.headers["x-turn-id"] == path.split("/")[-1]
    assert await status_of(api, path) == ["committed"]
    refused = await retry(api, path)
    assert (refused.status_code, refused.json()["code"]) == (409, "turn_not_failed")
    assert (await retry(api, f"{path}x")).status_code == 404


async def test_a_retry_streams_and_is_made_once_for_its_key(api: PausingApi) -> None:
    path = await failed_turn(api)
    events = events_of(await retry(api, path, "again", accept="text/event-stream"))
    assert [kind for _, kind, _ in events][:: len(events) - 1] == ["turn", "done"]
    calls = len(api.model.calls)
    assert (await retry(api, path, "again")).json() == events[-1][2]
    assert len(api.model.calls) == calls


async def test_a_stopped_turn_can_be_retried_and_a_running_one_not(api: PausingApi) -> None:
    async with api.pausing_turn() as (path, streaming):
        running = await retry(api, path)
        assert (running.status_code, running.json()["turn_id"]) == (409, path.split("/")[-1])
        await api.http.post(f"{path}/stop")
        await asyncio.wait_for(streaming, 60)
    assert await status_of(api, path) == ["stopped"]
    assert (await retry(api, path)).json()["status"] == "committed"
    assert await status_of(api, path) == ["committed"]


@pytest.mark.parametrize("end", ["failed", "stopped"])
async def test_what_there_is_of_a_stopped_answer_outlives_a_retry_without_one(
    api: PausingApi, end: str
) -> None:
    async with api.pausing_turn() as (path, streaming):
        await api.http.post(f"{path}/stop")
        await asyncio.wait_for(streaming, 60)
    [stopped] = (await api.conversation(path.split("/")[2]))["turns"]
    assert stopped["answer"].strip() == BEGUN_WITH
    if end == "failed":
        script, api.model.script = api.model.script, _fail
        assert (await retry(api, path, "again")).status_code == 500
        api.model.script = script
    else:
        async with retrying(api, path, words=0) as again:
            await api.http.post(f"{path}/stop")
            [*_, (_, kind, result)] = events_of(await asyncio.wait_for(again, 60))
            assert (kind, result["answer"]) == ("stopped", stopped["answer"])
    [turn] = (await api.conversation(path.split("/")[2]))["turns"]
    assert (turn["status"], turn["answer"], turn["result"]) == (
        "stopped",
        stopped["answer"],
        stopped["result"],
    )
    assert ((turn["failure"] or {}).get("code") is not None) is (end == "failed")
    exported = (await api.http.get(f"/conversations/{path.split('/')[2]}/export")).text
    assert BEGUN_WITH in exported
    assert "This answer was stopped" in exported
    if end == "failed":
        assert (await retry(api, path, "again")).json()["answer"].strip() == ANSWER


@asynccontextmanager
async def retrying(api: PausingApi, path: str, *, words: int) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """A streamed retry whose model pauses after so many words."""
    api.model.pauses = words
    api.model.is_pausing.clear()
    task = asyncio.create_task(retry(api, path, accept="text/event-stream"))
    await asyncio.wait_for(api.model.is_pausing.wait(), 60)
    try:
        yield task
    finally:
        api.model.pauses = None
        api.model.may_go_on.set()
        await asyncio.wait_for(task, 60)
        api.model.may_go_on.clear()


async def forget(api: PausingApi, path: str) -> None:
    """Drop the events of a turn from memory, as a restart does."""
    app = await api.app.state.provider.get()
    app.turn_service.forget(Owner("acme", "ann", path.split("/")[2]))


async def test_no_reader_gets_the_text_of_two_attempts(api: PausingApi) -> None:
    async with api.pausing_turn() as (path, streaming):
        await api.http.post(f"{path}/stop")
        *first, _ = await asyncio.wait_for(streaming, 60)
    await forget(api, path)
    replayed = events_of(await api.http.get(f"{path}/events", headers={"last-event-id": str(first[-1][0])}))
    readers = [first[:2], first, [*first, *replayed[:3]], [*first, *replayed[:-1]]]
    assert BEGUN_WITH in shown_text(readers[-1])
    api.answer = "It closes. " * 20
    async with retrying(api, path, words=30) as again:
        headers = [{"last-event-id": str(events[-1][0])} for events in readers]
        following = [asyncio.create_task(api.http.get(f"{path}/events", headers=each)) for each in headers]
        api.model.may_go_on.set()
        streams = [events_of(each) for each in await asyncio.gather(*following)]
        [*whole, (_, _, result)] = events_of(await again)
    for remembered in (True, False):
        if not remembered:
            await forget(api, path)
            streams = [events_of(await api.http.get(f"{path}/events", headers=each)) for each in headers]
        for events, more in zip(readers, streams, strict=True):
            assert more[0][1] == "reset"
            assert more[-1][1:] == ("done", result)
            assert shown_text([*events, *more]) == result["answer"]
            assert more[0][0] > max(number for number, _, _ in events)
    # A reader that has the beginning of this attempt gets the rest of it.
    rest = await api.http.get(f"{path}/events", headers={"last-event-id": str(whole[2][0])})
    assert shown_text([*whole[:3], *events_of(rest)]) == result["answer"]


async def test_a_retry_counts_as_a_message_in_the_place_of_what_failed(tmp_path: Path) -> None:
    api = PausingApi(tmp_path, messages_per_hour=1)
    path = await failed_turn(api)
    assert (await retry(api, path)).headers["ratelimit"].endswith("r=0")
    refused = await api.http.post("/orc", json={"question": "And now?"})
    assert refused.status_code == 429
    await api.close()


async def test_the_history_of_a_chat_is_sent_once_and_kept_for_its_retry(api: PausingApi) -> None:
    said = [("user", "My boat is the Mistral."), ("assistant", "Noted."), ("user", "When?")]
    messages = [{"role": role, "content": content} for role, content in said]
    script, api.model.script = api.model.script, _fail
    await api.http.post("/chat", json={"messages": messages})
    api.model.script = script
    await retry(api, await api.newest())
    assert "the Mistral" in api.prompt()


async def test_a_repeated_retry_is_answered_although_its_document_is_gone(api: PausingApi) -> None:
    session = (await api.ask("Good morning!"))["conversation_id"]
    documents = f"/conversations/{session}/documents"
    stored = await api.http.post(documents, files=[("file", ("a.txt", b"The quay opens at seven."))])
    path = await failed_turn(api, conversation_id=session, blob_names=["a.txt"])
    reply = DocumentChatResult(
        answer="At seven.", files=[], metadata=DocumentChatMetadata(mode="inline", reason="it fits")
    )
    api.tools.results["document_chat"] = reply.model_dump(mode="json")
    answered = await retry(api, path, "again")
    assert answered.json()["answer"] == "At seven."
    await api.http.delete(f"{documents}/{stored.json()['documents'][0]['document_id']}")
    assert (await retry(api, path, "again")).json() == answered.json()


async def test_no_model_is_shown_what_was_replaced(api: PausingApi) -> None:
    api.answer = "The Mistral is a fine boat of yours."
    first = await api.ask("My boat is the Mistral.")
    session = first["conversation_id"]
    api.answer = "Good."
    second = await api.ask("My boat is the Tramontana.", session, replaces=first["turn_id"])
    assert "Mistral" not in api.prompt()
    await api.ask("What is the name of my boat?", session)
    assert "Mistral" not in api.prompt()
    assert "Tramontana" in api.prompt()
    turns = (await api.conversation(session))["turns"]
    assert [(turn["replaces"], turn["replaced_by"]) for turn in turns] == [
        (None, second["turn_id"]),
        (first["turn_id"], None),
        (None, None),
    ]


async def test_what_is_not_in_the_conversation_cannot_be_replaced(api: PausingApi) -> None:
    elsewhere = await api.ask("Here?")
    session = (await api.ask("There?"))["conversation_id"]
    for replaced in (elsewhere["turn_id"], "unknown"):
        body = {"question": "And now?", "conversation_id": session, "replaces": replaced}
        assert (await api.http.post("/orc", json=body)).status_code == 404
    assert len((await api.conversation(session))["turns"]) == 1
