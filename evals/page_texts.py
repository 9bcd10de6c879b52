"""The text of PDF pages by a library that the product does not use, and whether it contains a quote."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pypdf import PdfReader

_HYPHENS = "-\u2010\u2011\u00ad"


class PageTexts:
    """Looks quotes up in the PDFs of these names; each page is read once."""

    def __init__(self, documents: Mapping[str, Path]) -> None:
        self._documents = documents
        self._page = cache(self._read)

    def has(self, file: str, page: int, quote: str) -> bool | None:
        """Whether the page contains the quote; None for another file, and behind the last page of a PDF.

        Spaces, line breaks, hyphens and the forms of ligatures do not count; every other character does.
        """
        if self._documents[file].suffix.lower() != ".pdf":
            return None
        text = self._page(file, page)
        return None if text is None else bare(quote) in text

    def _read(self, file: str, page: int) -> str | None:
        pages = PdfReader(self._documents[file]).pages
        return bare(pages[page - 1].extract_text()) if page <= len(pages) else None


def bare(text: str) -> str:
    """The characters that have to be the same: no blanks, no hyphens, ligatures taken apart."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(character for character in plain if not (character.isspace() or character in _HYPHENS))
