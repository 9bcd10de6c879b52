"""The stream of a turn: its order and its end, while it runs and when a reader comes back to it."""

from collections.abc import Iterator

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Reply, Script, ToolCall
from devkit.stream_to_json import shown_text
from devkit.system import Event, ask_streaming, read_events
from tests.system.steps import (
    Json,
    come_back,
    conversation_with,
    turns_of,
)

STREAM = {"accept": "text/event-stream"}
TOKENS = 50
ONCE = {"feature_flags": {"critic": "off"}}
"""One answer, even if it cites nothing."""
SLOWLY = Script(text="The quay opens at seven and the key is there. " * 3, tokens=TOKENS, delay_ms=20)


@pytest.fixture
def conversation_id(ann: httpx.Client) -> str:
    return conversation_with(ann, "a.txt")


def check_ended(events: list[Event]) -> Json:
    """The result of a turn whose events are as they must be."""
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert [kind for _, kind, _ in events if kind in ("done", "error")] == ["done"]
    _, kind, done = events[-1]
    assert kind == "done"
    assert shown_text(events) == done["answer"]
    return done


def read_up_to(events: Iterator[Event], kind: str) -> list[Event]:
    read = []
    for event in events:
        read.append(event)
        if event[1] == kind:
            return read
    raise AssertionError(f"there was no {kind}")


@pytest.mark.parametrize("path", ["/orc", "/orc/stream"])
@pytest.mark.parametrize("names", [["a.txt"], []], ids=["documents", "talk"])
def test_a_stream_ends_once_and_says_what_is_stored(
    path: str, names: list[str], ann: httpx.Client, conversation_id: str, double: OpenAIDouble
) -> None:
    body = {"question": "When?", "conversation_id": conversation_id, "blob_names": names, **ONCE}
    headers = STREAM if path == "/orc" else {}
    with ann.stream("POST", path, json=body, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        assert "content-encoding" not in response.headers
        assert response.headers["x-accel-buffering"] == "no"
        done = check_ended(list(read_events(response)))
    [turn] = turns_of(ann, conversation_id)
    assert turn["result"] == done
    assert turn["answer"] == done["answer"]


def test_what_was_said_before_a_tool_was_called_is_withdrawn(
    ann: httpx.Client, conversation_id: str, double: OpenAIDouble
) -> None:
    call = Reply(text="Let me look.", tool_calls=[ToolCall(name="documents_list")])
    double.script.replies.extend([call, Reply(text="There is one: a.txt.")])
    events = ask_streaming(ann, question="What is there?", conversation_id=conversation_id, **ONCE)
    assert check_ended(events)["answer"] == "There is one: a.txt."
    assert "reset" in [kind for _, kind, _ in events]


@pytest.mark.parametrize("names", [["a.txt"], []], ids=["documents", "talk"])
def test_a_failure_ends_the_stream_with_one_problem(
    names: list[str], ann: httpx.Client, conversation_id: str, double: OpenAIDouble
) -> None:
    double.script = Script.model_validate({"failures": [{"after_tokens": 2}] * 3, "text": "one two three"})
    events = ask_streaming(ann, question="When?", conversation_id=conversation_id, blob_names=names)
    assert [kind for _, kind, _ in events if kind in ("done", "error")] == ["error"]
    problem = events[-1][2]
    assert (problem["status"], problem["dependency"], problem["retryable"]) == (503, "model", True)
    [turn] = turns_of(ann, conversation_id)
    assert (turn["status"], turn["failure"]["code"]) == ("failed", problem["code"])
    url = f"/conversations/{conversation_id}/turns/{turn['turn_id']}"
    [again] = come_back(ann, url, after=len(events) - 1)
    assert again == events[-1]


def test_the_first_token_arrives_before_the_model_has_written_its_tenth(
    ann: httpx.Client, conversation_id: str, double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy()
    body = {"question": "When?", "conversation_id": conversation_id, "blob_names": ["a.txt"], **ONCE}
    with ann.stream("POST", "/orc", json=body, headers=STREAM) as response:
        events = read_events(response)
        read = read_up_to(events, "token")
        written = double.requests[0].emitted
        read += events
    assert written < 10
    assert check_ended(read)["answer"]
    assert [request.emitted for request in double.requests] == [TOKENS]


@pytest.mark.parametrize("names", [["a.txt"], []], ids=["documents", "talk"])
def test_a_reader_that_leaves_does_not_stop_the_turn_and_can_come_back_to_it(
    names: list[str], ann: httpx.Client, conversation_id: str, double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy()
    body = {"question": "When?", "conversation_id": conversation_id, "blob_names": names, **ONCE}
    with ann.stream("POST", "/orc", json=body, headers=STREAM) as response:
        before = read_up_to(read_events(response), "token")
    [pending] = turns_of(ann, conversation_id)
    assert pending["status"] == "pending"
    turn = f"/conversations/{conversation_id}/turns/{pending['turn_id']}"
    after = come_back(ann, turn, after=before[-1][0])
    done = check_ended([*before, *after])
    assert [request.finished for request in double.requests] == [True]
    assert turns_of(ann, conversation_id)[0]["result"] == done
    assert come_back(ann, turn) == [*before, *after]
