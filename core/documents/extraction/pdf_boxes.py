"""Where PDFium has drawn the words of a page's text."""

import re
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, Array, addressof, c_double, c_int, c_ushort, c_void_p, cast, sizeof
from itertools import islice
from math import ceil, floor

import pypdfium2
from pypdfium2 import raw

from core.documents.boxes import BOX_BYTES, MAX_BOXES, NOWHERE, SCALE, WORD, Box, merge, pack

MAX_CHARACTERS = 200_000
"""A page with more is none that people read."""

_NOTHING = 1e-6

Range = tuple[int, int]
"""The first of some characters of a page, and the one after the last, as PDFium counts them."""

_HYPHENS = "\x02\ufffe"
_NO_LETTER = re.compile(r"[\s\x00-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
# The functions of pypdfium2.raw; their conversion of the arguments takes longer than the calls.
_count_rectangles = CFUNCTYPE(c_int, c_void_p, c_int, c_int)(
    cast(raw.FPDFText_CountRects, c_void_p).value or 0
)
_get_rectangle = CFUNCTYPE(c_int, c_void_p, c_int, *[c_void_p] * 4)(
    cast(raw.FPDFText_GetRect, c_void_p).value or 0
)
_get_character_box = CFUNCTYPE(c_int, c_void_p, c_int, *[c_void_p] * 4)(
    cast(raw.FPDFText_GetCharBox, c_void_p).value or 0
)
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def word_boxes(page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, text: str) -> bytes:
    """The boxes (see boxes.py) of the words of `text`, which was made from what is drawn on the page.

    Empty where the two do not agree to the last letter: better no box than one elsewhere.
    """
    count = drawn.count_chars()
    if not text or count > MAX_CHARACTERS:
        return b""
    words = match(text, _characters(drawn, count))
    if words is None:
        words = match(text, _seen_characters(page, drawn, count))
    if words is None:
        return b""
    try:
        packed = pack(_measure(page, drawn, words))
    except (ValueError, OverflowError):  # a place that is infinitely far off, or not a number
        return b""
    return packed if len(packed) <= MAX_BOXES * BOX_BYTES else b""


def match(text: str, characters: str) -> list[list[Range]] | None:
    """For each word of `text` where its letters are; None unless `characters` are exactly those of the text.

    A word may be in pieces: at a line end, where a mark stands for its hyphen, kept in the text or not.
    """
    letters = _NO_LETTER.sub(" ", characters)
    words: list[list[Range]] = []
    at = 0
    for word in WORD.findall(text):
        while letters[at : at + 1] == " ":
            at += 1
        if letters.startswith(word, at):
            ranges = [(at, at + len(word))]
        elif not (ranges := _pieces(word, letters, characters, at)):
            return None
        words.append(ranges)
        at = ranges[-1][1]
    return None if letters[at:].strip() else words


def _pieces(word: str, letters: str, characters: str, start: int) -> list[Range]:
    """Where the parts of a broken word are, from `start` on, with the marks of their hyphens."""
    ranges: list[Range] = []
    at = start
    for letter in word:
        if letters[at : at + 1] == " ":
            is_hyphen = characters[at] in _HYPHENS
            ranges.append((start, at + is_hyphen))
            while letters[at : at + 1] == " ":
                at += 1
            start = at
            if is_hyphen and letter == "-" != letters[at : at + 1]:
                continue
        if letters[at : at + 1] != letter:
            return []
        at += 1
    return [*ranges, (start, at)]


def _characters(drawn: pypdfium2.PdfTextPage, count: int) -> str:
    """All of a page's characters, each in its place."""
    if raw.FPDFText_GetTextIndexFromCharIndex(drawn.raw, count - 1) == count - 1:  # none is left out below
        buffer = (c_ushort * (count + 1))()
        raw.FPDFText_GetText(drawn.raw, 0, count, buffer)
        text = bytes(buffer)[:-2].decode("utf-16-le", "surrogatepass")
        if len(text) == count:
            return text
    single = "".join(chr(raw.FPDFText_GetUnicode(drawn.raw, index)) for index in range(count))
    return _SURROGATES.sub(_paired, single)


def _paired(surrogates: re.Match[str]) -> str:
    """The character of two surrogates, and one that is passed over in the place of the second."""
    return surrogates[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le") + "\0"


def _seen_characters(page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, count: int) -> str:
    """The same with blanks for what PDFium leaves out of a text: it is off the page, or has no size."""
    left, bottom, right, top = page.get_bbox()
    box, places = _four_numbers()
    handle = cast(drawn.raw, c_void_p).value
    seen = list(_characters(drawn, count))
    for index, character in enumerate(seen):
        if not character.isspace():
            found = _get_character_box(handle, index, *places)
            start, end, low, high = box
            if not (found and max(start, left) < min(end, right) and max(low, bottom) < min(high, top)):
                seen[index] = " "
    return "".join(seen)


def _measure(
    page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, words: list[list[Range]]
) -> Iterator[list[Box]]:
    """For each word one box for each line that it stands on."""
    counts, edges = _rectangles(drawn, words)
    boxes = iter(_as_shown(page, edges))
    for ranges, count in zip(words, counts, strict=True):
        if count == 1:
            yield [next(boxes)]
        else:
            seen = [box for box in islice(boxes, count) if box != NOWHERE]
            yield merge(seen, sum(end - start for start, end in ranges))


def _rectangles(drawn: pypdfium2.PdfTextPage, words: list[list[Range]]) -> tuple[list[int], list[float]]:
    """How many rectangles each word has, and the left, top, right and bottom of all of them, in points."""
    page = cast(drawn.raw, c_void_p).value
    points, (left, top, right, bottom) = _four_numbers()
    counts: list[int] = []
    edges: list[float] = []
    for ranges in words:
        before = len(edges)
        for start, end in ranges:
            for index in range(_count_rectangles(page, start, end - start)):
                if _get_rectangle(page, index, left, top, right, bottom):
                    edges += points[:]
        counts.append((len(edges) - before) // 4)
    return counts, edges


def _four_numbers() -> tuple["Array[c_double]", list[int]]:
    """Room for numbers that PDFium gives, and the address of each."""
    numbers = (c_double * 4)()
    return numbers, [addressof(numbers) + sizeof(c_double) * place for place in range(4)]


def _as_shown(page: pypdfium2.PdfPage, edges: Sequence[float]) -> list[Box]:
    """The boxes for rectangles of four edges each; NOWHERE for those off the page and those without size."""
    left, bottom, right, top = page.get_bbox()
    across, down = SCALE / max(right - left, _NOTHING), SCALE / max(top - bottom, _NOTHING)
    sides = ((left, across), (top, -down), (right, -across), (bottom, down))
    turned = page.get_rotation() // 90
    # On a page that is turned to the right by 90 degrees, the bottom is shown on the left, and so on.
    x, y = sides[-turned], sides[1 - turned]
    boxes = zip(
        _shares(edges[-turned % 4 :: 4], *x, floor),
        _shares(edges[(1 - turned) % 4 :: 4], *y, floor),
        _shares(edges[(2 - turned) % 4 :: 4], *x, ceil),
        _shares(edges[(3 - turned) % 4 :: 4], *y, ceil),
        edges[0::4],
        edges[2::4],
        strict=True,
    )
    return [
        Box(left, top, right, bottom) if left < right and top < bottom and start < end else NOWHERE
        for left, top, right, bottom, start, end in boxes
    ]


def _shares(
    points: Sequence[float], origin: float, scale: float, rounded: Callable[[float], int]
) -> list[int]:
    """How far from `origin` the points are, from 0 to SCALE."""
    shares = [rounded((point - origin) * scale) for point in points]
    if shares and (min(shares) < 0 or max(shares) > SCALE):
        return [min(max(share, 0), SCALE) for share in shares]
    return shares
