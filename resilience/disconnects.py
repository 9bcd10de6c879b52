"""`python -m resilience.disconnects`: streaming clients disconnect at any point; no answer is lost."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from random import Random

import httpx

from devkit.system import Event, System, interrupted_by_sigterm
from orc.turns.results import ATTEMPT_NUMBERS, STORED_AFTER
from resilience.checks import Tally
from resilience.clients import Departure, Left, Refused, ask_and_leave, open_client, outcome, whole_events
from resilience.command import Load, run_command
from resilience.deployment import (
    INSTANCE,
    Instance,
    Store,
    conversation_with,
    in_thread,
    instance,
    product,
    product_here,
    scripted_model,
    store_settings,
    surroundings,
    tools_instance,
)
from resilience.history_check import KINDS, QUAY, Json, new_question
from resilience.report import Advance, StepsOf, Verdict
from resilience.resource_leaks import FILES, TASKS, Rest, compare

KEPT = "questions lost"
ANSWERED = "answers that cannot be had"
FOLDED = "streams unlike their answer"
NUMBERED = "events missed or repeated"
NAMES = (KEPT, ANSWERED, FOLDED, NUMBERED, TASKS, FILES)

LEASE_SECONDS = 3
TOKEN_MS = 12
RECEIVE_SECONDS = 1.0
BEGIN_SECONDS = 5.0
ANSWER_SECONDS = 30.0
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Plan(Load):
    """How many clients go away, how many there are at a time, and in how many conversations."""

    at_once: int = 16
    conversations: int = 16


@dataclass(frozen=True)
class Scene:
    """The instance that clients disconnect from, a second instance, and conversations with a document."""

    api: Instance
    other: System
    conversations: Sequence[str]
    http: httpx.AsyncClient

    async def stored(self, left: Left) -> Json | None:
        """The turn as the other instance has it."""
        url = f"{self.other.api}/conversations/{left.conversation_id}"
        whole = {"limit": "200", "full": "true"}
        turns = (await self.http.get(url, params=whole)).raise_for_status().json()["turns"]
        return next((turn for turn in turns if left.asked.token in turn["question"]), None)

    async def received(self) -> list[str]:
        """The keys of all questions that have come in."""
        keys: list[str] = (await self.http.get(f"{self.api.address}/_received")).raise_for_status().json()
        return keys


@dataclass(frozen=True)
class Ground:
    """A running system, and a tools server for the additional instances."""

    system: System
    tools: Instance
    http: httpx.AsyncClient

    @asynccontextmanager
    async def scene(self, count: int, command: Sequence[str] = INSTANCE) -> AsyncIterator[Scene]:
        """An instance that `command` starts, and so many new conversations."""
        making = [asyncio.to_thread(conversation_with, self.system, QUAY) for _ in range(count)]
        conversations = await asyncio.gather(*making)
        starting = instance(self.system, command, MCP_SERVER_URL=f"{self.tools.address}/mcp")
        async with in_thread(starting) as api:
            yield Scene(api, self.system, conversations, self.http)


async def leave(ground: Ground, scene: Scene, plan: Plan, steps_of: StepsOf) -> Verdict:
    """Have the clients of the plan disconnect from the instance of the scene."""
    started, tally, random = time.perf_counter(), Tally(NAMES), Random(plan.seed)
    departures = [Departure.drawn(random) for _ in range(plan.count)]
    rest = Rest(ground.http, (scene.api, ground.tools), lambda: _stay(scene))
    await _stay(scene, plan.at_once)  # what a process opens once and keeps is no leak
    before = await rest.readings()
    clients = [
        _Client(scene, tally, departure, number, Random(f"{plan.seed} {number}"))
        for number, departure in enumerate(departures)
    ]
    await _all(clients, plan.at_once, steps_of("Clients that go away", plan.count))
    after = await rest.readings()
    compare(before, after, tally)
    figures = [("store", plan.store.value)]
    figures += [(point.value, str(times)) for point, times in Counter(d.point for d in departures).items()]
    figures += [
        ("left before they were read", f"{sum(client.in_vain for client in clients)}, and asked again")
    ]
    figures += [(reading.name, str(reading)) for reading in after]
    figures += [("seconds", f"{time.perf_counter() - started:.0f}")]
    return Verdict("Clients that go away", tally.checks(), figures)


@asynccontextmanager
async def ground(store: Store, *, small: bool = False) -> AsyncIterator[Ground]:
    """Everything but the instance that clients leave; most of it in this process if `small`."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(surroundings())
        model = scripted_model("--delay-ms", str(TOKEN_MS))
        model_url = await stack.enter_async_context(in_thread(model))
        chosen = await stack.enter_async_context(in_thread(store_settings(store)))
        settings = {**chosen, "ORC_ADVANCED": json.dumps({"turn_lease_seconds": LEASE_SECONDS})}
        starting = (product_here if small else product)(folder, model_url, **settings)
        system = await stack.enter_async_context(in_thread(starting))
        tools = await stack.enter_async_context(in_thread(tools_instance(system)))
        http = await stack.enter_async_context(open_client())
        yield Ground(system, tools, http)


async def _stay(scene: Scene, clients: int = 1) -> None:
    """Clients that wait for the end of their streams, at the same time; each asks one turn of each kind."""

    async def one(number: int) -> None:
        conversation_id = scene.conversations[number % len(scene.conversations)]
        for question, names in KINDS:
            body = {"question": question, "conversation_id": conversation_id, "blob_names": list(names)}
            response = await scene.http.post(f"{scene.api.address}/api/orc/stream", json=body)
            outcome(whole_events(response.raise_for_status().text))

    await asyncio.gather(*(one(number) for number in range(clients)))


async def _all(clients: Sequence["_Client"], at_once: int, advance: Advance) -> None:
    places = asyncio.Semaphore(at_once)

    async def one(client: "_Client") -> None:
        async with places:
            await client.leave_and_come_back()
        advance()

    await asyncio.gather(*(one(client) for client in clients))


class _Client:
    """Asks, goes, and comes back: at once or later, to the same instance or to another."""

    def __init__(self, scene: Scene, tally: Tally, departure: Departure, number: int, random: Random) -> None:
        question, self._names = KINDS[number % len(KINDS)]
        conversation_id = scene.conversations[number % len(scene.conversations)]
        self._scene, self._tally, self._random = scene, tally, random
        self._left = Left(conversation_id, new_question(question), departure)
        self.in_vain = 0

    async def leave_and_come_back(self) -> None:
        """Leave, again until the question has come in; then come back for the answer."""
        left = self._left
        while not await self._leave():
            self.in_vain += 1
        turn = await self._begun()
        self._tally.expect(KEPT, turn is not None, f"{left.asked.token}, left {left.departure.point}")
        if turn is None:
            return
        if self._random.random() < 0.5:
            turn = await self._ended(turn)
        tail = await self._follow(turn["turn_id"])
        self._check(tail, await self._ended(turn))

    async def _leave(self) -> bool:
        """Ask and go; whether the question came in. A busy server sees only that we went."""
        left, asked = self._left, self._left.asked
        body = {"question": asked.question, "conversation_id": left.conversation_id}
        await ask_and_leave(self._scene.api.port, left, {**body, "blob_names": list(self._names)})
        deadline = time.monotonic() + RECEIVE_SECONDS
        while time.monotonic() < deadline:
            if left.events or asked.key in await self._scene.received():
                return True
            await asyncio.sleep(POLL_SECONDS)
        return False

    def _check(self, tail: Sequence[Event], turn: Json) -> None:
        left = self._left
        events = [*left.events, *tail]
        what = f"{left.asked.token}, left {left.departure.point} with {len(left.events)} events"
        numbers = [number for number, _, _ in events]
        self._tally.expect(NUMBERED, are_in_order(numbers), f"{what}: {numbers}")
        committed = turn["status"] == "committed" and left.asked.token in turn["answer"]
        self._tally.expect(ANSWERED, committed, f"{what}: {turn['status']}, {turn['failure']}")
        try:
            result, shown = outcome(events)
        except (Refused, EOFError) as exc:
            self._tally.expect(FOLDED, False, f"{what}: {exc}")
        else:
            same = shown == result["answer"] and result == turn["result"]
            self._tally.expect(FOLDED, same, f"{what}: {shown!r} was shown")

    async def _begun(self) -> Json | None:
        """The stored turn. A client that went at once may be faster than the server."""
        for _ in range(int(BEGIN_SECONDS / POLL_SECONDS)):
            if (turn := await self._scene.stored(self._left)) is not None:
                return turn
            await asyncio.sleep(POLL_SECONDS)
        return None

    async def _ended(self, turn: Json) -> Json:
        for _ in range(int(ANSWER_SECONDS / POLL_SECONDS)):
            if turn["status"] != "pending":
                break
            await asyncio.sleep(POLL_SECONDS)
            turn = await self._scene.stored(self._left) or turn
        return turn

    async def _follow(self, turn_id: str) -> list[Event]:
        """The events that are left, from the instance that has them in memory or from one that has not."""
        own = f"{self._scene.api.address}/api"
        path = f"/conversations/{self._left.conversation_id}/turns/{turn_id}/events"
        url = self._random.choice([own, self._scene.other.api]) + path
        events: list[Event] = []
        for _ in range(int(ANSWER_SECONDS / POLL_SECONDS)):
            response = await self._scene.http.get(url, headers={"last-event-id": str(self._left.last_number)})
            events = whole_events(response.raise_for_status().text)
            if not _elsewhere(events):
                break
            await asyncio.sleep(POLL_SECONDS)
        return events


def are_in_order(numbers: Sequence[int]) -> bool:
    """Whether these are the numbers of events of one attempt after the other.

    Each attempt has live events from its first, and then those of a replay, if any.
    """
    attempts = [list(group) for _, group in groupby(numbers, lambda number: number // ATTEMPT_NUMBERS)]
    return list(numbers) == sorted(set(numbers)) and all(map(_are_of_one_attempt, attempts))


def _are_of_one_attempt(numbers: Sequence[int]) -> bool:
    own = [number % ATTEMPT_NUMBERS for number in numbers]
    live = [number for number in own if number < STORED_AFTER]
    replayed = own[len(live) :]
    in_order = live == list(range(1, len(live) + 1))
    return in_order and (not replayed or replayed == list(range(replayed[0], replayed[0] + len(replayed))))


def _elsewhere(events: Sequence[Event]) -> bool:
    """Whether the turn is still being answered, by an instance other than the one that was asked."""
    return bool(events) and events[-1][1] == "error" and events[-1][2]["status"] == httpx.codes.CONFLICT


async def run(plan: Plan, steps_of: StepsOf) -> Verdict:
    """The whole campaign."""
    async with ground(plan.store) as prepared, prepared.scene(plan.conversations) as scene:
        return await leave(prepared, scene, plan, steps_of)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 1 if something was found."""
    return run_command("resilience.disconnects", __doc__, "clients that go away", Plan(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
