"""PDF: one unit for each page, read with PDFium."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path

import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.character_maps import is_mapped_wrongly
from orc_core.extraction.pages import Unit, UnitStream, clean, numbered_pages, unreadable
from orc_core.extraction.pdf_annotations import (
    NOT_READ,
    as_lines,
    attached_pdfs,
    read_additions,
    text_of,
    unread_parts,
)
from orc_core.extraction.pdf_layers import leave_out_hidden, objects_of
from orc_core.extraction.pdf_layout import laid_out
from orc_core.extraction.pdf_struck import MOST_OBJECTS, drawn_lines
from orc_core.extraction.pdf_word_boxes import text_inside
from orc_core.extraction.properties import count_of, sentence_of

ABSENT_PAGES = 100
"""More missing pages at the end are an error in the page count."""
MOST_ATTACHED = 300
"""Pages of attached files: the time that a file may take grows with its own pages only."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_LINE_END_HYPHEN = re.compile("(?<!\\w)(\\w{0,40}+)[\x02\ufffe](?:\r\n)?(\\w{0,40})")
_GERMAN_CONJUNCTIONS = frozenset("und oder sowie bzw".split())


class LineEndHyphens:
    """Decides from the words seen so far whether a hyphen at a line end belongs to the word.

    PDFium replaces the hyphen and the line end by a control character: "in?network", "re?quires". Many files
    have none, so words are read when they are needed.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        """`earlier`: the texts of earlier pages, which are read once at most."""
        self._earlier = earlier
        self._seen: set[str] = set()
        self._unread: list[str] = []

    def note(self, text: str) -> None:
        """Take a page's words into account from now on."""
        self._unread.append(text)

    def join(self, text: str) -> str:
        """The text with whole words at its line ends."""
        if not _has_hyphen(text):
            return text
        self._read_words()
        return _LINE_END_HYPHEN.sub(self._join, text)

    def _read_words(self) -> None:
        earlier, self._earlier = self._earlier, ()
        texts = [*earlier, *self._unread]
        parts = (_LINE_END_HYPHEN.sub(" ", text) if _has_hyphen(text) else text for text in texts)
        words = set(_WORD.findall("\n".join(parts).lower()))
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


def _has_hyphen(text: str) -> bool:
    return "\x02" in text or "\ufffe" in text


def read(source: Path, first: int = 1, *, with_earlier_words: bool = False) -> UnitStream:
    """The visible pages from page `first`, with fields and notes: text outside the page box is left out.

    The pages of PDFs within the PDF follow.

    `with_earlier_words`: whether words of the pages before `first` decide about hyphens, too.
    """
    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        raise unreadable("encrypted" if locked else "corrupt") from error
    if len(document) == 0:
        raise unreadable("empty")
    if document.get_formtype():
        document.init_forms()
    hyphens = LineEndHyphens(_texts(document, first - 1) if with_earlier_words else ())
    title, author = map(document.get_metadata_value, ("Title", "Author"))
    properties = sentence_of(title, author, count_of(len(document), "page"))
    return UnitStream(numbered_pages(_pages(document, first, hyphens), first), len(document), properties)


def _texts(document: pypdfium2.PdfDocument, count: int) -> Iterator[str]:
    """The texts of the first pages as PDFium orders them."""
    for index in range(count):
        with suppress(pypdfium2.PdfiumError), closing(document[index]) as page:
            yield text_inside(page, page.get_textpage())


def _pages(document: pypdfium2.PdfDocument, first: int, hyphens: LineEndHyphens) -> Iterator[Unit]:
    absent = 0
    unread = list(unread_parts(document))
    for index in range(first - 1, len(document)):
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            absent += 1
            continue
        yield from (Unit("") for _ in range(absent))
        absent = 0
        try:
            unit, *fields = _read_page(page, hyphens, unread if index == len(document) - 1 else ())
            printed = text_of(partial(raw.FPDF_GetPageLabel, document.raw, index))
            yield unit if printed == str(index + 1) else unit._replace(label=printed)
            yield from (each._replace(label=f"Page {index + 1} (fields)") for each in fields)
        finally:
            page.close()
    yield from (Unit("") for _ in range(absent if absent <= ABSENT_PAGES else 1))
    if first <= len(document):  # otherwise they have been read
        attached = chain.from_iterable(_attached_pages(*each) for each in attached_pdfs(document))
        yield from islice(attached, MOST_ATTACHED)
        if next(attached, None):
            yield Unit("Further pages of attached files were not read.", "Attached files", follows=True)


def _attached_pages(name: str, content: bytes) -> Iterator[Unit]:
    """The pages of an attached PDF with text; what is attached to it is not read."""
    try:
        with closing(pypdfium2.PdfDocument(content)) as document:
            for index, page in enumerate(document, 1):
                unit, *_ = _read_page(page, LineEndHyphens(), ())
                if unit.text:
                    yield Unit(unit.text, f"{name}, page {index}", follows=True)
    except pypdfium2.PdfiumError:
        yield Unit(f"{NOT_READ}: {name}", name, follows=True)


def _read_page(page: pypdfium2.PdfPage, hyphens: LineEndHyphens, unread: Sequence[str]) -> list[Unit]:
    """The page; and the fields and notes of one without text, which may be a scan, as another unit.

    `unread`: lines for the end of the page, if it has text.
    """
    try:
        objects = objects_of(page)
        leave_out_hidden(page, objects)
        drawn = page.get_textpage()
        text = text_inside(page, drawn)
        hyphens.note(text)
        additions = read_additions(page)
        if not text.strip() or is_mapped_wrongly(text):
            added = as_lines(additions)
            return [Unit(""), *([Unit("\n".join(added), follows=True)] if added else [])]
        lines = [*additions.struck, *drawn_lines(objects[:MOST_OBJECTS])]
        additions = additions._replace(notes=[*additions.notes, *unread], struck=lines)
        text, boxes = laid_out(page, drawn, text, lambda part: clean(hyphens.join(part)), additions)
        return [Unit(text, boxes=boxes)]
    except pypdfium2.PdfiumError:
        return [Unit("")]
