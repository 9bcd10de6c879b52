"""Draws a page in colour in a confined child process: a hostile file costs its child only."""

import asyncio
from pathlib import Path

from orc_core.errors import Unavailable
from orc_core.extraction.extractor import refusal
from orc_core.extraction.images import IMAGE_FORMATS
from orc_core.infra.sandbox import Ended, Limits, Reason, Sandbox

PICTURED = frozenset({"application/pdf", *IMAGE_FORMATS})
"""Media types of files whose pages can be drawn."""
LIMITS = Limits(512 * 1024 * 1024, step=10.0, most=10.0, idle=20.0, wall=60.0)
PROCESSES = 2
"""Pages that one process draws at the same time."""
DRAW = "orc_core.extraction.drawing:draw_in_colour"


class PageDrawer:
    """Draws pages, at most PROCESSES at a time, each within limits of time and memory."""

    def __init__(self, sandbox: Sandbox, *, limits: Limits = LIMITS, function: str = DRAW) -> None:
        """`function` is replaced in tests only."""
        self._sandbox = sandbox
        self._limits = limits
        self._function = function
        self._slots = asyncio.Semaphore(PROCESSES)

    async def draw(self, source: Path, media_type: str, page: int, width: int) -> bytes:
        """The page (from 1) of a file of a type in PICTURED, as a WebP file of at most this width.

        Empty if there is no such page, or if it cannot be drawn. Raises UnreadableDocument, and Unavailable
        if the machine was too busy. The limits do not include waiting for a free process.
        """
        arguments = {"path": source, "media_type": media_type, "page": page, "width": width}
        try:
            async with (
                self._slots,
                self._sandbox.run(self._function, self._limits, [source], **arguments) as run,
            ):
                return (await anext(run)).content
        except Ended as ended:
            if ended.reason in {Reason.IDLE, Reason.KILLED}:
                raise Unavailable("The picture could not be drawn now. Try again.") from ended
            raise refusal(ended) from ended
