"""Positions of the words of a PDF page, from PDFium."""

import re
from collections.abc import Iterator, Sequence
from ctypes import byref, c_double, c_int, c_ushort, create_string_buffer
from typing import NamedTuple

import numpy as np
import pypdfium2
from numpy.typing import NDArray
from pypdfium2 import raw

from orc_core.extraction.looks import PRIVATE, UNKNOWN, with_symbols
from orc_core.extraction.reading_order import Boxes, as_boxes
from orc_core.extraction.word_boxes import SCALE, Box, merge, split_words, stored

MAX_CHARACTERS = 200_000
"""A page with more is not a text that people read."""

_NOTHING = 1e-6

MOST_PARTS = 3
"""A word in more parts is drawn letter by letter; merging fewer parts is not worth the time."""

Range = tuple[int, int]
"""A range of characters of a page, as PDFium counts them: first, and last plus one."""
_Points = NDArray[np.float64]


class Places(NamedTuple):
    """The character ranges of the words of a page.

    A word has one piece, or the number of pieces that `broken` has for the index of its first piece.
    """

    pieces: Sequence[Range]
    broken: dict[int, int]

    def words(self) -> Iterator[int]:
        """The first piece of each word."""
        piece = 0
        while piece < len(self.pieces):
            yield piece
            piece += self.broken.get(piece, 1)


class Rectangles(NamedTuple):
    """Left, top, right, bottom of each rectangle in points; and the counts of pieces that have not one."""

    points: _Points
    counts: dict[int, int]


HYPHENS = "\x02\ufffe"
_SPACES = "\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NO_LETTER = re.compile(rf"[\x00-\x1f\x7f-\x9f{_SPACES}\xad\ufeff\ufffe\uffff\ud800-\udfff]")
"""All but the blank, which most matches would be."""
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def find_words(page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, text: str) -> tuple[str, Places] | None:
    """All characters of a page, and the ranges of the words of `text`, which was extracted from it.

    None unless both agree in every letter: no box is better than a wrong one.
    """
    count = drawn.count_chars()
    if not text or count > MAX_CHARACTERS:
        return None
    characters = _characters(drawn, count)
    places = match(text, characters)
    if places is None:
        characters = _seen(page, drawn, characters)
        places = match(text, characters)
    return None if places is None else (characters, places)


def match(text: str, characters: str) -> Places | None:
    """The ranges of the words of `text`; None unless `characters` are exactly those of the text.

    A word can have several pieces: at a line end, where a control character replaces its hyphen.
    """
    letters, words = _NO_LETTER.sub(" ", characters.replace("\r\n", "  ")), split_words(text)
    if words == letters.split():
        is_letter = np.frombuffer(f" {letters} ".encode("utf-32-le"), np.uint32) != ord(" ")
        ends = np.flatnonzero(is_letter[1:] != is_letter[:-1])
        return Places(list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)), {})
    pieces: list[Range] = []
    broken: dict[int, int] = {}
    at = 0
    for word in words:
        while letters[at : at + 1] == " ":
            at += 1
        if letters.startswith(word, at):
            end = at + len(word)
            pieces.append((at, end))
            at = end
        elif parts := _parts(word, letters, characters, at):
            broken[len(pieces)] = len(parts)
            pieces += parts
            at = parts[-1][1]
        else:
            return None
    return None if letters[at:].strip() else Places(pieces, broken)


def _parts(word: str, letters: str, characters: str, start: int) -> list[Range]:
    """The ranges of the parts of a broken word from `start`, including the hyphen characters."""
    parts: list[Range] = []
    at = start
    for letter in word:
        if letters[at : at + 1] == " ":
            is_hyphen = characters[at] in HYPHENS
            parts.append((start, at + is_hyphen))
            while letters[at : at + 1] == " ":
                at += 1
            start = at
            if is_hyphen and letter == "-" != letters[at : at + 1]:
                continue
        if letters[at : at + 1] != letter:
            return []
        at += 1
    # A word that ends in the hyphen itself, as in `Sonn- und Feiertage`, has no part behind it.
    return [*parts, (start, at)] if start < at else parts


def _characters(drawn: pypdfium2.PdfTextPage, count: int) -> str:
    """All characters of a page, each at its index."""
    last_place = raw.FPDFText_GetTextIndexFromCharIndex(drawn.raw, count - 1)
    if last_place == count - 1:  # then GetText leaves none out
        buffer = (c_ushort * (count + 1))()
        raw.FPDFText_GetText(drawn.raw, 0, count, buffer)
        text = bytes(buffer)[:-2].decode("utf-16-le", "surrogatepass")
        if len(text) == count:
            return text
    single = "".join(chr(raw.FPDFText_GetUnicode(drawn.raw, index)) for index in range(count))
    # The character of two surrogates, and a placeholder in the place of the second.
    return _SURROGATES.sub(
        lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le") + "\0", single
    )


_SYMBOLS = re.compile(r"(?:[A-Z]{6}\+)?(?:Open|Star)?(Symbol|Wingdings) ?(2?)")
_LONGEST_NAME = 100


def in_font(drawn: pypdfium2.PdfTextPage, characters: str) -> str:
    """The characters, with the signs for the private codes of fonts of symbols: `≥`, `±`, `•`."""

    def sign(found: re.Match[str]) -> str:
        name, flags = create_string_buffer(_LONGEST_NAME), c_int()
        raw.FPDFText_GetFontInfo(drawn.raw, found.start(), name, _LONGEST_NAME, flags)
        font = _SYMBOLS.match(name.value.decode("latin-1"))
        shown = with_symbols(found[0], " ".join(filter(None, font.groups()))) if font else UNKNOWN
        return found[0] if shown == UNKNOWN else shown

    return PRIVATE.sub(sign, characters)


def _seen(page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, characters: str) -> str:
    """The same with blanks for characters that PDFium leaves out: off the page, or without size."""
    left, bottom, right, top = page.get_bbox()
    seen = list(characters)
    for index, character in enumerate(seen):
        if not character.isspace():
            start, low, end, high = drawn.get_charbox(index)
            if not (max(start, left) < min(end, right) and max(low, bottom) < min(high, top)):
                seen[index] = " "
    return "".join(seen)


def measure(page: pypdfium2.PdfPage, rectangles: Rectangles, places: Places) -> Boxes:
    """The boxes of all words in packed order.

    Raises ValueError for a coordinate that is infinite or not a number.
    """
    points, counts = rectangles
    boxes = as_shown(page, points)
    found: list[Boxes] = []
    piece = box = 0
    for first in sorted({*places.broken, *counts}):
        if first < piece:
            continue  # part of a broken word that is done
        simple = first - piece
        found.append(boxes[box : box + simple])
        piece = first + places.broken.get(first, 1)
        box += simple
        count = sum(counts.get(number, 1) for number in range(first, piece))
        seen = [Box(*edges) for edges in boxes[box : box + count].tolist() if any(edges)]
        if len(seen) > MOST_PARTS:  # single letters
            seen = merge(seen, sum(end - start for start, end in places.pieces[first:piece]))
        found.append(as_boxes(stored(seen)))
        box += count
    return np.concatenate([*found, boxes[box:]])


def find_rectangles(drawn: pypdfium2.PdfTextPage, pieces: Sequence[Range]) -> Rectangles:
    """The rectangles of these pieces: PDFium has one for each part that is drawn separately."""
    points: list[tuple[float, float, float, float]] = []
    counts: dict[int, int] = {}
    left, top, right, bottom = edges = [c_double() for _ in range(4)]
    addresses = [byref(edge) for edge in edges]  # made once: a page has a thousand words
    count_parts, read_part, text = raw.FPDFText_CountRects, raw.FPDFText_GetRect, drawn.raw
    for number, (start, end) in enumerate(pieces):
        count = count_parts(text, start, end - start)
        if count != 1:
            counts[number] = count
        for index in range(count):
            read_part(text, index, *addresses)
            points.append((left.value, top.value, right.value, bottom.value))
    return Rectangles(np.array(points, np.float64).reshape(-1, 4), counts)


def as_shown(page: pypdfium2.PdfPage, points: _Points) -> Boxes:
    """The boxes for rectangles of four edges; NOWHERE for those off the page or without size."""
    left, bottom, right, top = page.get_bbox()
    across, down = SCALE / max(right - left, _NOTHING), SCALE / max(top - bottom, _NOTHING)
    # On a page rotated clockwise by 90 degrees, the bottom is shown on the left, and so on.
    edges = [(edge - page.get_rotation() // 90) % 4 for edge in range(4)]
    origins, scales = (left, top, right, bottom), (across, -down, -across, down)
    shares = points[:, edges]
    with np.errstate(all="ignore"):
        shares -= [origins[edge] for edge in edges[:2] * 2]
        shares *= [scales[edge] for edge in edges[:2] * 2]
    if not np.isfinite(shares).all():
        raise ValueError("a coordinate is infinite or not a number")
    np.floor(shares[:, :2], out=shares[:, :2])
    np.ceil(shares[:, 2:], out=shares[:, 2:])
    np.clip(shares, 0, SCALE, out=shares)
    boxes = shares.astype(np.int32)
    lefts, tops, rights, bottoms = boxes.T
    is_seen = (lefts < rights) & (tops < bottoms) & (points[:, 0] < points[:, 2])
    boxes[~is_seen] = 0
    return boxes
