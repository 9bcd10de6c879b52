"""The child process of text_processes.py: runs pickled functions, one at a time, each with a deadline.

Requests and outcomes are pickles, each after its length. An outcome is a pair: the function's result, and the
exception that it raised or None. The kernel ends the process at a function's limit of processor time, and a
thread of faulthandler at its limit on the clock, if no kernel ends it with its parent.
"""

import ctypes
import faulthandler
import os
import pickle
import signal
import struct
import sys
from importlib import import_module
from typing import BinaryIO

from core.infra.priority import give_way

LENGTH = struct.Struct("!Q")


_PR_SET_PDEATHSIG = 1
AT_DEADLINE = -getattr(signal, "SIGPROF", 0)
"""The exit code of a child whose function has used up its processor time."""


def main() -> None:
    """Serve requests until standard input ends."""
    source = sys.stdin.buffer
    _end_with_parent()
    give_way()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not mix with outcomes
    for module in sys.argv[1:]:
        import_module(module)
    while header := source.read(LENGTH.size):
        _send(output, _answer(source.read(*LENGTH.unpack(header))))


def _end_with_parent() -> None:
    """Have the kernel end this process with its parent, even during a function; elsewhere its limits do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _answer(request: bytes) -> bytes:
    try:
        function, arguments, processor, wall = pickle.loads(request)
        _set_deadline(processor, wall)
        return pickle.dumps((function(*arguments), None), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _failure(error)
    finally:
        _set_deadline(0, 0)


def _failure(error: Exception) -> bytes:
    try:
        failed = pickle.dumps((None, error))
        pickle.loads(failed)
    except Exception:
        # Some exceptions cannot be pickled, or not be restored.
        return pickle.dumps((None, RuntimeError(type(error).__name__)))
    return failed


def _set_deadline(processor: float, wall: float) -> None:
    """Seconds from now after which the process ends; 0 for none."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, processor)
    if sys.platform == "linux":
        return  # the parent has a clock, and the kernel ends this process with it
    if wall:
        faulthandler.dump_traceback_later(wall, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def _send(output: BinaryIO, message: bytes) -> None:
    output.write(LENGTH.pack(len(message)))
    output.write(message)
    output.flush()


if __name__ == "__main__":
    main()
