"""PDF: one unit for each page, read with PDFium."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from ctypes import c_ulong, c_ushort
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.pages import Unit, UnitStream, clean, numbered_pages, unreadable
from orc_core.extraction.pdf_annotations import (
    NOT_READ,
    as_lines,
    attached_pdfs,
    read_additions,
    text_of,
    unread_parts,
)
from orc_core.extraction.pdf_layout import laid_out
from orc_core.extraction.pdf_struck import MOST_OBJECTS, drawn_lines
from orc_core.extraction.properties import count_of, sentence_of

ABSENT_PAGES = 100
"""More missing pages at the end are an error in the page count."""
MOST_ATTACHED = 300
"""Pages of attached files: the time that a file may take grows with its own pages only."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_LINE_END_HYPHEN = re.compile("(?<!\\w)(\\w{0,40}+)[\x02\ufffe](?:\r\n)?(\\w{0,40})")
_GERMAN_CONJUNCTIONS = frozenset("und oder sowie bzw".split())
MOST_LAYERS = 50
"""Further ones of a page are read, whether they are on or off."""
_PIXELS = 300
"""The longer side of the picture that shows whether a layer is drawn."""
_OPTIONAL = "OC\0".encode("utf-16-le")
LEAST_WORDS = 20
"""Different words that show how letters follow each other; names and headings alone do not."""
_COMPARED = 5
_VOWELS = "aeiouy"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")


class LineEndHyphens:
    """Decides from the words seen so far whether a hyphen at a line end belongs to the word.

    PDFium replaces the hyphen and the line end by a control character: "in?network", "re?quires". Many files
    have none, so words are read when they are needed.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._unread: list[str] = []

    def note(self, text: str) -> None:
        self._unread.append(text)

    def join(self, text: str) -> str:
        """The text with whole words at its line ends."""
        if not _has_hyphen(text):
            return text
        parts = (_LINE_END_HYPHEN.sub(" ", text) if _has_hyphen(text) else text for text in self._unread)
        words = set(_WORD.findall("\n".join(parts).lower()))
        self._unread.clear()
        self._seen |= words
        for word in words:
            if "-" in word:
                self._seen.update(f"{left}-{right}" for left, right in pairwise(word.split("-")))
        return _LINE_END_HYPHEN.sub(self._join, text)

    def _join(self, match: re.Match[str]) -> str:
        left, right = match.groups()
        halves = (left.lower(), right.lower())
        if right in _GERMAN_CONJUNCTIONS:  # `Sonn- und Feiertage`
            return f"{left}- {right}"
        are_words = "".join(halves) not in self._seen and self._seen.issuperset(halves)
        return f"{left}-{right}" if are_words or "-".join(halves) in self._seen else left + right


def _has_hyphen(text: str) -> bool:
    return "\x02" in text or "\ufffe" in text


def read(source: Path, first: int = 1) -> UnitStream:
    """The visible pages from page `first`, with fields and notes: text outside the page box is left out.

    The pages of PDFs within the PDF follow.
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
    title, author = map(document.get_metadata_value, ("Title", "Author"))
    properties = sentence_of(title, author, count_of(len(document), "page"))
    return UnitStream(numbered_pages(_pages(document, first), first), len(document), properties)


def _pages(document: pypdfium2.PdfDocument, first: int) -> Iterator[Unit]:
    hyphens = LineEndHyphens()
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
        count = raw.FPDFPage_CountObjects(page.raw)
        objects = [raw.FPDFPage_GetObject(page.raw, at) for at in range(count)]
        leave_out_hidden(page, objects)
        drawn = page.get_textpage()
        text = str(drawn.get_text_bounded())
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


def leave_out_hidden(page: pypdfium2.PdfPage, objects: Sequence[Any]) -> None:
    """Switch the objects of layers that are off from the page, before its text is read."""
    layers: dict[str, list[Any]] = {}
    for thing, mark in _optional(objects):
        layers.setdefault(_name(mark), []).append(thing)
    if not layers:
        return
    hidden: list[Any] = []
    _switch(objects, is_on=False)
    for things in list(layers.values())[:MOST_LAYERS]:
        _switch(things, is_on=True)
        # Whether anything is drawn of the objects that are switched on.
        scale = _PIXELS / max(*page.get_size(), 1)
        picture = page.render(scale=scale, fill_color=(0, 0, 0, 0), may_draw_forms=False)
        hidden += [] if picture.to_numpy().any() else things
        _switch(things, is_on=False)
    _switch(objects, is_on=True)
    _switch(hidden, is_on=False)


def _optional(objects: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """The objects that are in a layer, with the mark that says so."""
    name, length = (c_ushort * 3)(), c_ulong()
    for thing in objects:
        for number in range(raw.FPDFPageObj_CountMarks(thing)):
            mark = raw.FPDFPageObj_GetMark(thing, number)
            is_read = raw.FPDFPageObjMark_GetName(mark, name, len(_OPTIONAL), length)
            if is_read and length.value == len(_OPTIONAL) and bytes(name) == _OPTIONAL:
                yield thing, mark
                break


def _name(mark: Any) -> str:
    """The name of the layer; "" if it has none."""
    length = c_ulong()

    def read(buffer: Any, size: int) -> int:
        raw.FPDFPageObjMark_GetParamStringValue(mark, b"Name", buffer, size, length)
        return length.value

    return text_of(read)


def _switch(objects: Iterable[Any], *, is_on: bool) -> None:
    for thing in objects:
        raw.FPDFPageObj_SetIsActive(thing, is_on)


def is_mapped_wrongly(text: str) -> bool:
    """Whether the text, in Latin letters, can be of no language."""
    folded = text.casefold()
    # A look at the most frequent letter is enough for nearly all pages.
    if max(_LETTERS, key=folded.count) in _VOWELS:
        return False
    found = (unicodedata.normalize("NFD", word) for word in _LONG_WORD.findall(folded))
    words = dict.fromkeys("".join(filter(str.isalpha, word)) for word in found)  # without accents
    latin = [word for word in words if word.isascii()]
    if len(latin) < max(LEAST_WORDS, len(words) / 2):
        return False
    return sum(letter in _VOWELS for letter in _alternating(latin)) <= 1


def _alternating(words: list[str]) -> list[str]:
    """The letters that are most often next to others, each without its own neighbours."""
    together = Counter(pair for word in words for pair in pairwise(word) if pair[0] != pair[1])
    sums: Counter[str] = Counter()
    for (one, other), count in together.items():
        sums[one] += count
        sums[other] += count
    found: list[str] = []
    while len(found) < _COMPARED and sums and (best := sums.most_common(1)[0])[1] > 0:
        found.append(best[0])
        del sums[best[0]]
        for letter in sums:
            sums[letter] -= 2 * (together[letter, best[0]] + together[best[0], letter])
    return found
