"""The processes that a test has started, without those that were running before it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from devkit.shared_data import ROOT

_earlier: set[psutil.Process] = set()


def ignore_running_children() -> None:
    """Leave the children that run now out of `children`: servers that tests share."""
    _earlier.clear()
    _earlier.update(psutil.Process().children(recursive=True))


def children(*, recursive: bool = False) -> list[psutil.Process]:
    """Running children of this process that were started since `ignore_running_children`."""
    found = psutil.Process().children(recursive=recursive)
    return [child for child in found if child not in _earlier and child.is_running()]


def left_behind(
    arguments: Sequence[str], ended_by: signal.Signals, is_under_way: Callable[[set[psutil.Process]], bool]
) -> list[psutil.Process]:
    """Run Python with these arguments and end it by a signal; its child processes that go on running.

    It is ended as soon as `is_under_way` is true of all children so far. They are killed at the end.
    """
    command, quiet, found = [sys.executable, *arguments], subprocess.DEVNULL, set[psutil.Process]()
    with subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet) as program:
        try:
            deadline = time.monotonic() + 120
            while not is_under_way(found):
                assert time.monotonic() < deadline and program.poll() is None
                time.sleep(0.05)
                found |= set(psutil.Process(program.pid).children(recursive=True))
            program.send_signal(ended_by)
            program.wait(60)
            _, left = psutil.wait_procs(found, 5)
            return [each for each in left if each.status() != psutil.STATUS_ZOMBIE]
        finally:
            for each in found:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            program.kill()


def is_tools_server(process: psutil.Process) -> bool:
    """Whether `orc serve` has started it as a tools server, whose own children can have the same command."""
    with suppress(psutil.Error):
        parent = process.parent()
        return "mcp_server" in process.cmdline() and parent is not None and "serve" in parent.cmdline()
    return False
