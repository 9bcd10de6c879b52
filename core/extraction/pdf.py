"""PDF: one unit for each page, read with PDFium."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pypdfium2
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

from core.extraction.pages import Unit, UnitStream, clean, unreadable
from core.extraction.pdf_word_boxes import word_boxes

ABSENT_PAGES = 100
"""More missing pages at the end are an error in the page count."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_LINE_END_HYPHEN = re.compile("(?<!\\w)(\\w{0,40}+)[\x02\ufffe](?:\r\n)?(\\w{0,40})")


class LineEndHyphens:
    """Decides from the words seen so far whether a hyphen at a line end belongs to the word.

    PDFium replaces the hyphen and the line end by a control character: "in?network", "re?quires".
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def join(self, text: str) -> str:
        is_broken = "\x02" in text or "\ufffe" in text
        words = set(_WORD.findall((_LINE_END_HYPHEN.sub(" ", text) if is_broken else text).lower()))
        self._seen |= words
        for word in words:
            if "-" in word:
                self._seen.update(f"{left}-{right}" for left, right in pairwise(word.split("-")))
        return _LINE_END_HYPHEN.sub(self._join, text) if is_broken else text

    def _join(self, match: re.Match[str]) -> str:
        left, right = match.groups()
        halves = (left.lower(), right.lower())
        are_words = "".join(halves) not in self._seen and self._seen.issuperset(halves)
        return f"{left}-{right}" if are_words or "-".join(halves) in self._seen else left + right


def read(source: Path) -> UnitStream:
    """The visible pages: text outside the page box is left out."""
    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY)
        raise unreadable("encrypted" if locked else "corrupt") from error
    if len(document) == 0:
        raise unreadable("empty")
    return UnitStream(_pages(document), len(document))


def _pages(document: pypdfium2.PdfDocument) -> Iterator[Unit]:
    hyphens = LineEndHyphens()
    absent = 0
    for index in range(len(document)):
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
    text = ""
    try:
        drawn = page.get_textpage()
        text = clean(hyphens.join(drawn.get_text_bounded()))
        return Unit(text, boxes=word_boxes(page, drawn, text))
    except pypdfium2.PdfiumError:
        return Unit(text)
