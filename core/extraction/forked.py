"""Children of a fork server, see fork_server.py, in the form of asyncio's own child processes."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress

from core.extraction.fork_server import MESSAGE, REFUSED, STARTED
from core.extraction.protocol import MAX_LINE_BYTES

SERVER_MODULE = "core.extraction.fork_server"
FILES_PER_SERVER = 200
"""A new server has another address layout and another hash seed than the children before it."""

ANSWER_SECONDS = 60.0
"""Importing the readers takes long on a busy machine."""


class Gone(Exception):
    """The fork server has ended, or can start no process."""


class _Pipe:
    """The writing end of a pipe that takes a whole request at once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def write(self, data: bytes) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, data)

    async def drain(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    async def wait_closed(self) -> None:
        """Nothing to wait for."""


class ForkedChild:
    """A process that the fork server has started; a signal never reaches another one with its number."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self.stdin: _Pipe | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.pages: asyncio.ReadTransport | None = None
        self._handle = handle
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    def kill(self) -> None:
        if not self._ended.done():
            with suppress(ProcessLookupError):  # it has ended, and the message that says so is on its way
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def close(self) -> None:
        """Close the pipe of the pages; uvloop keeps it open at its end."""
        if self.pages is not None:
            self.pages.close()

    def end(self, returncode: int) -> None:
        """The process has ended, as the server says."""
        if not self._ended.done():
            os.close(self._handle)
            if self.stdin is not None:
                self.stdin.close()
            self._ended.set_result(returncode)


class ForkServer:
    """The parent's side of one fork server. Its children end with it."""

    def __init__(self, process: Process, control: socket.socket) -> None:
        self.forks = 0
        self._process = process
        self._control = control
        self._children: dict[int, ForkedChild] = {}
        self._waiting: list[asyncio.Future[ForkedChild]] = []
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(control, self._receive)

    @classmethod
    async def start(cls, spawn: Callable[[int], Awaitable[Process]]) -> "ForkServer":
        """A server; `spawn` starts its process with this descriptor as standard input."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = await spawn(theirs.fileno())
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        return cls(process, ours)

    @staticmethod
    def is_possible() -> bool:
        """Whether this system supports a fork server; otherwise each child is started separately."""
        return sys.platform == "linux" and hasattr(os, "pidfd_open")

    @property
    def is_alive(self) -> bool:
        return self._control.fileno() >= 0

    @property
    def is_used_up(self) -> bool:
        """Whether another server should replace it, which is possible as soon as it has no children."""
        return self.forks >= FILES_PER_SERVER and not self._children

    async def fork(self) -> ForkedChild:
        """A child with pipes. Raises Gone if the server has ended or refuses, and OSError without pipes."""
        if not self.is_alive:
            raise Gone
        request, ours_in = os.pipe()
        try:
            ours_out, pages = os.pipe()
        except OSError:
            os.close(request)
            os.close(ours_in)
            raise
        stdin, output = _Pipe(ours_in), os.fdopen(ours_out, "rb")
        try:
            child = await self._ask(request, pages)
        except BaseException:
            stdin.close()
            output.close()
            raise
        finally:
            os.close(request)
            os.close(pages)
        child.stdin, child.stdout = stdin, asyncio.StreamReader(limit=MAX_LINE_BYTES)
        reading = asyncio.StreamReaderProtocol(child.stdout)
        try:
            child.pages, _ = await self._loop.connect_read_pipe(lambda: reading, output)
        except BaseException:
            output.close()
            child.kill()
            raise
        return child

    async def close(self) -> None:
        """Stop the server and its children."""
        self._stop()
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def _ask(self, *descriptors: int) -> ForkedChild:
        answer: asyncio.Future[ForkedChild] = self._loop.create_future()
        self._waiting.append(answer)
        try:
            socket.send_fds(self._control, [b"f"], descriptors)
        except OSError as error:
            self._waiting.remove(answer)
            if isinstance(error, ConnectionError):
                self._stop()
            raise Gone from error
        self.forks += 1
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            self._stop()
            raise Gone from None

    def _receive(self) -> None:
        try:
            message, handles, _, _ = socket.recv_fds(self._control, MESSAGE.size, 1)
        except BlockingIOError:
            return
        except OSError:
            message, handles = b"", []
        if not message:
            self._stop()
            return
        number, code = MESSAGE.unpack(message)
        if number == REFUSED:
            _settle(self._waiting.pop(0), Gone())
        elif code != STARTED:
            self._children.pop(number).end(code)
        elif handles:
            child = self._children[number] = ForkedChild(number, handles[0])
            _settle(self._waiting.pop(0), child)
        else:  # no descriptor was free here, so the kernel dropped the child's
            self._stop()

    def _stop(self) -> None:
        """The server has ended, or does now; the kernel kills its children."""
        if not self.is_alive:
            return
        self._loop.remove_reader(self._control)
        self._control.close()
        for answer in self._waiting:
            _settle(answer, Gone())
        for child in self._children.values():
            child.kill()
            child.end(-signal.SIGKILL)
        self._waiting.clear()
        self._children.clear()


def _settle(answer: "asyncio.Future[ForkedChild]", outcome: ForkedChild | Gone) -> None:
    if isinstance(outcome, Gone):
        if not answer.done():
            answer.set_exception(outcome)
    elif answer.done():
        outcome.kill()  # the caller has been cancelled
    else:
        answer.set_result(outcome)
