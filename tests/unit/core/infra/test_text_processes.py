"""Functions of text in processes: results, errors, deadlines, and slots for every organization."""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator

import pytest

from core.errors import Overdue, Unavailable
from core.infra import text_processes
from core.infra.text_processes import FairSlots, TextProcesses
from devkit.processes import children

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_own_children")]

HOPELESS = (re.compile(r"(a+)+$"), "a" * 60 + "!")
"""A regular expression that holds the interpreter for longer than the universe has existed."""


@pytest.fixture
async def processes() -> AsyncIterator[TextProcesses]:
    pool = TextProcesses(2)
    yield pool
    await pool.close()


async def test_results_and_errors_come_back_from_one_process(processes: TextProcesses) -> None:
    first, second = [await processes.run(os.getpid, seconds=5) for _ in range(2)]
    assert first == second != os.getpid()
    with pytest.raises(TypeError):
        await processes.run(len, 3, seconds=5)  # type: ignore[arg-type]
    assert await processes.run(os.getpid, seconds=5) == first


async def test_a_hopeless_expression_is_stopped_while_the_event_loop_goes_on(
    processes: TextProcesses,
) -> None:
    pid = await processes.run(os.getpid, seconds=5)
    pauses: list[float] = []

    async def measure_pauses() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            pauses.append(time.monotonic() - before)

    measuring = asyncio.create_task(measure_pauses())
    with pytest.raises(Overdue):
        await processes.run(re.Pattern.search, *HOPELESS, seconds=0.2)
    measuring.cancel()
    assert max(pauses) < 0.2
    assert await processes.run(os.getpid, seconds=5) != pid


async def test_work_that_waits_ends_by_the_clock() -> None:
    pool = TextProcesses(1, start_seconds=0.3)
    with pytest.raises(Overdue):
        await pool.run(time.sleep, 60.0, seconds=0.01)
    await pool.close()


async def test_nothing_runs_after_closing(processes: TextProcesses) -> None:
    waiting = asyncio.create_task(processes.run(time.sleep, 60.0, seconds=60))
    await processes.run(os.getpid, seconds=5)
    await processes.close()
    with pytest.raises(Unavailable):
        await waiting
    with pytest.raises(Unavailable):
        await processes.run(os.getpid, seconds=5)


async def steps(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.mark.parametrize("loop_steps", range(0, 30, 3))
async def test_closing_ends_a_process_that_is_just_starting(loop_steps: int) -> None:
    pool = TextProcesses(1)
    starting = asyncio.create_task(pool.run(os.getpid, seconds=5))
    await steps(loop_steps)
    await pool.close()
    assert children() == []
    with pytest.raises(Unavailable):
        await starting


async def test_work_that_begins_during_closing_gets_no_process(processes: TextProcesses) -> None:
    await processes.start()
    working = asyncio.create_task(processes.run(os.getpid, seconds=5))
    await processes.close()
    assert children() == []
    with pytest.raises(Unavailable):
        await working


@pytest.mark.parametrize("loop_steps", range(4))
async def test_closing_ends_a_process_that_is_just_done(processes: TextProcesses, loop_steps: int) -> None:
    await processes.start()
    working = asyncio.create_task(processes.run(os.getpid, seconds=5))
    [child] = children()
    while child.cpu_times().user == 0 and not working.done():  # noqa: ASYNC110
        await asyncio.sleep(0)
    await steps(loop_steps)
    await processes.close()
    assert children() == []
    await asyncio.gather(working, return_exceptions=True)


async def test_one_organization_gets_half_of_the_slots() -> None:
    slots = FairSlots(4)
    entered: list[str] = []

    async def hold(whose: str) -> None:
        async with slots.slot(whose):
            entered.append(whose)
            await asyncio.Event().wait()

    holders = [asyncio.create_task(hold(whose)) for whose in ["mallory"] * 5 + ["ann"]]
    for _ in range(20):
        await asyncio.sleep(0)
    assert sorted(entered) == ["ann", "mallory", "mallory"]
    holders[0].cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert entered.count("mallory") == 3
    for holder in holders:
        holder.cancel()
    await asyncio.gather(*holders, return_exceptions=True)


def wait_until_lower(niceness: int) -> int:
    """The niceness of this process as soon as it is above this one."""
    while os.getpriority(os.PRIO_PROCESS, 0) <= niceness:
        pass
    return os.getpriority(os.PRIO_PROCESS, 0)


async def test_what_takes_long_gives_way_and_what_follows_does_not(
    processes: TextProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary = await processes.run(os.getpriority, os.PRIO_PROCESS, 0, seconds=5)
    assert ordinary > os.getpriority(os.PRIO_PROCESS, 0)
    with monkeypatch.context() as hurried:
        hurried.setattr(text_processes, "LONG_SECONDS", 0.05)
        assert await processes.run(wait_until_lower, ordinary, seconds=15) > ordinary
    assert await processes.run(os.getpriority, os.PRIO_PROCESS, 0, seconds=5) == ordinary
