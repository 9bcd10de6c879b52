"""Lets a child process answer its parent, and end when its parent ends, even while its event loop hangs.

Standard input is a socket to the parent. Each question is a byte, which the event loop sends back. A watchdog
in C, which does not need the interpreter, ends the process if it has answered no question for a while.
"""

import asyncio
import faulthandler
import os
import sys
from collections.abc import Callable
from contextlib import suppress

HANG_SECONDS = 15.0
"""The longest that an event loop may be busy with one thing, on a very busy machine too."""
STOP_SECONDS = 5.0
"""For the work under way to be put back once the parent has ended."""


def hold_on(stop: Callable[[], object], *, hang_seconds: float = HANG_SECONDS) -> None:
    """Answer the parent from now on; call `stop` when it ends, and exit soon after that in any case.

    A process whose event loop hangs for `hang_seconds` exits, and writes where it hung.
    """
    loop, source = asyncio.get_running_loop(), sys.stdin.fileno()

    def answer() -> None:
        asked = b""
        with suppress(OSError):  # the parent was killed before it had read an answer
            asked = os.read(source, 1024)
        if asked:
            faulthandler.dump_traceback_later(hang_seconds, exit=True)
            with suppress(OSError):  # it has died just now
                os.write(source, asked)
            return
        loop.remove_reader(source)
        faulthandler.dump_traceback_later(STOP_SECONDS, exit=True)
        stop()

    loop.add_reader(source, answer)
