"""Turns one at a time and sixteen at once, each round paired with the bare model call."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from statistics import median

from bench.client import Advance, BareModel, ask, last_prompt, timed
from bench.connection import Connection, connected
from bench.deployment import Stage
from bench.plan import CONCURRENT, Plan
from bench.statistics import Figure, flat, overheads, summary
from devkit.reports import Target

CHAT = "chat turn"
DOCUMENT = "document turn"
BARE = "bare model call"
REPLAYED = "bare call, document turn's prompt"
TARGETS = {CHAT: Target(8), DOCUMENT: Target(19.5)}
"""Document turns had 9.5 ms before there were plans, memory, critique and traces: ten more at most."""
TURNS_PER_SECOND = Target(50, ">=")

Call = Callable[[], Awaitable[None]]
Rounds = dict[str, list[list[float]]]


async def measure_latency(
    stage: Stage, bare: BareModel, plan: Plan, conversations: Sequence[str], advance: Advance
) -> list[Figure]:
    """Latency and processor time of a turn, one at a time. Uses each conversation for one turn."""
    waiting = iter(conversations)
    times: Rounds = defaultdict(list)
    cpu: dict[tuple[str, str], list[float]] = defaultdict(list)
    async with connected(stage.system.api_port) as connection:
        await ask(connection, next(waiting))
        prompt = await last_prompt(stage.double_port)
        calls: dict[str, Call] = {
            BARE: bare.call,
            CHAT: lambda: ask(connection),
            DOCUMENT: lambda: ask(connection, next(waiting)),
            REPLAYED: lambda: bare.call(prompt),
        }
        for _ in range(plan.rounds):
            for name, call in calls.items():
                before = stage.cpu_ms()
                times[name].append([await timed(call()) for _ in range(plan.turns_per_round)])
                for process, used in stage.cpu_ms().items():
                    cpu[name, process].append((used - before[process]) / plan.turns_per_round)
                advance()
    return _latencies(times) + _processor_times(cpu)


def _latencies(times: Rounds) -> list[Figure]:
    bare = median(flat(times[BARE]))
    group = "One at a time"
    figures = [summary(group, n, flat(times[n]), bare=bare, tail=True) for n in (BARE, REPLAYED)]
    for name, target in TARGETS.items():
        over = overheads(times[name], times[BARE])
        figures.append(summary(group, name, flat(times[name]), bare=bare, tail=True))
        figures.append(summary(group, f"{name}, overhead", over, bare=bare, target=target, tail=True))
    return figures


def _processor_times(cpu: dict[tuple[str, str], list[float]]) -> list[Figure]:
    """User and system time of each process for one turn."""
    return [
        summary("CPU per turn", f"{name}, {process}", used)
        for (name, process), used in cpu.items()
        if name in TARGETS
    ]


async def measure_throughput(
    stage: Stage, bare: BareModel, plan: Plan, conversations: Sequence[str], advance: Advance
) -> list[Figure]:
    """Document turns per second with sixteen always under way, and bare calls likewise."""
    waiting = iter(conversations)
    turns, calls = [], []
    for _ in range(plan.busy_rounds):
        calls.append(await per_second([bare.call] * CONCURRENT, plan.busy_turns))
        turns.append(await _turns_per_second(stage.system.api_port, waiting, plan.busy_turns))
        advance()
    name = f"{CONCURRENT} at a time"
    return [
        summary(name, "bare model calls", calls, "per s"),
        summary(name, "document turns", turns, "per s", bare=median(calls), target=TURNS_PER_SECOND),
    ]


async def _turns_per_second(port: int, conversations: Iterator[str], total: int) -> float:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(port)) for _ in range(CONCURRENT)]
        return await per_second([_asking(client, conversations) for client in clients], total)


def _asking(connection: Connection, conversations: Iterator[str]) -> Call:
    return lambda: ask(connection, next(conversations))


async def per_second(callers: Sequence[Call], total: int) -> float:
    remaining = iter(range(total))

    async def keep_calling(call: Call) -> None:
        for _ in remaining:
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(keep_calling(call) for call in callers))
    return total / (time.perf_counter() - started)
