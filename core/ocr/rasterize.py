"""Renders the pages of a file in a child process, because decoding a hostile file can do harm."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from core.extraction.pages import unreadable
from core.extraction.protocol import GarbageOutput, read_header
from core.extraction.subprocesses import MODULE, Children, request_line, send
from core.extraction.watch import TimeLimits, watched
from core.ocr.rasterize_child import Picture

Form = Literal["pgm", "png"]
PICTURE_TIMES = TimeLimits(page=30.0, most=30.0, wall=600.0)
"""Limits for one page. The child waits while the consumer reads the images."""

MAX_PICTURE_BYTES = 64 * 1024 * 1024

_WORKER = (*MODULE, "core.ocr.rasterize_child")

_log = logging.getLogger(__name__)


class Renderer:
    """Renders files, each within `memory_bytes` and `seconds` of CPU time."""

    def __init__(
        self, *, seconds: float, memory_bytes: int, children: Children, worker: Sequence[str] = _WORKER
    ) -> None:
        """`worker`: the command that starts a child; replaced in tests only."""
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._children = children
        self._worker = worker

    @asynccontextmanager
    async def draw(
        self, source: Path, media_type: str, pages: Sequence[int], form: Form = "pgm"
    ) -> AsyncIterator[AsyncIterator[Picture]]:
        """Images of these pages, rendered on demand; those of a PDF are always PGM files.

        Raises UnreadableDocument if the file cannot be rendered. Leaving the context ends the child.
        """
        options = {"media_type": media_type, "pages": list(pages), "form": form}
        async with self._children.start(*self._worker) as process:
            await send(process, request_line(source, self._memory_bytes, self._seconds, **options))
            pictures = self._pictures(process)
            try:
                yield pictures
            finally:
                await pictures.aclose()

    async def _pictures(self, process: Process) -> AsyncGenerator[Picture]:
        while (picture := await self._next(process)) is not None:
            yield picture

    async def _next(self, process: Process) -> Picture | None:
        async with watched(process, PICTURE_TIMES) as watch:
            try:
                return await _read_picture(process)
            except GarbageOutput as error:
                _log.warning("ocr.garbage reason=%s", error)
                raise unreadable("corrupt") from error
            except asyncio.IncompleteReadError:
                returncode = await process.wait()
        raise unreadable("too_slow") if watch.verdict else self._children.death(returncode)


async def _read_picture(process: Process) -> Picture | None:
    """The next image, or None after the last. Raises IncompleteReadError if the child has died."""
    assert process.stdout is not None
    header = await read_header(process.stdout)
    if "done" in header:
        return None
    page, length = header.get("page"), header.get("bytes")
    if not isinstance(page, int) or not isinstance(length, int) or not 0 <= length <= MAX_PICTURE_BYTES:
        raise GarbageOutput("an image of an impossible size")
    return Picture(page, await process.stdout.readexactly(length))
