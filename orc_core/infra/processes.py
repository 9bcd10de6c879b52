"""Child processes: one that is cancelled while it starts is ended, and one whose parent ends ends too."""

import asyncio
import faulthandler
import os
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from orc_core.errors import Unavailable
from orc_core.infra.exhaustion import exhausted

PYTHON = (sys.executable, "-P", "-X", "utf8", "-m")
"""The command that runs one of our modules; the module name follows."""
ENVIRONMENT = {
    # Otherwise PDFium's memory is returned to the kernel after each page and requested again.
    "MALLOC_TRIM_THRESHOLD_": str(256 * 1024 * 1024),
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),
    # numpy multiplies no matrices here, and needs no threads for it.
    "OPENBLAS_NUM_THREADS": "1",
}
"""Of children, on systems that know it. It must have no secret: a hostile file could read it."""

_ROOT = Path(__file__).parents[2]
T = TypeVar("T")


async def started(
    command: Sequence[str], stdin: int, stdout: int, settings: Mapping[str, str] | None = None
) -> Process:
    """A process with only `settings` and the import path in its environment.

    If this is cancelled, the process is ended before that is raised. Raises Unavailable.
    """
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=stdout,
            stderr=DEVNULL,
            env={
                "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)]),
                **ENVIRONMENT,
                **(settings or {}),
            },
            start_new_session=True,  # otherwise Ctrl-C would look like a damaged file
        )
    )
    try:
        return await finished(starting)
    except asyncio.CancelledError:
        if not starting.cancelled() and starting.exception() is None:
            starting.result().kill()
            await finished(asyncio.ensure_future(starting.result().wait()))
        raise
    except OSError as error:
        raise cannot_start(error) from error


async def finished(task: "asyncio.Future[T]") -> T:
    """The result of a task that a cancellation does not end; the cancellation is raised after it."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


def cannot_start(error: OSError) -> Exception:
    """The error for a system that gives no process or descriptor."""
    return exhausted(error) or Unavailable("No process can be started right now. Try again.")


HANG_SECONDS = 15.0
"""The longest that an event loop may be busy with one thing, on a very busy machine too."""
STOP_SECONDS = 5.0
"""For the work under way to be put back once the parent has ended."""


def hold_on(stop: Callable[[], object], *, hang_seconds: float = HANG_SECONDS) -> None:
    """Answer the parent from now on; call `stop` when it ends, and exit soon after that in any case.

    Standard input is a socket to the parent. Each question is a byte, which the event loop sends back. A
    watchdog in C, which needs no interpreter, ends the process if it has answered no question for a while.
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
