"""`python -m resilience.kill_tools [--count 100]`: the tools server is killed, hangs, and stays down.

Every turn ends within its deadline, in an answer or in an error that names the tools server; the next
turn is fine; nothing stays pending, and nothing is stored twice.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
from rich.console import Console

from devkit.system import System, interrupted_by_sigterm, results
from resilience.checks import Tally
from resilience.clients import Outcome, ask, turns_of
from resilience.deployment import conversation_with, product, scripted_model, surroundings
from resilience.report import Advance, Verdict, conclude, steps, wide_console
from resilience.tool_outage import FILE, NAMES, UNTYPED, Absence, hang

LANES = 2
ABSENCES = 3
QUAY = b"The quay opens at seven. The harbour master keeps the key."
SCRIPT = {"tokens": 16, "delay_ms": 25}
LONGEST_WAIT_SECONDS = 0.4
BLIND_SHARE = 0.3
BLIND_SECONDS = 0.08
TRIES_PER_KILL = 3
DEADLINE_SECONDS = 40.0
TOOL_SECONDS = 12.0
"""A server that was started again answers its first call late on a busy machine."""
OVERRUN_SECONDS = 2.0
SETTINGS = {
    "ORC_ADVANCED": json.dumps(
        {"turn_deadline_seconds": DEADLINE_SECONDS, "tool_timeout_seconds": TOOL_SECONDS}
    ),
}

LATE = "turns that outlast their deadline"
NEXT = "next turns without an answer"
MIXED = "answers other than to their own question, or than what was streamed"
PENDING = "turns that stay pending"
TWICE = "turns stored twice, or out of order"
MISSED = "kills that no call was under way for"


class Lane:
    """One product, whose tools server is killed again and again while a turn needs it."""

    def __init__(self, system: System, model_url: str, tally: Tally, chance: random.Random) -> None:
        self.system = system
        self._tally = tally
        self._chance = chance
        self._model = model_url.removesuffix("/v1")
        self.conversation_id = conversation_with(system, (FILE, QUAY))
        self.endings: Counter[str] = Counter()

    def run(self, kills: int, advance: Advance) -> None:
        """Kill so many times in mid-call."""
        with self.system.client() as http:
            for _ in range(kills):
                hit = any(self._kill_in_a_turn(http) for _ in range(TRIES_PER_KILL))
                self._tally.expect(MISSED, hit, f"{TRIES_PER_KILL} tries")
                advance()
            self._audit(http)

    def tools(self) -> psutil.Process:
        """The process of the tools server that runs now."""
        assert self.system.process is not None
        children = psutil.Process(self.system.process.pid).children()
        return next(child for child in children if "mcp_server" in child.cmdline())

    def _kill_in_a_turn(self, http: httpx.Client) -> bool:
        """One turn, the end of the server within it, and the turn after; whether the turn was hit."""
        httpx.post(f"{self._model}/_script", json=SCRIPT)
        tools = self.tools()
        with ThreadPoolExecutor(1) as pool:
            streaming = self._chance.random() < 0.5
            turn = pool.submit(ask, http, self.conversation_id, FILE, streaming=streaming)
            self._wait_for_a_call()
            tools.kill()
            killed_at = time.monotonic()
        outcome = turn.result()
        self._check(outcome)
        self.system.wait_until_ready()
        following = ask(http, self.conversation_id, FILE)
        self._tally.expect(NEXT, following.answered, str(following))
        hit = outcome.ended_at > killed_at
        self.endings["answered" if outcome.answered else str(outcome.status)] += hit
        return hit

    def _wait_for_a_call(self) -> None:
        """Until the tool has asked the model and some time more; or blindly, about when the call begins."""
        if self._chance.random() < BLIND_SHARE:
            time.sleep(self._chance.uniform(0, BLIND_SECONDS))
            return
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not httpx.get(f"{self._model}/_log").json() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(self._chance.uniform(0, LONGEST_WAIT_SECONDS))

    def _check(self, outcome: Outcome) -> None:
        self._tally.expect(LATE, outcome.seconds <= DEADLINE_SECONDS + OVERRUN_SECONDS, str(outcome))
        if outcome.answered:
            self._tally.expect(MIXED, outcome.is_own_answer, f"{outcome}, shown: {outcome.shown}")
        self._tally.expect(UNTYPED, outcome.answered or outcome.blames("mcp_server"), str(outcome))

    def _audit(self, http: httpx.Client) -> None:
        turns = turns_of(http, self.conversation_id)
        questions = [turn["question"] for turn in turns]
        for number, turn in enumerate(turns, start=1):
            self._tally.expect(PENDING, turn["status"] != "pending", turn["question"])
            once = turn["seq"] == number and questions.count(turn["question"]) == 1
            self._tally.expect(TWICE, once, turn["question"])


@contextmanager
def _lane(folder: Path, tally: Tally, seed: int, settings: Mapping[str, str]) -> Iterator[Lane]:
    with scripted_model() as model_url, product(folder, model_url, **SETTINGS, **settings) as system:
        yield Lane(system, model_url, tally, random.Random(seed))


def campaign(
    folder: Path,
    kills: int,
    console: Console,
    *,
    lanes: int = LANES,
    absences: int = ABSENCES,
    seed: int = 1,
    settings: Mapping[str, str] | None = None,
) -> Verdict:
    """Kill the server so many times, on several systems at once. `settings`: a test plants bugs by them."""
    tally = Tally((LATE, UNTYPED, NEXT, MIXED, PENDING, TWICE, MISSED, *(NAMES if absences else ())))
    # If it is interrupted, the servers stop first, and the lanes that use them end with that.
    with steps(console) as steps_of, ThreadPoolExecutor(lanes) as pool, ExitStack() as stack:
        stage = [
            stack.enter_context(_lane(folder / str(lane), tally, seed + lane, settings or {}))
            for lane in range(lanes)
        ]
        advance = steps_of("kills", kills)
        shares = [kills // lanes + (lane < kills % lanes) for lane in range(lanes)]
        pairs = zip(stage, shares, strict=True)
        results([pool.submit(lane.run, share, advance) for lane, share in pairs])
        first = stage[0]
        absence = Absence(first.system, first.conversation_id, tally)
        if absences:
            hang(first.system, first.tools(), first.conversation_id, TOOL_SECONDS, tally)
            absence.run(absences, steps_of("absences", absences))
    endings = sum((lane.endings for lane in stage), Counter[str]())
    summary = ", ".join(f"{times} x {ending}" for ending, times in endings.most_common())
    figures = [("turns that were hit ended", summary), *absence.figures()]
    return Verdict(f"{kills} kills of the tools server", tally.checks(), figures)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    parser = argparse.ArgumentParser(prog="python -m resilience.kill_tools", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how often the server is killed")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    console = wide_console()
    with surroundings() as folder:
        return conclude(campaign(folder, given.count, console, seed=given.seed), console)


if __name__ == "__main__":
    sys.exit(main())
