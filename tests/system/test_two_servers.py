"""Two servers on one data directory: both serve all of it, and what either acknowledged is kept.

They share the stores and nothing else, as instances behind a proxy do.
"""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.stream_to_json import shown_text
from devkit.system import System, read_events, running, upload
from devkit.system_here import system_here
from resilience import stops
from resilience.checks import Tally
from resilience.clients import open_client
from resilience.history_check import QUAY
from resilience.model import attributed
from tests.system.steps import answered, ask, come_back, conversation_with, new_id, turns_of, wait_until

pytestmark = pytest.mark.slow

CALLS = 12
NAMES = ("fees.txt", "Fees.txt", "tides.txt")
SLOWLY = Script(text="The quay opens at seven and the key is there. " * 20, tokens=200, delay_ms=50)
ADVANCED = '{"model_retries": 0, "turn_lease_seconds": 4}'
STREAM = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory, model_settings: dict[str, str]
) -> Iterator[tuple[System, System]]:
    data, settings = tmp_path_factory.mktemp("two") / "data", {**model_settings, "ORC_ADVANCED": ADVANCED}
    with running(data, **settings) as first, system_here(data, **settings) as second:
        yield first, second


@pytest.fixture
def servers(both: tuple[System, System], double: OpenAIDouble) -> tuple[System, System]:
    """Two servers that run, whatever an earlier test did to the first of them."""
    first, _ = both
    if first.process is None or first.process.poll() is not None:
        first.start()
    return both


@pytest.fixture
def clients(servers: tuple[System, System]) -> Iterator[list[httpx.Client]]:
    """A client of each server."""
    with ExitStack() as stack:
        yield [stack.enter_context(server.client()) for server in servers]


def kill(server: System) -> None:
    """End the server and what it has started, as if its machine had lost its power."""
    assert server.process
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


def documents_of(client: httpx.Client, conversation: str) -> list[str]:
    listed = client.get(f"/conversations/{conversation}/documents").json()["documents"]
    return sorted(document["blob_name"] for document in listed)


def test_two_servers_on_one_directory_lose_and_double_nothing(clients: list[httpx.Client]) -> None:
    conversation, answers = new_id(), {}
    lock = threading.Lock()

    def use(number: int) -> None:
        client, name = clients[number % 2], NAMES[number % len(NAMES)]
        stored = upload(client, conversation, (name, f"The fee of {name} is 400 euros.".encode()))
        assert stored.status_code == 201, stored.text
        question = f"What is the fee, and what is {number}?"
        answer = answered(ask(client, conversation, question=question, key=new_id()))
        with lock:
            answers[answer["turn_id"]] = answer["answer"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(CALLS)))
    for client in clients:
        turns = turns_of(client, conversation)
        assert [turn["seq"] for turn in turns] == list(range(1, CALLS + 1))
        assert {turn["turn_id"]: turn["answer"] for turn in turns} == answers
        assert documents_of(client, conversation) == sorted(NAMES)


def test_a_running_turn_is_followed_and_stopped_through_the_other_server(
    clients: list[httpx.Client], double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy()
    here, there = clients
    conversation_id, key = conversation_with(here, "a.txt"), {"idempotency-key": new_id()}
    body: dict[str, Any] = {"question": "When?", "conversation_id": conversation_id}
    with (
        here.stream("POST", "/orc", json=body, headers=STREAM | key) as asked,
        there.stream("GET", f"/conversations/{conversation_id}/events") as followed,
    ):
        events, news = read_events(asked), read_events(followed)
        seen = [next(event for event in events if event[1] == "token")]
        turn_id = asked.headers["x-turn-id"]
        turn = f"/conversations/{conversation_id}/turns/{turn_id}"
        assert next(data for _, kind, data in news if kind == "turn_started")["turn_id"] == turn_id
        # The events are in the memory of the first server: a reader keeps its place, and comes back.
        [(number, kind, problem)] = come_back(there, turn, after=5)
        assert (number, kind, problem["code"]) == (5, "error", "turn_in_flight")
        for place in ({}, STREAM | {"last-event-id": "5"}):
            again = there.post("/orc", json=body, headers=key | place)
            assert (again.status_code, again.json()["code"]) == (409, "turn_in_flight")
            assert again.json()["turn_id"] == turn_id

        assert there.post(f"{turn}/stop").status_code == 202
        stopped_at = time.monotonic()
        seen += events
        assert seen[-1][1] == "stopped"
        assert time.monotonic() - stopped_at < stops.STOP_SECONDS + 1
        ended = next(data for _, kind, data in news if kind == "turn_ended")
    assert (ended["turn_id"], ended["status"]) == (turn_id, "stopped")
    replayed = come_back(there, turn, after=5)
    assert replayed[-1][1:] == seen[-1][1:]
    assert shown_text(replayed) == seen[-1][2]["answer"] != ""
    for place in ({}, {"last-event-id": "5"}):
        assert there.post("/orc", json=body, headers=key | place).json() == seen[-1][2]


def test_turns_that_are_stopped_through_either_server_lose_and_double_nothing(
    servers: tuple[System, System], clients: list[httpx.Client], double: OpenAIDouble
) -> None:
    """The smallest run of resilience/stops.py."""
    double.script, double.responder = Script(tokens=stops.TOKENS, delay_ms=stops.TOKEN_MS), attributed
    conversations = [conversation_with(clients[0], QUAY[0]) for _ in range(4)]
    plan = stops.Plan(count=9, at_once=9)

    async def stop() -> list[stops.Stopped]:
        async with open_client() as http:
            apis = [server.api for server in servers]
            return await stops.stop_turns(http, apis, conversations, plan, lambda: None)

    tally = Tally(stops.NAMES)
    stopped = asyncio.run(stop())
    ends = stops.examine(stopped, stops.asking_times(double.requests), tally)
    assert [(check.name, check.findings) for check in tally.checks() if check.findings] == []
    assert ends["stopped"]


def test_the_question_of_a_killed_server_is_answered_by_the_other(
    servers: tuple[System, System], clients: list[httpx.Client], double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy()
    here, there = clients
    conversation_id, key = conversation_with(here, "a.txt"), new_id()
    body: dict[str, Any] = {"question": "When?", "conversation_id": conversation_id}
    headers = STREAM | {"idempotency-key": key}
    with here.stream("POST", "/orc", json=body, headers=headers) as asked:
        assert next(event for event in read_events(asked) if event[1] == "token")
        turn_id = asked.headers["x-turn-id"]
        kill(servers[0])
    double.script = Script(text="At seven.")
    codes, deadline = set[str](), time.monotonic() + 60
    while (answer := ask(there, question="When?", conversation_id=conversation_id, key=key)).is_error:
        codes.add(answer.json()["code"])
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # Until the lease of the killed server ends, the other cannot know that it is not being answered.
    assert codes == {"turn_in_flight"}
    assert answer.json()["turn_id"] == turn_id
    assert answer.json()["answer"].startswith("At seven.")
    [turn] = turns_of(there, conversation_id)
    assert (turn["seq"], turn["status"], turn["result"]) == (1, "committed", answer.json())
    assert documents_of(there, conversation_id) == ["a.txt"]


def test_the_other_server_goes_on_with_what_a_killed_one_has_stored(
    servers: tuple[System, System], clients: list[httpx.Client]
) -> None:
    here, there = clients
    conversation = conversation_with(here, "fees.txt", text="The fee is 410 euros.")
    stored = answered(ask(here, conversation, question="What is the fee?", key="key-1"))
    kill(servers[0])
    assert answered(ask(there, conversation, question="What is the fee?", key="key-1")) == stored
    answered(ask(there, conversation, question="And what is the fee again?", key="key-2"))
    assert [turn["seq"] for turn in turns_of(there, conversation)] == [1, 2]
    assert there.delete(f"/conversations/{conversation}").status_code == 204

    def is_gone() -> bool:
        files = [path for path in servers[1].data_dir.rglob("*") if path.is_file()]
        return not any(b"410 euros" in path.read_bytes() for path in files)

    # The log of the database is emptied later if a process reads at that moment.
    wait_until(is_gone, "no file has what was deleted")
