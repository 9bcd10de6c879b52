"""The text of a PDF page in reading order, with the positions of its words."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import pi
from typing import NamedTuple

import pypdfium2
from pypdfium2 import raw

from core.extraction.doubled_words import without_doubles
from core.extraction.pdf_word_boxes import (
    HYPHENS,
    Places,
    find_words,
    four_numbers,
    get_character_box,
    handle_of,
    match,
    measure,
)
from core.extraction.reading_order import Layout, in_reading_order, is_scrambled, packed
from core.extraction.word_boxes import MAX_BOXES

Tidy = Callable[[str], str]

_FROM_DIGIT = re.compile(r"\d[^\s\x00-\x1f\ufffe]{4,}")
"""The end of a word from its first digit; two numbers have at least five characters, and years have fewer."""
_DIGIT = re.compile(r"\d")
_GLUED = re.compile(r"[^\s\x00-\x1f\ufffe]{2,}")
_BEGIN = re.compile(r"[^\W_]|[($€£¥+−–-]")
"""Accents stand away from the letters before them, too."""
_WIDEST_GAP = 0.5
_HIGHEST_RISE = 0.6
"""Between letters of a word, as shares of the height of the font."""


class _Letter(NamedTuple):
    """Where a character begins and ends on its line, and between which heights."""

    start: float
    end: float
    low: float
    high: float


def laid_out(
    page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, text: str, tidy: Tidy
) -> tuple[str, bytes]:
    """The text of a page in reading order, and the boxes (see word_boxes.py) of its words.

    `text` is that inside the page box, and `tidy` cleans what PDFium returns. If the words cannot be found on
    the page, or if they are too many, then the text has the order in which it was drawn, and no boxes.
    """
    text = tidy(text)
    found = find_words(page, drawn, text)
    if found is None:
        return text, b""
    characters, places = found
    try:
        layout = without_doubles(Layout(text, measure(page, drawn, places)), page.get_size())
        turns = _turns(page, drawn, places.pieces[len(places.pieces) // 2][0])
        is_upright = turns == page.get_rotation() == 0
        if (
            is_scrambled(layout, turns)
            or (not is_upright and _lacks_line_ends(characters, places))
            or _has_glued_numbers(drawn, characters, is_upright=is_upright)
        ):
            layout = _unscrambled(page, drawn, characters, tidy, turns) or layout
    except (ValueError, OverflowError):  # a coordinate that is infinite or not a number
        return text, b""
    return (layout.text, packed(layout.boxes)) if len(layout.boxes) <= MAX_BOXES else (text, b"")


def _unscrambled(
    page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, characters: str, tidy: Tidy, turns: int
) -> Layout | None:
    """The page in reading order; None if its words cannot be found.

    Its text is made from the characters: PDFium leaves out line ends between scrambled lines.
    """
    ends = [0, *_cuts(drawn, characters), len(characters)]
    text = tidy(" ".join(characters[start:end] for start, end in pairwise(ends)))
    places = match(text, characters)
    if places is None:
        return None
    layout = without_doubles(Layout(text, measure(page, drawn, places)), page.get_size())
    return in_reading_order(layout, turns)


def _turns(page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, character: int) -> int:
    """By how many quarter turns counterclockwise the line of the character is displayed."""
    return round(_angle(drawn, character) - float(page.get_rotation()) / 90) % 4


def _angle(drawn: pypdfium2.PdfTextPage, character: int) -> float:
    """The direction of the character's line on the unrotated page, in quarter turns counterclockwise."""
    return -float(raw.FPDFText_GetCharAngle(drawn.raw, character)) * 2 / pi


def _lacks_line_ends(characters: str, places: Places) -> bool:
    """Whether PDFium joined two lines without a hyphen, as it does on rotated pages."""
    for piece, count in places.broken.items():
        for (start, end), (after, _) in pairwise(places.pieces[piece : piece + count]):
            if "\n" in characters[end:after] and characters[start:end][-1:] not in HYPHENS:
                return True
    return False


def _has_glued_numbers(drawn: pypdfium2.PdfTextPage, characters: str, *, is_upright: bool) -> bool:
    """Whether a number has other words behind it without a blank.

    PDFium adds a blank between numbers only if the second one is drawn at a distance behind the first one.
    """
    box, edges = four_numbers()
    handle = handle_of(drawn)
    for found in _FROM_DIGIT.finditer(characters):
        get_character_box(handle, found.start(), *edges)
        end = box[1]
        get_character_box(handle, found.end() - 1, *edges)
        if (box[0] < end or not is_upright) and _cuts_of(drawn, characters, found.span()):
            return True
    return False


def _cuts(drawn: pypdfium2.PdfTextPage, characters: str) -> Iterator[int]:
    """The characters of words with figures that begin another word, although there is no blank."""
    for found in _GLUED.finditer(characters):
        if _DIGIT.search(found[0]):
            yield from _cuts_of(drawn, characters, found.span())


def _cuts_of(drawn: pypdfium2.PdfTextPage, characters: str, span: tuple[int, int]) -> list[int]:
    letters = pairwise((at, _letter(drawn, at)) for at in range(*span))
    return [at for (_, one), (at, other) in letters if _BEGIN.match(characters, at) and _is_apart(one, other)]


def _is_apart(one: _Letter, other: _Letter) -> bool:
    """Whether a character is before another one, at a distance behind it, or on another line."""
    height = max(one.high - one.low, other.high - other.low)
    rise = abs(one.high + one.low - other.high - other.low) / 2
    return (
        other.end <= one.start
        or other.start > one.end + _WIDEST_GAP * height
        or rise > _HIGHEST_RISE * height
    )


def _letter(drawn: pypdfium2.PdfTextPage, character: int) -> _Letter:
    left, bottom, right, top = drawn.get_charbox(character, loose=True)
    turns = round(_angle(drawn, character)) % 4
    return (
        _Letter(left, right, bottom, top),
        _Letter(bottom, top, -right, -left),
        _Letter(-right, -left, -top, -bottom),
        _Letter(-top, -bottom, left, right),
    )[turns]
