"""One server with two processes each of the API and of the tools server: it behaves as one with one each."""

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import psutil
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script
from devkit.system import Event, System, read_events, running
from resilience import stops
from resilience.checks import Tally
from resilience.clients import open_client
from resilience.history_check import QUAY
from resilience.model import attributed
from tests.system.steps import Json, ask, come_back, conversation_with, new_id, turns_of, wait_until

pytestmark = pytest.mark.slow

SLOWLY = Script(text="The quay opens at seven and the key is there. " * 3, tokens=50, delay_ms=40)
LANES = 3
ADVANCED = '{"model_retries": 0, "turn_lease_seconds": 4}'
ONCE: dict[str, Any] = {"feature_flags": {"critic": "off"}}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, model_settings: dict[str, str]) -> Iterator[System]:
    settings = {**model_settings, "ORC_PROCESSES": "2", "ORC_ADVANCED": ADVANCED}
    with running(tmp_path_factory.mktemp("two"), **settings) as system:
        yield system


@pytest.fixture
def system(started: System, double: OpenAIDouble) -> System:
    """The system, started again if a test has ended it; the double's script ends with the test."""
    if started.process is None or started.process.poll() is not None:
        started.start()
    return started


@pytest.fixture
def clients(system: System) -> Iterator[list[httpx.Client]]:
    """Clients with connections to both processes of the API."""
    with ExitStack() as stack:
        made: list[httpx.Client] = []

        def reach_both() -> bool:
            made.append(stack.enter_context(system.client()))
            assert made[-1].get("/health").status_code == 200
            both = children(system, "orc", "api")
            return len(both) == 2 and all(connections(each, system.api_port) > 1 for each in both)

        wait_until(reach_both, "each process has two connections")
        yield made


def children(system: System, *words: str) -> list[psutil.Process]:
    """The processes of the API ("orc", "api") or of the tools server ("mcp_server")."""
    assert system.process is not None
    running = psutil.Process(system.process.pid).children()
    return [child for child in running if {*words, "--member"} <= set(_command(child))]


def _command(process: psutil.Process) -> list[str]:
    """The command line of a process; none if it has ended meanwhile."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie too
        return []


def connections(process: psutil.Process, port: int) -> int:
    open_now = (each for each in process.net_connections("tcp") if each.status == psutil.CONN_ESTABLISHED)
    return sum(each.laddr.port == port for each in open_now)


def test_a_running_turn_is_followed_and_taken_up_through_either_process(
    system: System, clients: list[httpx.Client], double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy()
    conversation_id = conversation_with(clients[0], "a.txt")
    body = {"question": "When?", "conversation_id": conversation_id, **ONCE}
    headers = {"accept": "text/event-stream", "idempotency-key": new_id()}
    with clients[0].stream("POST", "/orc", json=body, headers=headers) as response:
        events = read_events(response)
        first = next(events)
        url = f"/conversations/{conversation_id}/turns/{first[2]['turn_id']}"

        def take_up(client: httpx.Client) -> list[Event]:
            resumed = {**headers, "last-event-id": "1"}
            with client.stream("POST", "/orc", json=body, headers=resumed) as again:
                return list(read_events(again))

        with ThreadPoolExecutor(2 * len(clients)) as pool:
            followed = [pool.submit(come_back, client, url) for client in clients[1:]]
            taken_up = [pool.submit(take_up, client) for client in clients[1:]]
        whole = [first, *events]
    assert whole[-1][1] == "done"
    assert [each.result() for each in followed] == [whole] * len(followed)
    assert [each.result() for each in taken_up] == [whole[1:]] * len(taken_up)
    assert len(turns_of(clients[0], conversation_id)) == len(double.requests) == 1
    for client in clients:
        response = client.get(f"{url}/events", headers={"last-event-id": str(len(whole))})
        assert response.status_code == 204


def test_turns_that_are_stopped_through_either_process_lose_and_double_nothing(
    system: System, clients: list[httpx.Client], double: OpenAIDouble
) -> None:
    """The smallest run of resilience/stops.py."""
    double.script, double.responder = Script(tokens=stops.TOKENS, delay_ms=stops.TOKEN_MS), attributed
    conversations = [conversation_with(clients[0], QUAY[0]) for _ in range(4)]
    plan = stops.Plan(count=9, at_once=9)

    async def stop() -> list[stops.Stopped]:
        async with open_client() as http:
            return await stops.stop_turns(http, [system.api], conversations, plan, lambda: None)

    tally = Tally(stops.NAMES)
    stopped = asyncio.run(stop())
    ends = stops.examine(stopped, stops.asking_times(double.requests), tally)
    assert [(check.name, check.findings) for check in tally.checks() if check.findings] == []
    assert ends["stopped"]


def test_a_process_that_is_killed_is_started_again_and_no_turn_is_lost_or_doubled(
    system: System, double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy(update={"tokens": 10, "delay_ms": 100})
    results: list[Json] = []
    stopped = threading.Event()

    def keep_asking(conversation_id: str) -> None:
        while not stopped.is_set():
            results.append(persistently(system, conversation_id))

    with system.client() as client, ThreadPoolExecutor(LANES) as pool:
        conversation_id = conversation_with(client, "a.txt")
        asking = [pool.submit(keep_asking, conversation_id) for _ in range(LANES)]
        try:
            for words in (("orc", "api"), ("mcp_server",)):
                _kill_one(system, words, results)
        finally:
            stopped.set()
        for each in asking:
            each.result()
        stored = turns_of(client, conversation_id)
    assert [turn["seq"] for turn in stored] == list(range(1, len(results) + 1))
    assert {turn["turn_id"]: turn["result"] for turn in stored} == {each["turn_id"]: each for each in results}
    assert system.log.count("Orc serves") == 1


def _kill_one(system: System, words: tuple[str, ...], results: list[Json]) -> None:
    """Kill one of two processes once turns are answered, and wait until another has taken its place."""
    before, answered = children(system, *words), len(results)
    assert len(before) == 2
    wait_until(lambda: len(results) > answered, "a turn is answered", 60)
    before[0].kill()
    # A request that was on its way to the killed process fails. The others do not wait for its successor.
    wait_until(lambda: _is_ready(system), "the other one answers", 10)
    assert not _replaced(system, before, words)
    wait_until(lambda: _replaced(system, before, words), "it is replaced", 60)


def _is_ready(system: System) -> bool:
    with system.client() as other:
        return other.get("/ready").status_code == 200


def persistently(system: System, conversation_id: str) -> Json:
    """The answer to a question, asked with the same key until there is one."""
    key = new_id()
    while True:
        with system.client() as client, suppress(httpx.TransportError):
            answer = ask(client, conversation_id, "a.txt", key=key, question=f"What is {key}?", **ONCE)
            if answer.status_code == 200:
                return dict(answer.json())
            assert answer.json()["retryable"], answer.text
        time.sleep(0.1)


def _replaced(system: System, before: list[psutil.Process], words: tuple[str, ...]) -> bool:
    """Whether there are two processes again, and new connections reach the new one."""
    fresh = [child for child in children(system, *words) if child not in before]
    port = system.api_port if "api" in words else system.mcp_port
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(httpx.Client(base_url=address)).get("/")
        return [connections(child, port) > 0 for child in fresh] == [True]


def test_a_signal_ends_all_processes_once_their_turns_are_answered(
    system: System, clients: list[httpx.Client], double: OpenAIDouble
) -> None:
    double.script = SLOWLY.model_copy()
    assert system.process is not None
    family = psutil.Process(system.process.pid).children(recursive=True)
    with ThreadPoolExecutor(len(clients)) as pool:
        turns = [pool.submit(ask, client, question="When?", **ONCE) for client in clients]
        wait_until(lambda: len(double.requests) >= len(clients), "all turns have begun", 60)
        system.process.send_signal(signal.SIGTERM)
        assert [each.result().status_code for each in turns] == [200] * len(clients)
    assert system.process.wait(30) == -signal.SIGTERM
    assert psutil.wait_procs(family, timeout=10)[1] == []
