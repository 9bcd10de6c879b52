"""The processes that a test has started, without those that were running before it."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

import psutil

from devkit.shared_data import ROOT

START_SECONDS = 240
"""A campaign has its servers by then on a busy machine; alone it takes 20 s."""
END_SECONDS = 120
"""A campaign ends by then on a busy machine: each server stops within 15 s, and a request within 60 s."""

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

    It is ended as soon as `is_under_way` is true of all children so far. They are killed at the end. Raises
    AssertionError, with what the program wrote, if it does not get so far or does not end.
    """
    found = set[psutil.Process]()
    with tempfile.TemporaryFile() as output, _started(arguments, output) as program:
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_under_way(found):
                assert time.monotonic() < deadline and program.poll() is None, _read(output)
                time.sleep(0.05)
                found |= set(psutil.Process(program.pid).children(recursive=True))
            program.send_signal(ended_by)
            try:
                program.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGABRT)
                with suppress(subprocess.TimeoutExpired):
                    program.wait(5)
                raise AssertionError(f"it goes on:\n{_read(output)}") from None
            _, left = psutil.wait_procs(found, 5)
            return [each for each in left if each.status() != psutil.STATUS_ZOMBIE]
        finally:
            for each in found:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            program.kill()


def _started(arguments: Sequence[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Python with these arguments; at SIGABRT it writes where each of its threads is."""
    command = [sys.executable, "-X", "faulthandler", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)


def _read(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode(errors="replace")


def is_tools_server(process: psutil.Process) -> bool:
    """Whether `orc serve` has started it as a tools server, whose own children can have the same command."""
    with suppress(psutil.Error):
        parent = process.parent()
        return "mcp_server" in process.cmdline() and parent is not None and "serve" in parent.cmdline()
    return False
