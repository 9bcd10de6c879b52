"""A turn is stopped through any instance: what there was of its answer is kept, and nothing more is asked."""

import asyncio

import pytest

from devkit.pausing_api import ANSWER, BEGUN_WITH, PausingApi
from devkit.system import Event
from orc.turns.results import STOPPED_ANSWER

pytestmark = pytest.mark.slow


def shown(events: list[Event]) -> str:
    return "".join(data["text"] for _, kind, data in events if kind == "token")


async def test_a_stopped_turn_ends_in_stopped_and_keeps_its_question_and_what_there_was(
    api: PausingApi,
) -> None:
    async with api.pausing_turn() as (path, streaming):
        stopped = await api.http.post(f"{path}/stop")
        events = await asyncio.wait_for(streaming, 60)
    assert (stopped.status_code, stopped.json()["status"]) == (202, "pending")
    (_, kind, result), text = events[-1], shown(events)
    assert (kind, result["status"], result["answer"]) == ("stopped", "stopped", text)
    assert BEGUN_WITH.startswith(text) and text
    assert (result["metadata"]["critic_summary"]["grounded"], result["citations"]) == (False, [])
    assert len(api.model.calls) == 1
    stored = await api.conversation(path.split("/")[2])
    [turn] = stored["turns"]
    assert (turn["status"], turn["question"], turn["answer"]) == ("stopped", "When?", text)
    question, answer = stored["history"]
    assert (question["content"], answer["content"], answer["status"]) == ("When?", text, "stopped")


async def test_a_stop_before_the_first_word_keeps_the_question(api: PausingApi) -> None:
    async with api.pausing_turn(words=0) as (path, streaming):
        await asyncio.gather(*(api.http.post(f"{path}/stop") for _ in range(3)))
        events = await asyncio.wait_for(streaming, 60)
    assert (events[-1][1], events[-1][2]["answer"]) == ("stopped", "")
    again = await api.http.post(f"{path}/stop")
    assert (again.status_code, again.json()["status"]) == (200, "stopped")


async def test_an_answered_turn_stays_as_it_is(api: PausingApi) -> None:
    result = await api.ask("When?")
    path = f"/conversations/{result['conversation_id']}/turns/{result['turn_id']}"
    stopped = await api.http.post(f"{path}/stop")
    assert (stopped.status_code, stopped.json()) == (
        200,
        {"turn_id": result["turn_id"], "status": "committed"},
    )
    unknown = await api.http.post(f"/conversations/{result['conversation_id']}/turns/unknown/stop")
    assert unknown.status_code == 404


async def test_models_are_shown_a_stopped_question_but_none_of_its_answer(api: PausingApi) -> None:
    async with api.pausing_turn("When does the ferry leave?") as (path, streaming):
        await api.http.post(f"{path}/stop")
        await streaming
    api.answer = "Good morning to you."
    await api.ask("Good morning!", path.split("/")[2])
    assert "When does the ferry leave?" in api.prompt()
    assert STOPPED_ANSWER in api.prompt()
    assert BEGUN_WITH not in api.prompt()


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_client_of_openais_interface_gets_what_there_was(api: PausingApi, streaming: bool) -> None:
    api.model.pauses = 3
    asked = {"model": "orc", "stream": streaming, "messages": [{"role": "user", "content": "When?"}]}
    asking = asyncio.create_task(api.http.post("/v1/chat/completions", json=asked))
    await asyncio.wait_for(api.model.is_pausing.wait(), 60)
    path = await api.newest()
    await api.http.post(f"{path}/stop")
    response = await asyncio.wait_for(asking, 60)
    assert response.status_code == 200, response.text
    assert ANSWER not in response.text
    assert (response.text.endswith("data: [DONE]\n\n")) == streaming
    assert (await api.conversation(path.split("/")[2]))["turns"][0]["status"] == "stopped"
