"""Runs functions of text in child processes that are killed at a deadline.

A regular expression holds the interpreter until it has ended, so a thread could neither be stopped nor leave
the event loop alone.
"""

import asyncio
import logging
import os
import pickle
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar, TypeVarTuple, cast

from core.errors import OrcError, Overdue, Unavailable
from core.infra.children import end_child, kill_child
from core.infra.priority import LONG_SECONDS, give_more_way, processor_seconds
from core.infra.text_child import AT_DEADLINE, LENGTH

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

PROCESSES = 3
WALL_PER_PROCESSOR_SECOND = 4.0
"""On a busy machine a process gets only a part of a processor."""
START_SECONDS = 10.0
"""Importing takes a part of a second, and more on a busy machine."""
BUFFER_BYTES = 1024 * 1024
LEAST_SECONDS = 10.0
CHARACTERS_PER_SECOND = 50_000
"""A limit: ordinary text is processed at least sixteen times as fast."""

_COMMAND = (sys.executable, "-P", "-X", "utf8", "-m", "core.infra.text_child")
_ROOT = Path(__file__).parents[2]

log = logging.getLogger(__name__)


def allowance(characters: int) -> float:
    """The seconds of processor time that work on a document's text may take."""
    return LEAST_SECONDS + characters / CHARACTERS_PER_SECOND


class TextWork(Protocol):
    """Runs functions of text away from the event loop."""

    async def run(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        seconds: float,
        whose: str = "",
    ) -> Result:
        """Run the function; returns or raises what it does. Raises Overdue after `seconds` of processor time.

        `whose` is the organization that the work is for: none may use all processes.
        """


class InThread:
    """Runs functions in a thread, without a deadline: the default without child processes."""

    async def run(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        seconds: float,  # noqa: ARG002
        whose: str = "",  # noqa: ARG002
    ) -> Result:
        """Run the function; returns or raises what it does."""
        return await asyncio.to_thread(function, *arguments)


class FairSlots:
    """A number of slots, of which one organization gets at most half, and at least one."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._share = max(1, slots // 2)
        self._used: Counter[str] = Counter()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self, whose: str) -> AsyncIterator[None]:
        """Waits for a slot; work for no organization in particular may use any."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._has_free(whose))
            self._used[whose] += 1
        try:
            yield
        finally:
            self._used[whose] -= 1
            async with self._changed:
                self._changed.notify_all()

    async def all_free(self) -> None:
        """Waits until no slot is used."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._used.total())

    def _has_free(self, whose: str) -> bool:
        return self._used.total() < self._slots and not (whose and self._used[whose] >= self._share)


class TextProcesses:
    """Child processes that each run one function at a time, started when they are needed.

    Functions, arguments and results have to be picklable. A process whose function was stopped is replaced.
    """

    def __init__(
        self,
        processes: int = PROCESSES,
        *,
        preload: Sequence[str] = (),
        start_seconds: float = START_SECONDS,
    ) -> None:
        """`preload`: modules that a process imports when it starts, for which it has `start_seconds`."""
        self._slots = FairSlots(processes)
        self._command = (*_COMMAND, *preload)
        self._start_seconds = start_seconds
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._closed = False

    async def start(self) -> None:
        """Start one process, so that the first function does not wait for it."""
        async with self._slots.slot(""):
            if not self._idle and not self._closed:
                self._idle.append(await self._spawn())

    async def close(self) -> None:
        """Stop all processes; functions that still run raise Unavailable."""
        self._closed = True
        for process in self._all:
            kill_child(process)
        await self._slots.all_free()
        await asyncio.gather(*map(self._end, self._idle))

    async def run(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        seconds: float,
        whose: str = "",
    ) -> Result:
        """Run the function; returns or raises what it does.

        Raises Overdue after `seconds` of processor time, or four times as long on the clock, and Unavailable
        if no process can be started.
        """
        wall = self._start_seconds + seconds * WALL_PER_PROCESSOR_SECOND
        limits = (seconds, 2 * wall)
        request = pickle.dumps((function, arguments, *limits), pickle.HIGHEST_PROTOCOL)
        async with self._slots.slot(whose):
            process = await self._take()
            try:
                async with _giving_way(process) as gave_way:
                    result, error = await self._ask(process, request, wall)
            except BaseException:
                await self._end(process)
                raise
            if gave_way or self._closed:  # a priority cannot be raised again
                await self._end(process)
            else:
                self._idle.append(process)
        if error is not None:
            raise error
        return cast("Result", result)

    async def _take(self) -> Process:
        """The process used last, which has most in its caches, or a new one."""
        while self._idle and not self._closed:
            process = self._idle.pop()
            if process.returncode is None:
                return process
            await self._end(process)
        return await self._spawn()

    async def _ask(self, process: Process, request: bytes, wall: float) -> tuple[object, Exception | None]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(wall):
                with suppress(ConnectionError):  # it has died, as its missing answer shows
                    process.stdin.write(LENGTH.pack(len(request)) + request)
                    await process.stdin.drain()
                (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
                outcome = pickle.loads(await process.stdout.readexactly(length))
        except TimeoutError:
            raise _overdue() from None
        except asyncio.IncompleteReadError:
            raise await self._death(process) from None
        return cast("tuple[object, Exception | None]", outcome)

    async def _death(self, process: Process) -> OrcError:
        if self._closed:
            return Unavailable("The work on a text was interrupted. Try again.")
        code = await process.wait()
        if code == AT_DEADLINE:
            return _overdue()
        log.error("text process ended code=%s", code)
        return OrcError("The work on the text failed: it may need too much memory.", code="text_failed")

    async def _spawn(self) -> Process:
        if self._closed:
            raise _stopped()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                # Nothing else of the environment: text must not meet secrets.
                env={"PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
                limit=BUFFER_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable("No process can be started right now. Try again.") from error
        self._all.add(process)
        if self._closed:  # meanwhile
            await self._end(process)
            raise _stopped()
        return process

    async def _end(self, process: Process) -> None:
        try:
            await end_child(process)
        finally:
            self._all.discard(process)


@asynccontextmanager
async def _giving_way(process: Process) -> AsyncIterator[list[int]]:
    """Lowers the priority of a process that works for a long time; the list then has its id."""
    gave_way: list[int] = []

    async def watch() -> None:
        # Most work is done before it is looked at.
        await asyncio.sleep(LONG_SECONDS)
        before = used = await asyncio.to_thread(processor_seconds, process.pid)
        while used - before < LONG_SECONDS:
            await asyncio.sleep(LONG_SECONDS)
            used = await asyncio.to_thread(processor_seconds, process.pid)
        gave_way.append(process.pid)
        give_more_way(process.pid)

    watching = asyncio.create_task(watch())
    try:
        yield gave_way
    finally:
        watching.cancel()


def _stopped() -> Unavailable:
    return Unavailable("The work on texts has been stopped. Try again.")


def _overdue() -> Overdue:
    log.warning("a function of text was stopped at its deadline")
    return Overdue("The work on the text took too long and was stopped.")
