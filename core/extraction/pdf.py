"""PDF: one unit for each page, read with PDFium."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pypdfium2
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

from core.extraction.pages import Unit, UnitStream, clean, numbered_pages, unreadable
from core.extraction.pdf_layout import laid_out

ABSENT_PAGES = 100
"""More missing pages at the end are an error in the page count."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_LINE_END_HYPHEN = re.compile("(?<!\\w)(\\w{0,40}+)[\x02\ufffe](?:\r\n)?(\\w{0,40})")
_GERMAN_CONJUNCTIONS = frozenset("und oder sowie bzw".split())


class LineEndHyphens:
    """Decides from the words seen so far whether a hyphen at a line end belongs to the word.

    PDFium replaces the hyphen and the line end by a control character: "in?network", "re?quires".
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._unread: list[str] = []

    def join(self, text: str) -> str:
        if "\x02" not in text and "\ufffe" not in text:
            self._unread.append(text)
            return text
        self._unread.append(_LINE_END_HYPHEN.sub(" ", text))
        self._read_words()
        return _LINE_END_HYPHEN.sub(self._join, text)

    def _read_words(self) -> None:
        """Note the words of the pages so far. Many files never need them."""
        words = set(_WORD.findall("\n".join(self._unread).lower()))
        self._unread.clear()
        self._seen |= words
        for word in words:
            if "-" in word:
                self._seen.update(f"{left}-{right}" for left, right in pairwise(word.split("-")))

    def _join(self, match: re.Match[str]) -> str:
        left, right = match.groups()
        halves = (left.lower(), right.lower())
        if right in _GERMAN_CONJUNCTIONS:  # `Sonn- und Feiertage`
            return f"{left}- {right}"
        are_words = "".join(halves) not in self._seen and self._seen.issuperset(halves)
        return f"{left}-{right}" if are_words or "-".join(halves) in self._seen else left + right


def read(source: Path, first: int = 1) -> UnitStream:
    """The visible pages from page `first`: text outside the page box is left out."""
    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY)
        raise unreadable("encrypted" if locked else "corrupt") from error
    if len(document) == 0:
        raise unreadable("empty")
    return UnitStream(numbered_pages(_pages(document, first), first), len(document))


def _pages(document: pypdfium2.PdfDocument, first: int) -> Iterator[Unit]:
    hyphens = LineEndHyphens()
    absent = 0
    for index in range(first - 1, len(document)):
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            absent += 1
            continue
        yield from (Unit("") for _ in range(absent))
        absent = 0
        try:
            yield _read_page(page, hyphens)
        finally:
            page.close()
    yield from (Unit("") for _ in range(absent if absent <= ABSENT_PAGES else 1))


def _read_page(page: pypdfium2.PdfPage, hyphens: LineEndHyphens) -> Unit:
    try:
        text, boxes = laid_out(page, page.get_textpage(), lambda drawn: clean(hyphens.join(drawn)))
        return Unit(text, boxes=boxes)
    except pypdfium2.PdfiumError:
        return Unit("")
