"""Document turns of several people while others upload: how much longer they take, and whether any fails."""

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.client import Advance, ask, until_searchable, upload
from bench.connection import Refused, connected
from bench.deployment import Stage
from bench.ingesting import Files, files_to_ingest
from bench.plan import CLIENTS, Plan
from bench.statistics import Figure, summary
from devkit.reports import Target

SLOWED = Target(2)
NO_ERRORS = Target(0)
GROUP = f"{CLIENTS} clients ask"


@dataclass
class Turns:
    """Milliseconds of the turns that were answered, and what was said of the others."""

    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


async def measure_crowd(
    stage: Stage, plan: Plan, conversations: Sequence[str], advance: Advance
) -> list[Figure]:
    """Turns with nothing else going on, and turns while documents come in, by turns.

    Every client has a conversation and asks again as soon as it has its answer; the uploads last until
    all of them can be searched.
    """
    port, quiet, crowded = stage.system.api_port, Turns(), Turns()
    uploads: list[float] = []
    await asyncio.gather(*(_ask_times(port, each, 1, Turns()) for each in conversations))
    for _ in range(plan.crowd_rounds):
        await asyncio.gather(*(_ask_times(port, each, plan.crowd_turns, quiet) for each in conversations))
        advance()
        uploads.append(await _ask_during_uploads(port, plan.crowd_uploads, conversations, crowded))
        advance()
    for error in crowded.errors:
        print(f"failed while documents were uploaded: {error}")
    return _figures(quiet, crowded, uploads, f"{plan.crowd_uploads} files")


def _figures(quiet: Turns, crowded: Turns, uploads: Sequence[float], what: str) -> list[Figure]:
    ratio, count = median(crowded.times) / median(quiet.times), len(crowded.times)
    errors = len(quiet.errors) + len(crowded.errors)
    return [
        summary(GROUP, "document turn, nothing else", quiet.times, tail=True),
        summary(GROUP, f"document turn, {what} come in", crowded.times, tail=True),
        Figure(GROUP, "the latter to the former", ratio, "x", count, target=SLOWED),
        Figure(GROUP, "errors", errors, "", count + errors, target=NO_ERRORS),
        summary(GROUP, f"{what} searchable after", uploads, "s"),
    ]


async def _ask_during_uploads(port: int, count: int, conversations: Sequence[str], turns: Turns) -> float:
    """Seconds until everything was searchable."""
    _, files = await asyncio.to_thread(files_to_ingest, count)
    started, going_on = time.perf_counter(), True
    asking = [asyncio.create_task(_ask_while(port, each, lambda: going_on, turns)) for each in conversations]
    await _upload_all(port, files, turns)
    seconds, going_on = time.perf_counter() - started, False
    await asyncio.gather(*asking)
    return seconds


async def _upload_all(port: int, files: Files, turns: Turns) -> None:
    async def work(name: str, content: bytes) -> None:
        conversation_id = str(uuid.uuid4())
        try:
            async with connected(port) as connection:
                await upload(connection, conversation_id, name, content)
                await until_searchable(connection, conversation_id)
        except Refused as exc:
            turns.errors.append(str(exc))

    await asyncio.gather(*(work(name, content) for name, content in files))


async def _ask_times(port: int, conversation_id: str, times: int, turns: Turns) -> None:
    left = iter(range(times))
    await _ask_while(port, conversation_id, lambda: next(left, None) is not None, turns)


async def _ask_while(port: int, conversation_id: str, wanted: Callable[[], bool], turns: Turns) -> None:
    async with connected(port) as connection:
        while wanted():
            started = time.perf_counter()
            try:
                await ask(connection, conversation_id)
            except Refused as exc:
                turns.errors.append(str(exc))
            else:
                turns.times.append(1000 * (time.perf_counter() - started))
