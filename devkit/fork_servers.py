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

from devkit.shared_data import ROOT
from orc_core.extraction.extractor import PRELOADED
from orc_core.infra.fork_server import ANSWER, REQUEST, RUNS
from orc_core.infra.processes import ENVIRONMENT, PYTHON


class Forked:
    """A fork server in the form of asyncio's own processes, as `orc_core.infra.forks` uses it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._handle = os.pidfd_open(pid)

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
        self._started = 0

    def start(self, stdin: int) -> Forked:
        """A fork server with this control socket."""
        self._started += 1
        socket.send_fds(self._control, [REQUEST.pack(self._started)], [stdin])
        while True:
            number, pid, code = ANSWER.unpack(self._control.recv(ANSWER.size))
            if number == self._started and code == RUNS:  # otherwise an earlier one has ended
                return Forked(pid)


@contextmanager
def importing_once() -> Iterator[ForkServers]:
    """Fork servers until the context ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]), **ENVIRONMENT}
    command = [*PYTHON, "devkit.fork_servers", *PRELOADED]
    with theirs:
        process = subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env=environment, start_new_session=True
        )
    with process, ours:
        yield ForkServers(ours)


if __name__ == "__main__":
    from orc_core.infra.fork_server import main

    main(main)
