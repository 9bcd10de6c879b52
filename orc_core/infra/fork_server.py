"""Forks the children of sandbox.py, each from a process that has imported much and read no file.

The modules to import are its arguments. The control socket is standard input. A request of the parent is a
number of its choice, with the descriptor of a socket: the standard input and output of a new child; without
one, the child of that number is killed. The answer is the number with the child's process id, once it runs
and again, with its exit code, once it has ended. This process opens no file. It ends with its parent, and
its children with it.
"""

import gc
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from orc_core.infra import sandbox_child

REQUEST = struct.Struct("!q")
ANSWER = struct.Struct("!qii")
RUNS = 1 << 30
"""In the place of an exit code."""
ENDED_OTHERWISE = -signal.SIGTERM
"""The exit code of a child that could not be started, or whose server has ended."""

_CONTROL, _OUTPUT = 0, 1
_FIRST_FREE = 3


def main(work: Callable[[], None] = sandbox_child.main) -> None:
    """Fork children that do `work` until the parent closes the control socket."""
    control = socket.socket(fileno=os.dup(_CONTROL))
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in (_CONTROL, _OUTPUT):
        os.dup2(nothing, place)
    for module in sys.argv[1:]:
        import_module(module)
    gc.freeze()  # a collection in a child would copy all of this memory
    # A parent that ends with an answer unread resets the socket.
    with suppress(ConnectionResetError):
        _Server(control, work).serve()


class _Server:
    def __init__(self, control: socket.socket, work: Callable[[], None]) -> None:
        self._control = control
        self._work = work
        self._children: dict[int, tuple[int, int]] = {}
        """The number and the process id by the descriptor of the process."""
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> None:
        while True:
            for ready, _ in self._poll.poll():
                if ready in self._children:
                    self._report_end(ready)
                    continue
                message, descriptors, _, _ = socket.recv_fds(self._control, REQUEST.size, 1)
                if not message:
                    return
                (number,) = REQUEST.unpack(message)
                if descriptors:
                    self._fork(number, descriptors[0])
                else:
                    self._kill(number)

    def _fork(self, number: int, descriptor: int) -> None:
        parent = os.getpid()
        try:
            process = os.fork()
        except OSError:
            self._answer(number, 0, ENDED_OTHERWISE)
            return
        finally:
            if os.getpid() == parent:
                os.close(descriptor)
        if process == 0:
            _become_child(parent, descriptor, self._work)
        handle = os.pidfd_open(process)
        self._children[handle] = number, process
        self._poll.register(handle, select.POLLIN)
        self._answer(number, process, RUNS)

    def _kill(self, number: int) -> None:
        for handle, (other, _) in self._children.items():
            if other == number:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return
        self._answer(number, 0, ENDED_OTHERWISE)  # it has ended, or its descriptor was lost on the way

    def _report_end(self, handle: int) -> None:
        number, process = self._children.pop(handle)
        self._poll.unregister(handle)
        os.close(handle)
        _, status = os.waitpid(process, 0)
        self._answer(number, process, os.waitstatus_to_exitcode(status))

    def _answer(self, number: int, process: int, code: int) -> None:
        self._control.send(ANSWER.pack(number, process, code))


def _become_child(parent: int, descriptor: int, work: Callable[[], None]) -> None:
    """Do the work in a separate session, with one socket and nothing else of the server."""
    try:
        sandbox_child.end_with_parent()
        if os.getppid() != parent:
            return  # it has ended before the line above
        os.setsid()
        for place in (_CONTROL, _OUTPUT):
            os.dup2(descriptor, place)
        os.closerange(_FIRST_FREE, os.sysconf("SC_OPEN_MAX"))
        work()
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
