"""The port of engines that read pictures of pages."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from core.extraction.sniffing import IMAGES, Format

MEDIA_TYPES = frozenset(kind.value for kind in {Format.PDF, *IMAGES})
"""The files whose pages can be looked at as pictures."""


class OcrPage(NamedTuple):
    """What an engine read on one page. `problem` says, in words for people, why it read nothing."""

    number: int
    text: str = ""
    confidence: float | None = None
    """The mean over the text, 0 to 1; None where the engine does not say."""
    problem: str = ""


DAMAGED = "the file is damaged there"
"""The problem of a page whose picture cannot be made."""

Found = Callable[[OcrPage], None]
"""Called with each page once, as soon as it has been read, in any order."""


class Ocr(Protocol):
    """An engine."""

    @property
    def name(self) -> str:
        """What to call it towards people."""

    async def read_pages(self, source: Path, media_type: str, pages: Sequence[int], found: Found) -> None:
        """Read these pages (from 1) of a file of one of MEDIA_TYPES.

        Raises DocumentRejected for a file that it cannot open, and Unavailable where it cannot work now.
        Pages that were found before stay good.
        """

    async def ping(self) -> None:
        """Raise DependencyDown unless the engine can be used now."""

    async def close(self) -> None:
        """Stop what is going on; whoever waits for it gets Unavailable."""
