"""The port of OCR engines."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from orc_core.extraction.formats import Format

MEDIA_TYPES = frozenset(kind.media_type for kind in Format if kind is Format.PDF or kind.is_image)
"""Files with pages that can be rendered as images."""


class OcrPage(NamedTuple):
    """The result for one page. `problem` tells people why there is no text."""

    number: int
    text: str = ""
    confidence: float | None = None
    """The mean over the text, 0 to 1; None if the engine reports none."""
    problem: str = ""
    boxes: bytes = b""
    """The positions of the words of `text` on the page, see word_boxes.py; b"" if unknown."""


DAMAGED = "the file is damaged there"
"""The problem of a page that cannot be rendered."""

Found = Callable[[OcrPage], None]
"""Called once for each page as soon as it has been read, in any order."""


class Ocr(Protocol):
    """An OCR engine."""

    @property
    def name(self) -> str:
        """The name shown to people."""

    async def read_pages(self, source: Path, media_type: str, pages: Sequence[int], found: Found) -> None:
        """Read these pages (from 1) of a file of one of MEDIA_TYPES.

        Raises DocumentRejected for a file that it cannot open, and Unavailable if it cannot work now.
        Pages that were reported before remain valid.
        """

    async def ping(self) -> None:
        """Raise DependencyDown if the engine cannot be used now."""

    async def close(self) -> None:
        """Stop; pending calls raise Unavailable."""
