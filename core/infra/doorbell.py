"""Lets processes of one machine wait for each other without looking all the time."""

import asyncio
import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_ATTRIBUTES = 0x4
"""What inotify calls a change of the times of a file."""
_EVENT_BYTES = 4096
SECONDS_WITHOUT = 0.03
"""How long `wait` takes at most on systems that report no changes of files."""


class Doorbell:
    """A file that a process touches when there may be work, and that others watch.

    A ring can be lost, for one if the system watches no more files. So those who wait also look from time to
    time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rung = asyncio.Event()
        self._watch: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def ring(self) -> None:
        """End the present or the next wait of the others."""
        with suppress(OSError):
            self._path.touch()

    async def wait(self, seconds: float) -> None:
        """Return as soon as it has rung since the last call, at the latest after so many seconds."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._begin(self._loop)
        if self._watch is None:
            await asyncio.sleep(min(seconds, SECONDS_WITHOUT))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()

    def close(self) -> None:
        """Stop watching."""
        if self._watch is not None and self._loop is not None:
            self._loop.remove_reader(self._watch)
            os.close(self._watch)
            self._watch = None

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ring()  # which makes the file
        if sys.platform != "linux":
            return
        kernel = ctypes.CDLL(None)
        watch = kernel.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if watch < 0:
            return
        if kernel.inotify_add_watch(watch, os.fsencode(self._path), _ATTRIBUTES) < 0:
            os.close(watch)
            return
        self._watch = watch
        loop.add_reader(watch, self._hear, watch)

    def _hear(self, watch: int) -> None:
        with suppress(BlockingIOError):
            os.read(watch, _EVENT_BYTES)
        self._rung.set()
