"""`python -m resilience.stops`: turns are stopped at random moments; nothing is lost, doubled or stuck."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random

import httpx

from devkit.doubles.openai_double import LoggedRequest
from devkit.stream_to_json import shown_text
from devkit.system import interrupted_by_sigterm
from orc_core.infra.resilience import pauses
from resilience.checks import Tally
from resilience.clients import open_client, whole_events
from resilience.command import Load, run_command
from resilience.deployment import (
    conversation_with,
    in_thread,
    instance,
    product,
    scripted_model,
    store_settings,
    surroundings,
)
from resilience.history_check import KINDS, QUAY, Asked, Json, new_question
from resilience.model import TOKEN
from resilience.report import Advance, StepsOf, Verdict

LOST = "questions or texts lost"
DOUBLED = "turns or ends doubled"
STUCK = "turns stuck"
LATE = "models asked after a stop"
NAMES = (LOST, DOUBLED, STUCK, LATE)

LONGEST_SECONDS = 2.5
"""The last moment of a stop after its turn began; some turns have ended by then."""
STOP_SECONDS = 2.0
END_SECONDS = 60.0
TOKENS, TOKEN_MS = 40, 25


class Plan(Load):
    """How many turns are stopped, and how many run at a time."""


@dataclass
class Stopped:
    """A turn that was stopped: what its reader saw, what is stored, and when the stop was acknowledged."""

    asked: Asked
    conversation_id: str
    shown: str = ""
    ends: list[tuple[str, Json]] = field(default_factory=list)
    stored: list[Json] = field(default_factory=list)
    stopped_at: float = 0.0
    ended_at: float = 0.0

    @property
    def token(self) -> str:
        return self.asked.token

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended_at - self.stopped_at)


async def stop_turns(
    http: httpx.AsyncClient, apis: Sequence[str], conversations: Sequence[str], plan: Plan, advance: Advance
) -> list[Stopped]:
    """Ask as often as planned, each question at one of the APIs, and stop its turn through one of them."""
    places = asyncio.Semaphore(plan.at_once)

    async def one(number: int) -> Stopped:
        question, names = KINDS[number % len(KINDS)]
        stopped = Stopped(new_question(question), conversations[number % len(conversations)])
        async with places:
            await _Client(http, apis, stopped, Random(f"{plan.seed} {number}")).run(list(names))
        advance()
        return stopped

    return list(await asyncio.gather(*(one(number) for number in range(plan.count))))


class _Client:
    """Asks, streaming or not, and stops the turn after a random time, sometimes twice."""

    def __init__(
        self, http: httpx.AsyncClient, apis: Sequence[str], stopped: Stopped, random: Random
    ) -> None:
        self._http, self._apis, self._stopped, self._random = http, apis, stopped, random

    async def run(self, names: list[str]) -> None:
        stopped = self._stopped
        body = {
            "question": stopped.asked.question,
            "conversation_id": stopped.conversation_id,
            "blob_names": names,
        }
        async with asyncio.timeout(END_SECONDS):
            asking = asyncio.create_task(self._ask(body))
            turn = await self._begun()
            await asyncio.sleep(self._random.uniform(0, LONGEST_SECONDS))
            url = f"/conversations/{stopped.conversation_id}/turns/{turn['turn_id']}/stop"
            for _ in range(self._random.choice((1, 1, 2))):
                (await self._http.post(self._random.choice(self._apis) + url)).raise_for_status()
            stopped.stopped_at = time.monotonic()
            await asking
        stopped.ended_at = time.monotonic()
        stopped.stored = await self._turns()

    async def _ask(self, body: Json) -> None:
        stopped, api = self._stopped, self._random.choice(self._apis)
        if self._random.random() < 0.3:
            response = await self._http.post(f"{api}/orc", json=body)
            result = response.json()
            kind = {"committed": "done"}.get(result.get("status"), result.get("status", "error"))
            stopped.ends, stopped.shown = [(kind, result)], result.get("answer", "")
            return
        response = await self._http.post(f"{api}/orc/stream", json=body)
        events = whole_events(response.raise_for_status().text)
        stopped.shown = shown_text(events)
        stopped.ends += [(kind, data) for _, kind, data in events if kind in ("done", "stopped", "error")]

    async def _begun(self) -> Json:
        async for _ in pauses(END_SECONDS):
            if turns := await self._turns():
                return turns[0]
        raise TimeoutError(f"{self._stopped.token} was not stored")

    async def _turns(self) -> list[Json]:
        """The stored turns of this question, from a random API."""
        url = f"{self._random.choice(self._apis)}/conversations/{self._stopped.conversation_id}"
        response = await self._http.get(url, params={"limit": 200, "full": "true"})
        if response.status_code == httpx.codes.NOT_FOUND:
            return []
        turns = response.raise_for_status().json()["turns"]
        return [turn for turn in turns if self._stopped.token in turn["question"]]


def examine(stopped: Iterable[Stopped], asked: Callable[[str], list[float]], tally: Tally) -> Counter[str]:
    """Hold each turn against what was seen of it; how the turns ended.

    `asked`: when models were asked this question.
    """
    ends: Counter[str] = Counter()
    for each in stopped:
        tally.expect(DOUBLED, len(each.stored) == 1 == len(each.ends), f"{each.token}: {each.ends}")
        turn = each.stored[0] if each.stored else {"status": "absent", "answer": None, "result": None}
        kind, result = each.ends[-1] if each.ends else ("nothing", {})
        ends[kind] += 1
        tally.expect(STUCK, turn["status"] != "pending" and bool(each.ends), f"{each.token}: {turn}")
        same = (kind, turn["status"]) in {("done", "committed"), ("stopped", "stopped")}
        kept = same and each.shown == turn["answer"] and turn["result"] == result
        tally.expect(LOST, kept, f"{each.token}: {kind}, {each.shown!r}; stored: {turn}")
        if kind == "stopped":
            # A busy machine may take longer; what counts is that the end of the stream is the end.
            end = max(each.stopped_at + STOP_SECONDS, each.ended_at)
            late = [at - each.stopped_at for at in asked(each.token) if at > end]
            tally.expect(LATE, not late, f"{each.token}: {late} s after the stop")
    return ends


def asking_times(requests: Iterable[LoggedRequest]) -> Callable[[str], list[float]]:
    """When the model was asked each question: the last one of a prompt is the one that it asks."""
    times: dict[str, list[float]] = {}
    for request in requests:
        if found := TOKEN.findall(json.dumps(request.body)):
            times.setdefault(found[-1], []).append(request.at)
    return lambda token: times.get(token, [])


async def run(plan: Plan, steps_of: StepsOf) -> Verdict:
    """The whole campaign, over two servers on one store."""
    started, tally = time.perf_counter(), Tally(NAMES)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(surroundings())
        model = scripted_model("--tokens", str(TOKENS), "--delay-ms", str(TOKEN_MS))
        model_url = await stack.enter_async_context(in_thread(model))
        settings = await stack.enter_async_context(in_thread(store_settings(plan.store)))
        system = await stack.enter_async_context(in_thread(product(folder, model_url, **settings)))
        other = await stack.enter_async_context(in_thread(instance(system)))
        http = await stack.enter_async_context(open_client())
        making = (asyncio.to_thread(conversation_with, system, QUAY) for _ in range(2 * plan.at_once))
        conversations = await asyncio.gather(*making)
        apis = [system.api, f"{other.address}/api"]
        advance = steps_of("Turns that are stopped", plan.count)
        stopped = await stop_turns(http, apis, conversations, plan, advance)
        log = (await http.get(model_url.removesuffix("/v1") + "/_log")).raise_for_status().json()
    asked = asking_times(map(LoggedRequest.model_validate, log))
    ends = examine(stopped, asked, tally)
    times = sorted(each.seconds for each in stopped if each.ends[-1:] and each.ends[-1][0] == "stopped")
    figures = [("store", plan.store.value), *((kind, str(count)) for kind, count in ends.items())]
    calls = [at - each.stopped_at for each in stopped for at in asked(each.token)]
    figures += [("seconds from a stop to the last model call that began, at most", f"{max(calls):.2f}")]
    figures += [("seconds from a stop to the end of the turn, at most", f"{max(times, default=0):.2f}")]
    figures += [("seconds", f"{time.perf_counter() - started:.0f}")]
    return Verdict("Turns that are stopped", tally.checks(), figures)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 1 if something was found."""
    return run_command("resilience.stops", __doc__, "turns that are stopped", Plan(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
