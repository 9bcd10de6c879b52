"""Killed processes: answers stay, open questions can be asked again, every process restarts."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Script, serving
from devkit.stream_to_json import shown_text
from devkit.system import System, ask_streaming, read_events, running
from orc.cli.ports import port_is_free
from orc.turns.results import STORED_AFTER
from tests.system.steps import (
    Json,
    answered,
    ask,
    come_back,
    conversation_with,
    new_id,
    turns_of,
    wait_until,
)

LIVES = 2
KILLS_PER_LIFE = 5
SLOW = Script(text="The quay opens at seven. " * 10, delay_ms=40)
STREAM = {"accept": "text/event-stream"}


@dataclass
class Witness:
    """Asks in one conversation and records what was acknowledged. Keys double as questions."""

    system: System
    double: OpenAIDouble
    conversation_id: str = ""
    acknowledged: dict[str, Json] = field(default_factory=dict)
    unanswered: set[str] = field(default_factory=set)

    def ask(self, key: str, *names: str) -> None:
        """One turn, whose answer may never come."""
        self.unanswered.add(key)
        with self.system.client() as client:
            try:
                response = ask(client, self.conversation_id, *names, question=key, key=key)
            except httpx.TransportError:
                return
        self.acknowledged[key] = answered(response)
        self.unanswered.discard(key)

    def ask_until_killed(self, after_seconds: float) -> None:
        """Quick turns and slow ones, with documents and without, and the end of the API in the midst."""
        asked = len(self.double.requests)
        with ThreadPoolExecutor() as pool:
            self.double.script = SLOW.model_copy()
            for names in ((), ("a.txt",)):
                pool.submit(self.ask, new_id(), *names)
            wait_until(lambda: len(self.double.requests) >= asked + 2, "both slow turns reached the model")
            self.double.script = Script()
            for names in ((), ("a.txt",)):
                pool.submit(self.ask, new_id(), *names)
            time.sleep(after_seconds)
            kill(self.system)

    def check(self) -> None:
        """Everything that was answered is there, and everything else is open to be asked again."""
        with self.system.client() as client:
            wait_until(lambda: not self._pending(client), "the leases ran out")
            turns = turns_of(client, self.conversation_id)
        stored = {turn["question"]: turn for turn in turns}
        assert [turn["seq"] for turn in turns] == list(range(1, len(turns) + 1))
        assert len(stored) == len(turns)
        for key, result in self.acknowledged.items():
            assert (stored[key]["status"], stored[key]["result"]) == ("committed", result)
        for key in self.unanswered & stored.keys():
            if stored[key]["status"] == "failed":
                assert stored[key]["failure"]["code"] == "interrupted"

    def ask_again(self) -> None:
        """The open questions under their keys: each is answered, as the turn that it was."""
        with self.system.client() as client:
            before = {turn["question"]: turn["turn_id"] for turn in turns_of(client, self.conversation_id)}
            names = {turn["question"]: turn["blob_names"] for turn in turns_of(client, self.conversation_id)}
            for key in list(self.unanswered):
                self.ask(key, *names.get(key, []))
                assert self.acknowledged[key]["turn_id"] == before.get(key, self.acknowledged[key]["turn_id"])
        assert self.unanswered == set()

    def _pending(self, client: httpx.Client) -> list[Json]:
        return [turn for turn in turns_of(client, self.conversation_id) if turn["status"] == "pending"]


def kill(system: System) -> None:
    """End the API as the kernel would, and see that the tools server follows it."""
    assert system.process is not None
    tools = tools_process(system)
    os.kill(system.process.pid, signal.SIGKILL)
    system.process.wait()
    wait_until(lambda: not tools.is_running() or tools.status() == psutil.STATUS_ZOMBIE, "the tools end too")
    assert port_is_free("127.0.0.1", system.mcp_port)


def tools_process(system: System) -> psutil.Process:
    assert system.process is not None
    [tools] = [
        child for child in psutil.Process(system.process.pid).children() if "mcp_server" in child.cmdline()
    ]
    return tools


def live_and_die(folder: Path) -> tuple[int, int]:
    """Kill one Orc again and again; how many turns were interrupted, and how many are stored."""
    interrupted = 0
    double = OpenAIDouble()
    with serving(double) as base_url:
        settings = {
            "ORC_MODEL": "openai:gpt-5.1",
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "none",
            "ORC_ADVANCED": '{"turn_lease_seconds": 1}',
        }
        with running(folder, **settings) as system:
            witness = Witness(system, double)
            with system.client() as client:
                witness.conversation_id = conversation_with(client, "a.txt")
            for number in range(KILLS_PER_LIFE):
                witness.ask_until_killed(after_seconds=number * 0.02)
                interrupted += len(witness.unanswered)
                system.start()
                witness.check()
                witness.ask_again()
            witness.check()
            return interrupted, len(witness.acknowledged)


@pytest.mark.campaign
def test_a_killed_api_loses_no_answer_and_accepts_every_open_question_again(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        lives = list(pool.map(live_and_die, [tmp_path / str(number) for number in range(LIVES)]))
    for interrupted, stored in lives:
        assert interrupted >= KILLS_PER_LIFE
        assert stored == KILLS_PER_LIFE * 4


@pytest.fixture(scope="module")
def breakable(tmp_path_factory: pytest.TempPathFactory, model_settings: dict[str, str]) -> Iterator[System]:
    """An Orc that these tests may break, of a user at their own desk."""
    folder = tmp_path_factory.mktemp("breakable")
    settings = {**model_settings, "ORC_ADVANCED": '{"turn_lease_seconds": 1, "model_retries": 0}'}
    with running(folder, **settings) as system:
        yield system


@pytest.fixture
def local(breakable: System, double: OpenAIDouble) -> System:
    """That Orc, whole again."""
    breakable.wait_until_ready()
    return breakable


def test_a_tools_server_killed_during_a_call_fails_at_most_that_turn_and_restarts(
    local: System, double: OpenAIDouble
) -> None:
    double.script = SLOW.model_copy()
    with local.client() as client:
        conversation_id = conversation_with(client, "a.txt")
        body = {"question": "When?", "conversation_id": conversation_id, "blob_names": ["a.txt"]}
        with client.stream("POST", "/orc", json=body, headers=STREAM) as response:
            events = []
            for event in read_events(response):
                events.append(event)
                if event[1] == "token" and len(double.requests) == 1:
                    tools_process(local).kill()
                    double.requests.clear()
        assert [kind for _, kind, _ in events if kind in ("done", "error")] == [events[-1][1]]
        assert "reset" in [kind for _, kind, _ in events]
        if events[-1][1] == "error":
            problem = events[-1][2]
            assert (problem["status"], problem["dependency"]) == (503, "mcp_server")
            assert problem["retryable"] is True
        else:
            assert shown_text(events) == events[-1][2]["answer"]
        double.script = Script()
        local.wait_until_ready()
        answered(ask(client, conversation_id, "a.txt"))


def test_a_tools_server_killed_between_turns_restarts(local: System, double: OpenAIDouble) -> None:
    with local.client() as client:
        conversation_id = conversation_with(client, "a.txt")
        tools_process(local).kill()
        refused = ask(client, conversation_id, "a.txt")
        if refused.status_code != 200:
            assert (refused.status_code, refused.json()["dependency"]) == (503, "mcp_server")
        answered(ask(client))
        local.wait_until_ready()
        answered(ask(client, conversation_id, "a.txt"))


def test_after_a_crash_readers_can_resume_answered_and_interrupted_turns(
    local: System, double: OpenAIDouble
) -> None:
    with local.client() as client:
        conversation_id = conversation_with(client, "a.txt")
        first = ask_streaming(client, question="When?", conversation_id=conversation_id)
        double.script = SLOW.model_copy()
        body = {"question": "Who?", "conversation_id": conversation_id}
        with client.stream("POST", "/orc", json=body, headers=STREAM) as response:
            next(read_events(response))
            kill(local)
    local.start()
    with local.client() as client:
        wait_until(lambda: turns_of(client, conversation_id)[1]["status"] == "failed", "the lease ran out")
        turns = f"/conversations/{conversation_id}/turns"
        answer, question = turns_of(client, conversation_id)
        again = come_back(client, f"{turns}/{answer['turn_id']}", after=4)
        assert [number for number, _, _ in again] == [STORED_AFTER + n for n in range(1, 1 + len(again))]
        assert shown_text([*first[:4], *again]) == answer["answer"]
        assert again[-1][1:] == first[-1][1:]
        [(number, kind, problem)] = come_back(client, f"{turns}/{question['turn_id']}", after=2)
        assert (number, kind, problem["code"]) == (STORED_AFTER, "error", "interrupted")
        assert (problem["status"], problem["retryable"]) == (503, True)
