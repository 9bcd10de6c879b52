"""Text extraction: a file in, the text of its pages out, read by a child process that can be killed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.extraction.models import Extraction
    from core.extraction.sandbox import Extractor

__all__ = ["Extraction", "Extractor"]


def __getattr__(name: str) -> object:
    """Load the public names on first use.

    The child process imports this package too, and pydantic would more than double its start.
    """
    if name == "Extraction":
        from core.extraction.models import Extraction

        return Extraction
    if name == "Extractor":
        from core.extraction.sandbox import Extractor

        return Extractor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
