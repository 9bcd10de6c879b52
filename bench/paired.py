"""Compares this checkout with another one on the same machine: python -m bench.paired OTHER_CHECKOUT

Both products run side by side, and every operation alternates between them. What is compared is the processor
time of all processes of a product, those that have ended included: other work on the machine changes that
little. What is measured on the clock is compared as ratios of neighbouring measurements only. The other
checkout has its own environment in .venv.
"""

import argparse
import asyncio
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import psutil

from bench.client import (
    ask,
    first_delta,
    first_token,
    last_prompt,
    timed,
    until_analysed,
    until_searchable,
    upload,
)
from bench.connection import JSON, connected
from bench.deployment import HANDBOOK, ROOT, clean_surroundings, new_system, running_double, used_ms
from bench.latency import SLOW_MODEL
from bench.long_document import Case, cited_answer, make_cases, result_of
from bench.plan import CONCURRENT, FULL
from bench.turns import per_second
from devkit.system import System, interrupted_by_sigterm
from orc_core.grounding.sources import read_fenced

SETTLE_SECONDS = 0.5
"""Memory and traces are written after the answer."""
UNLIMITED = {"ORC_ADVANCED": '{"upload_bytes_per_day": 0}'}
ANALYSING = {"ORC_PAGE_ANALYSIS": "extractive"}
TURNS, ROUNDS, BUSY_TURNS, WARMING_TURNS = 10, 6, 96, 8
LOOK_SECONDS = 0.2
"""Each look at a document takes processor time, too."""
CLOCK_LOOK_SECONDS = 0.02

Measurement = Callable[["Side"], Awaitable[float]]
Found = dict[str, list[tuple[float, float]]]
"""What both products used in each round, the other one first."""


class Stage(Enum):
    """How far the processing of an upload is."""

    READABLE = "readable"
    SEARCHABLE = "searchable"
    ANALYSED = "analysed"


@dataclass
class Side:
    """A running product; `answers` has what the model answers about each document.

    `another` makes one that is yet to be started, with a new data folder.
    """

    name: str
    root: psutil.Process
    port: int
    double_port: int
    another: Callable[[], System]
    answers: dict[str, str] = field(default_factory=dict)

    def cpu_ms(self) -> float:
        """User and system time of all processes, those that have ended included."""
        return used_ms(self.root)

    async def script(self, text: str = "", **behaviour: float) -> None:
        """What the model answers from now on, and how."""
        async with connected(self.double_port) as double:
            await double.post_json("/_script", {**({"text": text} if text else {}), **behaviour})

    async def upload(self, name: str, content: bytes) -> str:
        """The conversation in which the file is now searchable."""
        conversation_id = str(uuid.uuid4())
        async with connected(self.port) as connection:
            # On a busy machine the worker may read it.
            await connection.post_file(f"/api/conversations/{conversation_id}/documents", name, content)
            await until_searchable(connection, conversation_id)
        return conversation_id

    async def upload_handbook(self) -> str:
        """A conversation that holds the handbook."""
        return await self.upload(HANDBOOK.name, HANDBOOK.read_bytes())

    async def chat(self, conversation_id: str | None = None) -> None:
        """A turn, about the conversation's handbook or without documents."""
        async with connected(self.port) as connection:
            await ask(connection, conversation_id)

    async def ask_about(self, case: Case, conversation_id: str) -> None:
        """A streamed turn. Raises ValueError if it has no verified citation."""
        async with connected(self.port) as connection:
            stream = connection.stream("/api/orc", case.body(conversation_id))
            events = b"".join([part async for part in stream])
        result = result_of(events.replace(b"\r\n", b"\n"))  # earlier versions end lines so
        if not any(citation["verified"] for citation in result["citations"]):
            raise ValueError(f"A turn of {self.name} has no verified citation.")


async def ingestion_ms(case: Case, stage: Stage, side: Side) -> float:
    """Processor time from an upload until the document has come so far, in ms for each page."""
    await asyncio.sleep(SETTLE_SECONDS)
    conversation_id = str(uuid.uuid4())
    async with connected(side.port) as connection:
        before = side.cpu_ms()
        pages = await upload(connection, conversation_id, case.name, case.unique())
        readable = side.cpu_ms()
        await until_searchable(connection, conversation_id, look_seconds=LOOK_SECONDS)
        if stage is Stage.ANALYSED:
            await until_analysed(connection, conversation_id, look_seconds=LOOK_SECONDS)
    return ((readable if stage is Stage.READABLE else side.cpu_ms()) - before) / pages


async def ingestion_clock_ms(case: Case, stage: Stage, side: Side) -> float:
    """Milliseconds on the clock from an upload until the document has come so far, for each page.

    What follows that stage is waited for too, so that it does not slow down the other side's measurement.
    """
    await asyncio.sleep(SETTLE_SECONDS)
    conversation_id, content = str(uuid.uuid4()), case.unique()
    async with connected(side.port) as connection:
        started = time.perf_counter()
        pages = await upload(connection, conversation_id, case.name, content)
        readable = time.perf_counter()
        await until_searchable(connection, conversation_id, look_seconds=CLOCK_LOOK_SECONDS)
        ended = readable if stage is Stage.READABLE else time.perf_counter()
    return 1000 * (ended - started) / pages


async def chat_ms(turns: int, side: Side) -> float:
    """Processor time of a turn without documents."""
    await side.script()
    return await _per_turn(side, [side.chat] * turns)


async def handbook_ms(turns: int, side: Side) -> float:
    """Processor time of a turn about a short document, as JSON, each in a new conversation."""
    await side.script()
    waiting = [await side.upload_handbook() for _ in range(turns)]
    return await _per_turn(side, [partial(side.chat, each) for each in waiting])


async def document_ms(case: Case, turns: int, side: Side) -> float:
    """Processor time of a streamed turn about a named document, each in a new conversation."""
    waiting = await _ready_to_ask(case, turns, side)
    return await _per_turn(side, [partial(side.ask_about, case, each) for each in waiting])


async def _ready_to_ask(case: Case, turns: int, side: Side) -> list[str]:
    """Conversations with the document; the model is scripted to answer about it."""
    await side.script()
    waiting = [await side.upload(case.name, case.content) for _ in range(turns)]
    await side.script(await _answer_to(case, side, waiting[0]))
    return [await side.upload(case.name, case.content), *waiting[1:]]


async def _answer_to(case: Case, side: Side, conversation_id: str) -> str:
    if case.what not in side.answers:
        async with connected(side.port) as connection:
            await connection.post("/api/orc", case.body(conversation_id), JSON)
        text = "\n".join(str(message.content) for message in await last_prompt(side.double_port))
        side.answers[case.what] = cited_answer(read_fenced(text), case.question)
    return side.answers[case.what]


async def _per_turn(side: Side, turns: Sequence[Callable[[], Awaitable[None]]]) -> float:
    await asyncio.sleep(SETTLE_SECONDS)
    before = side.cpu_ms()
    for turn in turns:
        await turn()
    await asyncio.sleep(SETTLE_SECONDS)
    return (side.cpu_ms() - before) / len(turns)


async def clock_ms(turns: int, side: Side) -> float:
    """Milliseconds on the clock for each of many chat turns, sixteen at once; Refused if one is refused."""
    await side.script()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(side.port)) for _ in range(CONCURRENT)]
        return 1000 / await per_second([partial(ask, client) for client in clients], turns)


async def document_clock_ms(case: Case, turns: int, side: Side) -> float:
    """The same for streamed turns about a named document."""
    waiting = iter(await _ready_to_ask(case, turns, side))

    async def ask_next() -> None:
        await side.ask_about(case, next(waiting))

    return 1000 / await per_second([ask_next] * CONCURRENT, turns)


async def first_token_ms(case: Case, turns: int, side: Side) -> float:
    """Milliseconds on the clock to the first text of such a turn, beyond those of a slow model itself."""
    waiting = await _ready_to_ask(case, turns, side)
    await side.script(side.answers[case.what], **SLOW_MODEL)
    own, found = [], []
    for each in waiting:
        async with connected(side.double_port) as double, connected(side.port) as connection:
            own.append(await first_delta(double))
            found.append(await first_token(connection, case.body(each)))
    return median(found) - median(own)


async def overhead_ms(case: Case, turns: int, side: Side) -> float:
    """Milliseconds on the clock of such a turn, beyond those in which the model gives the same answer."""
    own, found = [], []
    for each in await _ready_to_ask(case, turns, side):
        async with connected(side.double_port) as double:
            own.append(await timed(first_delta(double)))
        found.append(await timed(side.ask_about(case, each)))
    return median(found) - median(own)


async def start_ms(side: Side) -> float:
    """Milliseconds on the clock from `orc serve` to the first 200 of /api/ready."""
    async with _started_again(side) as (_, seconds):
        return 1000 * seconds


async def start_cpu_ms(side: Side) -> float:
    """Processor time of all processes until then."""
    async with _started_again(side) as (root, _):
        return used_ms(root)


@asynccontextmanager
async def _started_again(side: Side) -> AsyncIterator[tuple[psutil.Process, float]]:
    system, started = side.another(), time.perf_counter()
    try:
        await asyncio.to_thread(system.start)
        seconds = time.perf_counter() - started
        assert system.process is not None
        yield psutil.Process(system.process.pid), seconds
    finally:
        await asyncio.to_thread(system.stop)


async def compare(sides: Sequence[Side], measurements: dict[str, Measurement], rounds: int) -> Found:
    """Measure everything on both sides in each round; which side is first alternates."""
    found: Found = defaultdict(list)
    for number, (what, measurement) in product(range(rounds + 1), measurements.items()):
        order = sides if number % 2 else sides[::-1]
        used = {side.name: await measurement(side) for side in order}
        if number:  # the first round warms caches up
            other, this = (used[side.name] for side in sides)
            found[what].append((other, this))
            print(f"{what}: {other:.1f} -> {this:.1f}", flush=True)
    return found


def summarize(found: Found) -> Iterator[str]:
    """A line for each measurement: medians, and the median of the ratios of each round."""
    for what, pairs in found.items():
        others, these = zip(*pairs, strict=True)
        ratios = sorted(this / other for other, this in pairs)
        yield (
            f"{what:38} {median(others):9.2f} -> {median(these):9.2f}  {median(ratios):5.2f}x"
            f"  [{ratios[0]:.2f}, {ratios[-1]:.2f}]"
        )


@asynccontextmanager
async def running_side(name: str, checkout: Path, folder: Path, **settings: str) -> AsyncIterator[Side]:
    """The product of a checkout with a separate model double."""
    with running_double() as (double_port, _):

        def another() -> System:
            system = new_system(folder / f"{name}-{uuid.uuid4()}", double_port)
            system.environment |= {**UNLIMITED, **settings, "PYTHONPATH": str(checkout)}
            if checkout != ROOT:
                system.python = str(checkout / ".venv" / "bin" / "python")
            return system

        system = another()
        try:
            await asyncio.to_thread(system.start)
            assert system.process is not None
            process = psutil.Process(system.process.pid)
            yield Side(name, process, system.api_port, double_port, another)
        finally:
            await asyncio.to_thread(system.stop)


async def run(options: argparse.Namespace, folder: Path) -> None:
    """Measure what the options name, and print it."""
    handbook, report = make_cases(FULL)
    turns = options.turns
    measurements: dict[str, Measurement] = {
        "chat": partial(chat_ms, turns),
        "handbook": partial(handbook_ms, turns),
        "report": partial(document_ms, report, turns),
        "overhead-handbook": partial(overhead_ms, handbook, turns),
        "overhead-report": partial(overhead_ms, report, turns),
        "first-token": partial(first_token_ms, report, turns),
        "busy": partial(clock_ms, BUSY_TURNS),
        "busy-report": partial(document_clock_ms, report, BUSY_TURNS // 2),
        "start": start_ms,
        "start-cpu": start_cpu_ms,
        **_uploads(handbook, report, Stage.READABLE, Stage.SEARCHABLE),
        "readable-report-clock": partial(ingestion_clock_ms, report, Stage.READABLE),
        "searchable-report-clock": partial(ingestion_clock_ms, report, Stage.SEARCHABLE),
    }
    analyses = _uploads(handbook, report, Stage.ANALYSED)
    chosen = options.only or [*measurements, *analyses]
    found: Found = {}
    if unknown := set(chosen) - {*measurements, *analyses}:
        raise SystemExit(f"no such measurements: {' '.join(sorted(unknown))}")
    for group, common, place in ((measurements, {}, folder), (analyses, ANALYSING, folder / "analysing")):
        wanted = {what: group[what] for what in chosen if what in group}
        if wanted:
            async with (
                running_side("other", options.other.resolve(), place, **common) as other,
                running_side("this", ROOT, place, **common) as this,
            ):
                found |= await compare([other, this], wanted, options.rounds)
    clock = "busy, first-token, overhead, start and clock: ms on the clock"
    print(f"\nother -> this: CPU ms of a turn, a page of an upload or a start; {clock}")
    print(*summarize(found), sep="\n")


def _uploads(handbook: Case, report: Case, *stages: Stage) -> dict[str, Measurement]:
    cases = {"handbook": handbook, "report": report}
    return {
        f"{stage.value}-{what}": partial(ingestion_ms, case, stage)
        for stage, (what, case) in product(stages, cases.items())
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.paired", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument(
        "--only", nargs="*", help="names of measurements, such as chat, report, first-token, analysed-report"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--turns", type=int, default=TURNS, help="turns in each round")
    options = parser.parse_args()
    with (
        interrupted_by_sigterm(),
        tempfile.TemporaryDirectory() as name,
        clean_surroundings(Path(name)),
    ):
        asyncio.run(run(options, Path(name)))


if __name__ == "__main__":
    main()
