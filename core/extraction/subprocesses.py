"""Child processes that end with their context, and the errors for their exit codes."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from core.errors import OrcError, Unavailable
from core.extraction.forked import SERVER_MODULE, ForkedChild, ForkServer, Gone
from core.extraction.pages import unreadable
from core.extraction.protocol import MAX_LINE_BYTES
from core.infra.children import Child, end_child, kill_child, take_child
from core.infra.exhaustion import exhausted

MODULE = (sys.executable, "-P", "-X", "utf8", "-m")
"""The command that runs one of our modules as a child; the module name follows."""

Started = TypeVar("Started", bound=Child)

_SERVERS_TRIED = 2
"""One may have just been killed."""
_ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    # Otherwise PDFium's memory is returned to the kernel after each page and requested again.
    "MALLOC_TRIM_THRESHOLD_": str(256 * 1024 * 1024),
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),
    # numpy multiplies no matrices here, and needs no threads for it.
    "OPENBLAS_NUM_THREADS": "1",
}
"""Of children, on systems that know it. It must have no secret: a hostile file could read it."""


class Children:
    """A group of child processes that can be stopped together."""

    def __init__(self) -> None:
        self._running: set[Child] = set()
        self._users = 0
        self._unused = asyncio.Event()
        self._spare: asyncio.Task[Process] | None = None
        self._server: ForkServer | None = None
        self._starting = asyncio.Lock()
        self.closed = False

    async def close(self) -> None:
        """Stop all children; no new one can start."""
        self.closed = True
        for process in self._running:
            kill_child(process)
        while self._users:
            self._unused.clear()
            await self._unused.wait()
        if self._spare is not None:
            await end_child(await take_child(self._spare))
        async with self._starting:
            if self._server is not None:
                await self._server.close()

    def prepare(self, *command: str) -> None:
        """Start a spare child for the next `start`: importing takes longer than reading most files."""
        if self._spare is None and not self.closed:
            self._spare = asyncio.create_task(self._spawn(command, {}))

    async def prepare_fork(self) -> bool:
        """Start the fork server if it does not run, for the next `fork`; False if that cannot be."""
        if not ForkServer.is_possible():
            return False
        await self._running_server()
        return True

    @asynccontextmanager
    async def start(self, *command: str, settings: Mapping[str, str] | None = None) -> AsyncIterator[Process]:
        """A child with pipes. Its environment has only `settings` and the import path."""
        with self._counted():
            async with self._used(await self._take(command, settings or {})) as process:
                yield process

    @asynccontextmanager
    async def fork(self, *command: str) -> AsyncIterator[Child]:
        """A child that reads a file, with pipes: of a fork server, or else started by this command."""
        with self._counted():
            child = await self._fork()
            try:
                async with self._used(child or await self._take(command, {})) as process:
                    yield process
            finally:
                if child is not None:
                    child.close()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._check_open()
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._unused.set()

    @asynccontextmanager
    async def _used(self, process: Started) -> AsyncIterator[Started]:
        self._running.add(process)
        try:
            self._check_open()  # it may have been closed while the child started
            yield process
        finally:
            self._running.discard(process)
            await end_child(process)

    def _check_open(self) -> None:
        if self.closed:
            raise Unavailable("Reading files has been stopped. Try again.")

    async def _fork(self) -> ForkedChild | None:
        """A child of the fork server, which is started if it does not run; None if that cannot be."""
        for _ in range(_SERVERS_TRIED if ForkServer.is_possible() else 0):
            try:
                return await (await self._running_server()).fork()
            except Gone:
                continue
            except OSError as error:
                raise _cannot_start(error) from error
        return None

    async def _running_server(self) -> ForkServer:
        async with self._starting:
            self._check_open()
            if self._server is not None and (self._server.is_used_up or not self._server.is_alive):
                await self._server.close()
                self._server = None
            if self._server is None:
                self._server = await ForkServer.start(self._spawn_server)
            return self._server

    async def _spawn_server(self, stdin: int) -> Process:
        return await self._spawn((*MODULE, SERVER_MODULE), {}, stdin, DEVNULL)

    async def _take(self, command: Sequence[str], settings: Mapping[str, str]) -> Process:
        """The spare child if it is alive, otherwise a new one."""
        if self._spare is not None:
            spare, self._spare = self._spare, None
            if (process := await take_child(spare)).returncode is None:
                return process
            await end_child(process)
        return await self._spawn(command, settings)

    async def _spawn(
        self, command: Sequence[str], settings: Mapping[str, str], stdin: int = PIPE, stdout: int = PIPE
    ) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=stdin,
                stdout=stdout,
                stderr=DEVNULL,
                # Nothing else of the environment: a hostile file must find no secrets in the child process.
                env={
                    "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)]),
                    **ENVIRONMENT,
                    **settings,
                },
                limit=MAX_LINE_BYTES,
                start_new_session=True,  # otherwise Ctrl-C would look like a damaged file
            )
        except OSError as error:
            raise _cannot_start(error) from error

    def death(self, returncode: int) -> OrcError:
        """The error for a child that ended without a final message."""
        if self.closed or -returncode in _STOPPED:
            return Unavailable("Reading the file was interrupted. Try again.")
        if returncode > 0:
            return Unavailable(
                "Files cannot be read on this server. Its administrator finds the reason in the log."
            )
        if -returncode in _EXHAUSTED:
            return unreadable("too_slow")
        if -returncode in _STARVED:
            return unreadable("too_much_memory")
        return unreadable("corrupt")


def _cannot_start(error: OSError) -> OrcError:
    return exhausted(error) or Unavailable("Reading files does not work right now. Try again.")


def is_from_outside(returncode: int) -> bool:
    """Whether another process or the kernel ended the child, perhaps for want of memory for all."""
    return -returncode in _FROM_OUTSIDE


def is_overdue(returncode: int) -> bool:
    """Whether the kernel ended the child at its limit of processor time."""
    return -returncode in _EXHAUSTED


def request_line(source: Path, memory_bytes: int, seconds: float, **options: object) -> bytes:
    """The input of a child that reads the file at `source`: one line of JSON."""
    limits = {"memory_bytes": memory_bytes, "seconds": seconds}
    return json.dumps({"path": str(source.absolute()), **limits, **options}).encode() + b"\n"


async def send(process: Child, request: bytes) -> None:
    """Write the child's whole input and close the pipe."""
    assert process.stdin is not None
    with suppress(ConnectionError):  # it has died; its exit code says why
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()


def _signals(*names: str) -> frozenset[int]:
    """The numbers of the signals that exist on this system."""
    return frozenset(getattr(signal, name) for name in names if hasattr(signal, name))


_STOPPED = _signals("SIGTERM", "SIGINT", "SIGHUP")
_EXHAUSTED = _signals("SIGXCPU")
_STARVED = _signals("SIGKILL", "SIGABRT", "SIGTRAP", "SIGILL")
"""The kernel's out-of-memory signal, and those of PDFium after a failed allocation."""
_FROM_OUTSIDE = _STOPPED | _signals("SIGKILL")
