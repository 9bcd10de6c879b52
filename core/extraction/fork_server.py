"""Forks the processes that read files, each from a process that has read none.

Importing the readers takes longer than reading most files, so it is done once. The control socket is
standard input. A message of the parent is one byte with two descriptors: where the child reads its request,
and where it writes its pages. The answer is the child's number with a descriptor of its process, and, once it
has ended, its number and exit code. This process opens no file. It ends with its parent, and its children
with it.
"""

import ctypes
import gc
import os
import select
import signal
import socket
import struct
from collections.abc import Callable
from importlib import import_module

from core.extraction import child

MESSAGE = struct.Struct("!qi")
"""The number of a child, and its exit code or STARTED."""
STARTED = 1 << 30
REFUSED = 0
"""In the place of a child's number: no process can be started."""

_PR_SET_PDEATHSIG = 1
_PRELOADED = ("pdf", "docx", "pptx", "spreadsheets", "odf", "rtf", "epub", "email", "html", "text", "images")
_CONTROL = 0
_FIRST_FREE = 3


def main(work: Callable[[], None] = child.main) -> None:
    """Fork children that do `work` until the parent closes the control socket."""
    control = socket.socket(fileno=os.dup(_CONTROL))
    os.dup2(os.open(os.devnull, os.O_RDWR), _CONTROL)
    for module in _PRELOADED:
        import_module(f"core.extraction.{module}")
    gc.freeze()  # a collection in a child would copy all of this memory
    serve(control, work)


def serve(control: socket.socket, work: Callable[[], None]) -> None:
    """Fork a child that does `work` for each message, and report the ends of children."""
    children: dict[int, int] = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in children:
                _report_end(control, ready, children.pop(ready), poll)
                continue
            message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
            if not message:
                return
            if (started := _fork(control, descriptors, work)) is not None:
                process, number = started
                children[process] = number
                poll.register(process, select.POLLIN)


def _fork(control: socket.socket, descriptors: list[int], work: Callable[[], None]) -> tuple[int, int] | None:
    """The descriptor and the number of a new child."""
    parent = os.getpid()
    try:
        number = os.fork()
    except OSError:
        control.send(MESSAGE.pack(REFUSED, 0))
        return None
    finally:
        if os.getpid() == parent:
            for descriptor in descriptors:
                os.close(descriptor)
    if number == 0:
        _become_child(parent, descriptors, work)
    process = os.pidfd_open(number)
    socket.send_fds(control, [MESSAGE.pack(number, STARTED)], [process])
    return process, number


def _become_child(parent: int, descriptors: list[int], work: Callable[[], None]) -> None:
    """Do the work in a separate session, with the two descriptors and nothing else of the server."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return  # it has ended before the line above
        os.setsid()
        for place, descriptor in enumerate(descriptors):
            os.dup2(descriptor, place)
        os.closerange(_FIRST_FREE, os.sysconf("SC_OPEN_MAX"))
        work()
    finally:
        os._exit(1)


def _report_end(control: socket.socket, process: int, number: int, poll: select.poll) -> None:
    poll.unregister(process)
    os.close(process)
    _, status = os.waitpid(number, 0)
    control.send(MESSAGE.pack(number, os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()
