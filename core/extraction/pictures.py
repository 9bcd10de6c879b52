"""Draws a page in colour in a confined child process: a hostile file costs its child only."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from core.errors import OrcError, Unavailable
from core.extraction.images import IMAGE_FORMATS
from core.extraction.pages import unreadable
from core.extraction.protocol import GarbageOutput, read_header
from core.extraction.subprocesses import MODULE, Children, is_from_outside, request_line, send
from core.extraction.watch import TimeLimits, Verdict, watched

PICTURED = frozenset({"application/pdf", *IMAGE_FORMATS})
"""Media types of files whose pages can be drawn."""
MEMORY_BYTES = 512 * 1024 * 1024
TIMES = TimeLimits(page=10.0, most=10.0, idle=20.0, wall=60.0)
PROCESSES = 2
"""Pages that one process draws at the same time."""
MAX_BYTES = 32 * 1024 * 1024

_WORKER = (*MODULE, "core.extraction.picture_child")

log = logging.getLogger(__name__)


class Drawer(Protocol):
    """Draws pages of files."""

    async def draw(self, source: Path, media_type: str, page: int, width: int) -> bytes:
        """The page (from 1) of a file of a type in PICTURED, as a WebP file of at most this width.

        Empty if there is no such page, or if it cannot be drawn. Raises UnreadableDocument, and Unavailable
        if the machine was too busy.
        """


class PageDrawer:
    """Draws pages, at most PROCESSES at a time, each within limits of time and memory."""

    def __init__(self, *, times: TimeLimits = TIMES, worker: Sequence[str] = _WORKER) -> None:
        """`worker`: the command that starts a child; replaced in tests only."""
        self._times = times
        self._worker = worker
        self._slots = asyncio.Semaphore(PROCESSES)
        self._children = Children()

    async def draw(self, source: Path, media_type: str, page: int, width: int) -> bytes:
        """As Drawer.draw. The limits do not include waiting for a free process."""
        options = {"media_type": media_type, "page": page, "width": width}
        request = request_line(source, MEMORY_BYTES, self._times.page, **options)
        async with self._slots:
            async with (
                self._children.start(*self._worker) as process,
                watched(process, self._times) as watch,
            ):
                await send(process, request)
                try:
                    drawn = await _read_picture(process)
                except GarbageOutput as error:
                    log.warning("picture.garbage reason=%s", error)
                    raise unreadable("corrupt") from error
                except asyncio.IncompleteReadError:
                    returncode = await process.wait()
                    log.warning("picture.child_died returncode=%s", returncode)
                    raise self._death(watch.verdict, returncode) from None
            self._children.prepare(*self._worker)
        return drawn

    def _death(self, verdict: Verdict | None, returncode: int) -> OrcError:
        """The error for a child that drew nothing: of the file, or of a machine that is too busy for it."""
        if verdict is Verdict.SLOW_PAGE:
            return unreadable("too_slow")
        if verdict is Verdict.TOO_SLOW or is_from_outside(returncode):
            return Unavailable("The picture could not be drawn now. Try again.")
        return self._children.death(returncode)

    async def close(self) -> None:
        """Stop all children."""
        await self._children.close()


async def _read_picture(process: Process) -> bytes:
    """The bytes of the picture. Raises IncompleteReadError if the child has died."""
    assert process.stdout is not None
    length = (await read_header(process.stdout)).get("bytes")
    if not isinstance(length, int) or not 0 <= length <= MAX_BYTES:
        raise GarbageOutput("a picture of an impossible size")
    return await process.stdout.readexactly(length)
