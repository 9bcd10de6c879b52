"""The parent's side of a fork server, see fork_server.py: its children in the form of asyncio's own."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress

from orc_core.infra.fork_server import ANSWER, ENDED_OTHERWISE, REQUEST, RUNS

FORKS_PER_SERVER = 200
"""A new server has another address layout and another hash seed than the children before it."""
ANSWER_SECONDS = 60.0
"""A server that has not ended a child by then hangs. Importing takes long on a busy machine."""


class Gone(Exception):
    """The fork server has ended."""


class Fork:
    """A process that the fork server starts. `pid` is 0 until it runs."""

    def __init__(self, send_kill: Callable[[], object], give_up: Callable[[], object]) -> None:
        self.pid = 0
        self._send_kill = send_kill
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._late: asyncio.TimerHandle | None = None

    @property
    def returncode(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    def kill(self) -> None:
        if not self._ended.done() and self._late is None:
            self._late = self._loop.call_later(ANSWER_SECONDS, self._give_up)
            self._send_kill()

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def end(self, returncode: int) -> None:
        """The process has ended, as the server says."""
        if self._late is not None:
            self._late.cancel()
        self._ended.set_result(returncode)


class ForkServer:
    """One fork server. Its children end with it."""

    def __init__(self, process: Process, control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._forks: dict[int, Fork] = {}
        self._started = 0
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
    def is_usable(self) -> bool:
        """Whether it runs and has not started too many children; one that still has some goes on."""
        return self._control.fileno() >= 0 and (self._started < FORKS_PER_SERVER or bool(self._forks))

    def fork(self, descriptor: int) -> Fork:
        """A child with this socket as its standard input and output. Raises Gone."""
        number = self._started + 1
        try:
            socket.send_fds(self._control, [REQUEST.pack(number)], [descriptor])
        except OSError as error:
            self.stop()
            raise Gone from error
        self._started = number
        self._forks[number] = Fork(lambda: self._send_kill(number), self.stop)
        return self._forks[number]

    async def close(self) -> None:
        """Stop the server and its children."""
        self.stop()
        await self._process.wait()

    def stop(self) -> None:
        """Kill the server if it runs; the kernel then kills its children."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        if self._control.fileno() < 0:
            return
        self._loop.remove_reader(self._control)
        self._control.close()
        for fork in self._forks.values():
            fork.end(ENDED_OTHERWISE)
        self._forks.clear()

    def _send_kill(self, number: int) -> None:
        try:
            self._control.send(REQUEST.pack(number))
        except OSError:
            self.stop()

    def _receive(self) -> None:
        try:
            answer = self._control.recv(ANSWER.size)
        except BlockingIOError:
            return
        except OSError:
            answer = b""
        if not answer:
            self.stop()
            return
        number, pid, code = ANSWER.unpack(answer)
        if (fork := self._forks.get(number)) is None:
            return  # it was killed just when it ended
        fork.pid = pid
        if code != RUNS:
            del self._forks[number]
            fork.end(code)
