"""Runs functions of ours in confined child processes: files of others are read there.

A child has limits of memory and processor time, no environment, no network and no files but those it is
given. It is killed when it exceeds a limit, when its context ends, and when this process ends.
"""

import asyncio
import json
import logging
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from orc_core.errors import DocumentRejected, UnreadableDocument, UnsupportedDocument
from orc_core.infra.forks import Fork, ForkServer, Gone
from orc_core.infra.priority import LONG_SECONDS, give_way, processor_seconds
from orc_core.infra.processes import PYTHON, cannot_start, finished, started
from orc_core.infra.sandbox_child import MOST_BYTES, ChildMessage

POLL_SECONDS = 0.5
LEAST_WORK = 0.02
"""Seconds of processor time between two polls that show that a child works."""
LINE_BYTES = 1024 * 1024
CHILD, SERVER = "orc_core.infra.sandbox_child", "orc_core.infra.fork_server"

_REJECTIONS: dict[str, type[DocumentRejected]] = {
    each.__name__: each for each in (UnreadableDocument, UnsupportedDocument)
}
"""The exceptions of a function that are raised here as they are."""
_SERVERS_TRIED = 2
"""One may have just been killed."""
T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """What a function may use.

    Seconds of processor time: `step` until its first message and between two; `step` and a `share` for each
    message for all of it, up to `most`. Seconds on the clock while its next message is waited for: `idle`
    without using the processor, `wall` in all. Only these depend on how busy the machine is.
    """

    memory_bytes: int
    step: float = 15.0
    share: float = 0.25
    most: float = 900.0
    idle: float = 120.0
    wall: float = 1800.0


class Reason(Enum):
    """Why a function did not come to its end."""

    SLOW_STEP = "one message took too much processor time"
    TOO_SLOW = "all messages took too much processor time"
    IDLE = "it did nothing for too long"
    TOO_MUCH_MEMORY = "it needed too much memory"
    KILLED = "another process killed it, or the kernel for want of memory for all"
    STOPPED = "it was stopped together with others"
    BROKEN = "it could not begin"
    FAILED = "it failed"


class Ended(Exception):
    """A function did not come to its end."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Run:
    """A running child: an iterator over the messages of its function.

    Iterating raises what the function does if that is a rejection of a document, else Ended. `waited` is for
    how long messages were waited for, in seconds, and `stopped` why it was killed here.
    """

    def __init__(
        self,
        process: Process | Fork,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        limits: Limits,
    ) -> None:
        self.messages = 0
        self.waited = 0.0
        self._process = process
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._is_awaited = False
        self.stopped: Reason | None = None
        self._watching = asyncio.create_task(self._watch())

    def __aiter__(self) -> "Run":
        return self

    async def __anext__(self) -> ChildMessage:
        try:
            message = await self._awaited(self._receive())
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self.returncode()
            by_code = Reason.BROKEN if code > 0 else _BY_SIGNAL.get(-code, Reason.FAILED)
            reason = self.stopped or by_code
            log.warning("sandbox.ended reason=%s returncode=%s", reason.name, code)
            raise Ended(reason) from None
        except (ValueError, TypeError, RecursionError, asyncio.LimitOverrunError) as error:
            raise _failed(f"invalid output: {error}") from error
        self.messages += 1
        if "error" in message.fields:
            raise _error(message.fields)
        if "end" in message.fields:
            raise StopAsyncIteration
        return message

    def send(self, content: bytes) -> None:
        """Write all the input of the child, and close it, while its output is read."""
        with suppress(OSError):  # it has died, as its end shows
            self._writer.write(content)
            self._writer.write_eof()

    async def output(self) -> bytes:
        """All that a child writes that is a program."""
        try:
            return await self._awaited(self._reader.read())
        except ConnectionError:  # it has ended without reading all its input
            return b""

    async def returncode(self) -> int:
        """The exit code of the child; it is waited for."""
        return await self._awaited(self._process.wait())

    def stop(self, reason: Reason = Reason.STOPPED) -> None:
        """Kill the child for this reason, unless there is one already."""
        self.stopped = self.stopped or reason
        self._kill()

    async def end(self) -> None:
        """Kill the child, close its socket and wait until it has ended."""
        self._watching.cancel()
        self._kill()
        self._writer.transport.abort()
        await finished(asyncio.ensure_future(self._process.wait()))

    def _kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _awaited(self, awaitable: Awaitable[T]) -> T:
        self._is_awaited = True
        try:
            return await awaitable
        finally:
            self._is_awaited = False

    async def _receive(self) -> ChildMessage:
        fields = json.loads(await self._reader.readuntil())
        length = fields.get("bytes", 0) if isinstance(fields, dict) else None
        if not isinstance(length, int) or not 0 <= length <= MOST_BYTES:
            raise ValueError("a message of an impossible form or size")
        return ChildMessage(fields, await self._reader.readexactly(length))

    async def _watch(self) -> None:
        """Kill the child beyond a limit, and lower its priority before that."""
        limits, seen, since, used, idle = self._limits, 0, 0.0, 0.0, 0.0
        poll = min(POLL_SECONDS, limits.step / 2, limits.idle / 2)
        gave_way = False
        while self.stopped is None:
            await asyncio.sleep(poll)
            before, used = used, await asyncio.to_thread(processor_seconds, self._process.pid)
            if not gave_way and used > LONG_SECONDS:
                gave_way = True
                give_way(self._process.pid, times=2)
            # Polls are counted, not seconds: a machine may have slept in between.
            waited = poll if self._is_awaited else 0.0
            self.waited += waited
            works = used - before >= LEAST_WORK or self.messages != seen
            idle = 0.0 if works else idle + waited
            if self.messages != seen:
                seen, since = self.messages, used
            if used - since > limits.step:
                self.stop(Reason.SLOW_STEP)
            elif used > min(limits.step + limits.share * seen, limits.most):
                self.stop(Reason.TOO_SLOW)
            elif idle > limits.idle or self.waited > limits.wall:
                self.stop(Reason.IDLE)


class Sandbox:
    """Children for any work of this process, which are stopped together.

    `preloaded`: modules that children find imported, where the system supports it.
    """

    def __init__(self, *preloaded: str) -> None:
        self._preloaded = preloaded
        self._runs: set[Run] = set()
        self._users = 0
        self._unused = asyncio.Event()
        self._server: ForkServer | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False

    async def prepare(self) -> None:
        """Import now what the first function would otherwise wait for."""
        if ForkServer.is_possible():
            await self._running_server()

    async def close(self) -> None:
        """Stop all children; functions under way end with STOPPED, and no new one can start."""
        self._is_closed = True
        for run in self._runs:
            run.stop()
        while self._users:
            self._unused.clear()
            await self._unused.wait()
        async with self._starting:
            if self._server is not None:
                await self._server.close()

    @asynccontextmanager
    async def run(
        self, function: str, limits: Limits, reads: Sequence[Path] = (), **arguments: object
    ) -> AsyncIterator[Run]:
        """A child that runs the function `package.module:function`, with these arguments of JSON.

        Paths are strings for the function. `reads`: the files and folders that it may read. The child ends
        with the context. Raises Unavailable if no process can be started.
        """
        request = {
            "function": function,
            "arguments": arguments,
            "memory_bytes": limits.memory_bytes,
            "seconds": limits.most,
            "reads": list(reads),
        }
        async with self._child(limits, self._fork if ForkServer.is_possible() else self._spawn) as run:
            run.send(json.dumps(request, default=lambda path: str(path.absolute())).encode() + b"\n")
            yield run

    @asynccontextmanager
    async def run_program(
        self, *command: str, limits: Limits, settings: Mapping[str, str]
    ) -> AsyncIterator[Run]:
        """A child that is another program, with these variables of its environment; it is not isolated."""

        async def spawn(descriptor: int) -> Process:
            allowed = (str(limits.memory_bytes), str(limits.most))
            return await self._spawn(descriptor, *allowed, *command, settings=settings)

        async with self._child(limits, spawn) as run:
            yield run

    @asynccontextmanager
    async def _child(
        self, limits: Limits, start: Callable[[int], Awaitable[Process | Fork]]
    ) -> AsyncIterator[Run]:
        self._check_open()
        self._users += 1
        try:
            run = await self._begin(limits, start)
            self._runs.add(run)
            try:
                self._check_open()  # it may have been closed while the child started
                yield run
            finally:
                self._runs.discard(run)
                await run.end()
        finally:
            self._users -= 1
            self._unused.set()

    async def _begin(self, limits: Limits, start: Callable[[int], Awaitable[Process | Fork]]) -> Run:
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_BYTES)
                try:
                    return Run(await start(theirs.fileno()), reader, writer, limits)
                except BaseException:
                    writer.transport.abort()
                    raise
        except OSError as error:
            raise cannot_start(error) from error

    def _check_open(self) -> None:
        if self._is_closed:
            raise Ended(Reason.STOPPED)

    async def _fork(self, descriptor: int) -> Fork:
        for _ in range(_SERVERS_TRIED):
            with suppress(Gone):
                return (await self._running_server()).fork(descriptor)
        raise Ended(Reason.STOPPED)

    async def _running_server(self) -> ForkServer:
        async with self._starting:
            self._check_open()
            if self._server is not None and not self._server.is_usable:
                await self._server.close()
                self._server = None
            if self._server is None:
                self._server = await ForkServer.start(self._spawn_server)
            return self._server

    async def _spawn_server(self, control: int) -> Process:
        return await started((*PYTHON, SERVER, *self._preloaded), control, DEVNULL)

    async def _spawn(
        self, descriptor: int, *arguments: str, settings: Mapping[str, str] | None = None
    ) -> Process:
        return await started((*PYTHON, CHILD, *arguments), descriptor, descriptor, settings or {})


def _error(fields: dict[str, Any]) -> Exception:
    """The exception for the last message of a function that has failed."""
    name = str(fields["error"])
    if name in _REJECTIONS:
        log.info("sandbox.rejected code=%s", fields.get("code"))
        return _REJECTIONS[name](str(fields.get("message")), code=str(fields.get("code")))
    return Ended(Reason.TOO_MUCH_MEMORY) if name == MemoryError.__name__ else _failed(name)


def _failed(cause: str) -> Ended:
    log.warning("sandbox.failed cause=%s", cause)
    return Ended(Reason.FAILED)


_BY_SIGNAL: dict[int, Reason] = {
    signal.SIGXCPU: Reason.TOO_SLOW,
    signal.SIGKILL: Reason.KILLED,
    **dict.fromkeys((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), Reason.STOPPED),
    # Of PDFium after a failed allocation.
    **dict.fromkeys((signal.SIGABRT, signal.SIGTRAP, signal.SIGILL), Reason.TOO_MUCH_MEMORY),
}
