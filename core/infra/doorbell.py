"""Lets processes of one machine wait for each other."""

import asyncio
import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_ATTRIBUTES = 0x4
"""The event of inotify for a change of the times of a file, or of the number of its names."""
_EVENT_BYTES = 4096
SECONDS_WITHOUT = 0.03
"""How long `wait` takes at most if the file cannot be watched, as on systems without inotify."""


class Doorbell:
    """A file that a process touches when there may be work, and that other processes watch.

    A ring can be lost, for example if the file is removed. So a process that waits has to look for work from
    time to time too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rung = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch: int | None = None
        self._watched: int | None = None

    def ring(self) -> None:
        """End the present or the next wait of the others."""
        with suppress(OSError):
            self._path.touch()

    async def wait(self, seconds: float) -> None:
        """Return as soon as it has rung since the last call, at the latest after `seconds`.

        A file that was removed or replaced since the last call is made and watched again.
        """
        if not self._watches_present_file():
            self.close()
            self._begin()
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
        if self._watched is not None:
            os.close(self._watched)
        self._watch = self._watched = None

    def _watches_present_file(self) -> bool:
        """Whether the watched file, which is kept open, is still the one of that name."""
        if self._watched is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._watched), self._path.stat())
        except OSError:
            return False

    def _begin(self) -> None:
        """Make the file and watch it, if that is possible."""
        if sys.platform != "linux":
            return
        self.ring()
        with suppress(OSError):
            self._watched = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            kernel = ctypes.CDLL(None)
            watch = kernel.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if watch >= 0 and kernel.inotify_add_watch(watch, os.fsencode(self._path), _ATTRIBUTES) >= 0:
                self._watch, self._loop = watch, asyncio.get_running_loop()
                self._loop.add_reader(watch, self._hear, watch)
            elif watch >= 0:
                os.close(watch)

    def _hear(self, watch: int) -> None:
        with suppress(BlockingIOError):
            os.read(watch, _EVENT_BYTES)
        self._rung.set()
