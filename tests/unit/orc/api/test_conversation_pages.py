"""A conversation opens with its newest turns, each once; feedback stays with its turn."""

import json
from typing import Any

import pytest

from devkit.pausing_api import PausingApi
from devkit.recorded_telemetry import Recorded
from orc.bootstrap import App
from orc.conversations.models import NewTurn, TurnOutcome
from orc.traces.models import TraceFilter, TurnTrace
from orc_core.infra.resilience import pauses
from orc_core.names import Owner

pytestmark = pytest.mark.slow

CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
OWNER = Owner("acme", "ann", CONVERSATION)
Json = dict[str, Any]


async def app_of(api: PausingApi) -> App:
    opened: App = await api.app.state.provider.get()
    return opened


async def answered(api: PausingApi, count: int) -> None:
    """So many answered turns in the conversation."""
    log = (await app_of(api)).log
    for number in range(1, count + 1):
        new = NewTurn(key=f"k{number}", request_hash="h", question=f"What is word{number}?")
        turn = (await log.begin(OWNER, new, lease_seconds=60)).turn
        result: Json = {"answer": f"It is answer{number}.", "citations": [], "metadata": {"trace_id": "t"}}
        outcome = TurnOutcome(answer=f"It is answer{number}.", result=result)
        await log.commit(OWNER, turn.turn_id, turn.attempt, outcome)


async def test_pages_lead_from_the_newest_turns_to_the_first_and_have_each_once(api: PausingApi) -> None:
    await answered(api, 7)
    seqs, before = [], None
    while True:
        query = {"limit": 3} if before is None else {"limit": 3, "before_seq": before}
        body = await api.conversation(CONVERSATION, full="false", **query)
        seqs.append([turn["seq"] for turn in body["turns"]])
        text = json.dumps(body)
        assert [text.count(f"answer{seq}.") for seq in seqs[-1]] == [1] * len(seqs[-1])
        assert (body["history"], body["turns"][0]["result"]) == (None, None)
        if (before := body["earlier_before_seq"]) is None:
            break
    assert seqs == [[5, 6, 7], [2, 3, 4], [1]]


async def test_turns_can_be_read_from_the_first_too(api: PausingApi) -> None:
    await answered(api, 3)
    body = await api.conversation(CONVERSATION, after_seq=0, limit=2)
    assert ([turn["seq"] for turn in body["turns"]], body["next_seq"]) == ([1, 2], 2)
    assert [message["content"] for message in body["history"]][:2] == ["What is word1?", "It is answer1."]
    assert (await api.conversation(CONVERSATION, after_seq=2, limit=2))["next_seq"] is None
    both = await api.http.get(f"/conversations/{CONVERSATION}", params={"after_seq": 1, "before_seq": 3})
    assert both.status_code == 422


async def test_a_reloaded_page_has_what_was_chosen_and_how_the_answer_came_about(api: PausingApi) -> None:
    chosen: Json = {"tools": {"web_search": False}, "model": "scripted", "feature_flags": {"critic": "off"}}
    result = await api.ask("When does the quay open?", **chosen)
    [turn] = (await api.conversation(result["conversation_id"], full="false"))["turns"]
    assert turn["choices"] == {**chosen, "closest_passages": False}
    assert turn["answer"] == result["answer"]
    lean = {name: value for name, value in result["metadata"].items() if name != "timeline"}
    assert turn["metadata"] == lean
    assert set(lean) >= {"tools", "critiques", "withdrawn", "plan", "usage"}


async def traces_of(api: PausingApi) -> list[TurnTrace]:
    """The traces of all turns, as soon as there are any: they are stored after the answer was given."""
    store = (await app_of(api)).traces
    async for _ in pauses(60):
        traces, _cursor = await store.page("acme", TraceFilter(), limit=9)
        if traces:
            return traces
    raise AssertionError("there is no trace")


async def test_feedback_stays_with_the_turn_and_telemetry_has_no_word_of_it(
    api: PausingApi, recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    result = await api.ask("When?")
    path = f"/conversations/{result['conversation_id']}/turns/{result['turn_id']}"
    await traces_of(api)
    said = {"rating": "down", "reason": "incomplete", "comment": "canary"}
    given = await api.http.put(f"{path}/feedback", json=said)
    assert given.status_code == 200, given.text
    [turn] = (await api.conversation(result["conversation_id"]))["turns"]
    assert turn["feedback"] == given.json()
    assert turn["feedback"] == {**said, "given_at": turn["feedback"]["given_at"]}
    traces = await traces_of(api)
    assert [(trace.rating, trace.rating_reason) for trace in traces] == [("down", "incomplete")]
    shown = traces[0].model_dump_json() + caplog.text
    assert "canary" not in shown
    assert "rated down" in caplog.text
    assert (await api.http.delete(f"{path}/feedback")).status_code == 204
    assert (await api.conversation(result["conversation_id"]))["turns"][0]["feedback"] is None
    traces = await traces_of(api)
    assert traces[0].rating is None


@pytest.mark.parametrize(
    "body", [{}, {"rating": "good"}, {"rating": "up", "reason": "x"}, {"rating": "up", "comment": "x" * 2001}]
)
async def test_feedback_is_one_of_two_ratings_with_a_listed_reason(api: PausingApi, body: Json) -> None:
    result = await api.ask("When?")
    path = f"/conversations/{result['conversation_id']}/turns/{result['turn_id']}/feedback"
    assert (await api.http.put(path, json=body)).status_code == 422
