"""Renders the pages of a file in a child process, because decoding a hostile file can do harm."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from orc_core.extraction.extractor import refusal
from orc_core.extraction.pages import unreadable
from orc_core.infra.sandbox import Ended, Limits, Run, Sandbox

Form = Literal["pgm", "png"]
PAGE_SECONDS = 30.0
"""Of processor time, for one page."""
DRAW = "orc_core.extraction.drawing:draw_in_grey"


class Picture(NamedTuple):
    """A page as the bytes of an image file; empty if it cannot be drawn."""

    page: int
    content: bytes


class Renderer:
    """Renders files, each within `memory_bytes` and `seconds`."""

    def __init__(self, sandbox: Sandbox, *, seconds: float, memory_bytes: int, function: str = DRAW) -> None:
        """`function` is replaced in tests only."""
        self._sandbox = sandbox
        self._limits = Limits(memory_bytes, step=PAGE_SECONDS, share=PAGE_SECONDS, most=seconds, wall=seconds)
        self._function = function

    @asynccontextmanager
    async def draw(
        self, source: Path, media_type: str, pages: Sequence[int], form: Form = "pgm"
    ) -> AsyncIterator[AsyncIterator[Picture]]:
        """Images of these pages, rendered on demand; those of a PDF are always PGM files.

        Raises UnreadableDocument if the file cannot be rendered. Leaving the context ends the child.
        """
        arguments = {"path": source, "media_type": media_type, "pages": list(pages), "form": form}
        try:
            async with self._sandbox.run(self._function, self._limits, [source], **arguments) as run:
                yield _pictures(run)
        except Ended as ended:
            raise refusal(ended) from ended


async def _pictures(run: Run) -> AsyncIterator[Picture]:
    async for message in run:
        page = message.fields.get("page")
        if not isinstance(page, int):
            raise unreadable("corrupt")
        yield Picture(page, message.content)
