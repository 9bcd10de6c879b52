"""Fork servers for tests that start many: one process imports the readers, and forks each server.

Importing them takes 0.25 s of processor time, and a fork 5 ms.
"""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from core.extraction.fork_server import MESSAGE, STARTED
from core.extraction.subprocesses import ENVIRONMENT, MODULE
from devkit.shared_data import ROOT


class Forked:
    """A fork server in the form of asyncio's own processes, as `core.extraction.forked` uses it."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._handle = handle

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    async def wait(self) -> int:
        if self.returncode is None:
            await asyncio.to_thread(select.select, [self._handle], [], [])
            os.close(self._handle)
            self.returncode = -signal.SIGKILL
        return self.returncode


class ForkServers:
    """The process that has imported the readers."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def start(self, stdin: int) -> Forked:
        """A fork server with this control socket."""
        with open(os.devnull, "wb") as output:  # noqa: PTH123
            socket.send_fds(self._control, [b"f"], [stdin, output.fileno()])
        while True:
            message, handles, _, _ = socket.recv_fds(self._control, MESSAGE.size, 1)
            number, code = MESSAGE.unpack(message)
            if code == STARTED:  # otherwise it says that an earlier one has ended
                return Forked(number, handles[0])


@contextmanager
def importing_once() -> Iterator[ForkServers]:
    """Fork servers until the context ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]), **ENVIRONMENT}
    command = [*MODULE, "devkit.fork_servers"]
    with theirs:
        process = subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env=environment, start_new_session=True
        )
    with process, ours:
        yield ForkServers(ours)


if __name__ == "__main__":
    from core.extraction.fork_server import main

    main(main)
