"""Turns at the same time, and turns that are asked for again: each stored once, in order."""

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import Failure, OpenAIDouble, Script
from devkit.system import ask_streaming, read_events
from tests.system.steps import QUAY, Json, answered, ask, conversation, conversation_with, new_id, turns_of

CONCURRENT = 20
SLOW = Script(delay_ms=60)
STREAM = {"accept": "text/event-stream"}


def all_at_once(*calls: Any) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


@pytest.mark.parametrize("names", [(), ("a.txt",)], ids=["talk", "documents"])
def test_turns_at_the_same_time_in_one_conversation_are_all_answered_and_numbered_without_gaps(
    names: Sequence[str], ann: httpx.Client, double: OpenAIDouble
) -> None:
    conversation_id = conversation_with(ann, "a.txt")
    questions = [f"What is number {number}?" for number in range(CONCURRENT)]

    def turn(question: str) -> Json:
        return answered(ask(ann, conversation_id, *names, question=question))

    results = all_at_once(*(lambda question=question: turn(question) for question in questions))
    stored = conversation(ann, conversation_id)
    assert [turn["seq"] for turn in stored["turns"]] == list(range(1, CONCURRENT + 1))
    assert {turn["status"] for turn in stored["turns"]} == {"committed"}
    assert stored["turn_count"] == CONCURRENT
    by_question = {turn["question"]: turn["result"] for turn in stored["turns"]}
    assert by_question == dict(zip(questions, results, strict=True))
    assert len({result["turn_id"] for result in results}) == CONCURRENT


@pytest.mark.parametrize("known", [True, False], ids=["in a conversation", "without one"])
def test_a_key_that_comes_three_times_is_one_turn_with_one_answer(
    known: bool, ann: httpx.Client, double: OpenAIDouble
) -> None:
    conversation_id = conversation_with(ann, "a.txt") if known else None
    key = new_id()
    first = answered(ask(ann, conversation_id, key=key))
    second = answered(ask(ann, conversation_id, key=key))
    third = streamed(ann, key, conversation_id)
    assert first == second == third
    assert len(turns_of(ann, first["conversation_id"])) == 1
    assert len(double.requests) == 1


@pytest.mark.parametrize("known", [True, False], ids=["in a conversation", "without one"])
def test_a_key_that_comes_three_times_at_once_is_one_turn_and_conflicts_meanwhile(
    known: bool, ann: httpx.Client, double: OpenAIDouble
) -> None:
    double.script = SLOW.model_copy()
    conversation_id = conversation_with(ann, "a.txt") if known else None
    key = new_id()
    responses = all_at_once(*[lambda: ask(ann, conversation_id, key=key)] * 3)
    assert {response.status_code for response in responses} <= {200, 409}
    results = [response.json() for response in responses if response.status_code == 200]
    assert results
    assert all(result == results[0] for result in results)
    assert answered(ask(ann, conversation_id, key=key)) == results[0]
    assert len(turns_of(ann, results[0]["conversation_id"])) == 1
    assert len(double.requests) == 1


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_key_in_flight_is_a_conflict_that_says_when_to_come_back(
    accept: str, ann: httpx.Client, double: OpenAIDouble
) -> None:
    double.script = SLOW.model_copy()
    body, headers = {"question": "When does the quay open?"}, {"idempotency-key": new_id()}
    with ann.stream("POST", "/orc", json=body, headers={**headers, **STREAM}) as response:
        events = read_events(response)
        _, kind, turn = next(events)
        assert kind == "turn"
        again = ann.post("/orc", json=body, headers={**headers, "accept": accept})
        assert again.json()["turn_id"] == again.headers["x-turn-id"] == turn["turn_id"]
        assert (again.status_code, again.json()["code"]) == (409, "turn_in_flight")
        assert again.json()["retryable"] is True
        assert int(again.headers["retry-after"]) > 0
        *_, (_, kind, done) = events
    assert kind == "done"
    assert answered(ann.post("/orc", json=body, headers=headers)) == done


@pytest.mark.parametrize(
    "other",
    [
        {"question": "Who has the key?"},
        {"blob_names": ["b.txt"]},
        {"blob_names": []},
        {"tools": {"documents_list": False}},
        {"contexts": [{"type": "folder", "id": "1"}]},
    ],
    ids=["question", "documents", "no documents", "tools", "contexts"],
)
def test_a_key_with_another_body_is_refused_and_the_first_answer_stays(
    other: Json, ann: httpx.Client, double: OpenAIDouble
) -> None:
    conversation_id = conversation_with(ann, "a.txt", "b.txt")
    key = new_id()
    body: Json = {"question": "When?", "blob_names": ["a.txt"]}
    first = answered(ask(ann, conversation_id, key=key, **body))
    refused = ask(ann, conversation_id, key=key, **{**body, **other})
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert refused.json()["errors"][0]["field"] == "Idempotency-Key"
    assert answered(ask(ann, conversation_id, key=key, **body)) == first
    assert len(turns_of(ann, conversation_id)) == 1


def test_a_failed_turn_is_answered_when_its_key_comes_again(ann: httpx.Client, double: OpenAIDouble) -> None:
    key, conversation_id = new_id(), conversation_with(ann, "a.txt")
    double.script = Script.model_validate({"failures": [{"status": 500}]})
    failed = ask(ann, conversation_id, "a.txt", key=key)
    assert (failed.status_code, failed.json()["dependency"]) == (503, "model")
    assert [turn["status"] for turn in turns_of(ann, conversation_id)] == ["failed"]
    answered(ask(ann, conversation_id, "a.txt", key=key))
    assert [(turn["seq"], turn["status"]) for turn in turns_of(ann, conversation_id)] == [(1, "committed")]


def test_a_turn_without_a_conversation_makes_one_and_goes_on_in_it(
    ann: httpx.Client, double: OpenAIDouble
) -> None:
    first = answered(ask(ann, question="Who are you?"))
    assert str(uuid.UUID(first["conversation_id"])) == first["conversation_id"]
    answered(ask(ann, first["conversation_id"], question="And who am I?"))
    said = [message["content"] for message in double.requests[-1].body["messages"][1:]]
    assert said == ["Who are you?", "You said: Who are you?", "And who am I?"]


def streamed(client: httpx.Client, key: str, conversation_id: str | None) -> Json:
    """The `done` of the same turn as `ask` makes, over SSE."""
    body: Json = {"question": "When does the quay open?", "blob_names": []}
    if conversation_id is not None:
        body["conversation_id"] = conversation_id
    client.headers["idempotency-key"] = key
    try:
        *_, (_, kind, done) = ask_streaming(client, **body)
    finally:
        del client.headers["idempotency-key"]
    assert kind == "done"
    return done


def test_only_a_stream_that_asks_has_the_closest_passages_with_the_error_of_an_absent_model(
    ann: httpx.Client, double: OpenAIDouble
) -> None:
    asked = {"conversation_id": conversation_with(ann, "a.txt"), "question": "When does the quay open?"}
    double.responder = lambda _asked: Failure(status=503)
    alone, helped = (ask_streaming(ann, **asked, closest_passages=wanted) for wanted in (False, True))
    for events in (alone, helped):
        assert (events[-1][1], events[-1][2]["status"]) == ("error", 503)
        assert {"token", "citation", "citations", "done"}.isdisjoint(kind for _, kind, _ in events)
    assert ask(ann, **asked, closest_passages=True).status_code == 503
    assert "closest_passages" not in [kind for _, kind, _ in alone]
    [shown] = [data for _, kind, data in helped if kind == "closest_passages"]
    assert shown["answer"].startswith("No language model has answered, so these are the passages closest")
    assert all(each["closest"] and each["quote"] in QUAY for each in shown["citations"])
    assert len(shown["citations"]) > 0
    # Nothing of it is an answer: the turn has failed, and is asked again as any other.
    stored = turns_of(ann, asked["conversation_id"])
    assert {(turn["status"], turn["result"]) for turn in stored} == {("failed", None)}
    retry = f"/conversations/{asked['conversation_id']}/turns/{stored[1]['turn_id']}/retry"
    with ann.stream("POST", retry, headers={"accept": "text/event-stream"}) as streamed_again:
        assert shown in [data for _, kind, data in read_events(streamed_again) if kind == "closest_passages"]
    double.responder = None
    assert answered(ann.post(retry))["answer_kind"] == "answer"


@pytest.mark.parametrize("how", ["named by the request", "named in the question"])
def test_the_closest_passages_are_of_the_documents_that_are_asked_about(
    ann: httpx.Client, double: OpenAIDouble, how: str
) -> None:
    session = conversation_with(ann, "a.txt", "b.txt")
    double.responder = lambda _asked: Failure(status=503)
    asked: Json = {"question": "When does the quay open?", "blob_names": ["b.txt"]}
    if how == "named in the question":
        asked = {"question": "What does b.txt say about when the quay opens?"}
    events = ask_streaming(ann, conversation_id=session, closest_passages=True, **asked)
    [shown] = [data for _, kind, data in events if kind == "closest_passages"]
    cited = {each["blob_name"] for each in shown["citations"]}
    assert cited == {"b.txt"}
