"""The text of a PDF page in reading order, with the positions of its words."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import c_double
from itertools import compress, pairwise, product
from math import pi
from typing import NamedTuple

import numpy as np
import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.line_numbers import LEAST_LINES, NUMBER, numbered_lines
from orc_core.extraction.looks import lowered, raised, set_apart
from orc_core.extraction.pdf_annotations import Additions, as_lines, with_additions
from orc_core.extraction.pdf_struck import half_struck, struck_words
from orc_core.extraction.pdf_tables import with_empty_cells
from orc_core.extraction.pdf_word_boxes import (
    HYPHENS,
    Places,
    Range,
    Rectangles,
    find_rectangles,
    find_words,
    in_font,
    match,
    measure,
)
from orc_core.extraction.reading_order import (
    Layout,
    Line,
    edges_of,
    in_reading_order,
    is_scrambled,
    layout_of,
    lines_of,
    packed,
)
from orc_core.extraction.word_boxes import CJK_CHARACTER, MAX_BOXES, NOWHERE, SCALE, WORD, Edges

Tidy = Callable[[str], str]

_FROM_DIGIT = re.compile(r"\d[^\s\x00-\x1f\ufffe]{4,}")
"""The end of a word from its first digit; two numbers have at least five characters, and years have fewer."""
_DIGIT = re.compile(r"\d")
_GLUED = re.compile(r"[^\s\x00-\x1f\ufffe]{2,}")
_LINE_NUMBER = re.compile(rf"^{NUMBER.pattern}", re.MULTILINE)
_BEGIN = re.compile(r"[^\W_]|[($€£¥+−–-]")
"""Accents stand away from the letters before them, too."""
_FRACTION = re.compile(r"\d+[/⁄∕]")
_SIGNED_FIGURE = re.compile(r"[+−-]?\d")
_LINE_OF_RAISED = re.compile("(?<=[⁰¹²³⁴⁵⁶⁷⁸⁹₀-₉])\n(?=[ ,.;:)])")
"""PDFium ends a line behind a raised or lowered figure, and begins the next one with the blank."""
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
_LEAST_RISE = 0.15
"""Of a raised figure, as a share of the height of the font."""
_TOUCHING, _WIDEST_GAP = 0.1, 0.5
_HIGHEST_RISE = 0.6
"""Between letters of a word, as shares of the height of the font."""
_BITS = 8
_HALF = 1 << (_BITS - 1)
"""The most that two boxes can differ; about one point of a letter page."""
_BLANKS = re.compile(" {2,}")
_AROUND = list(product((-1, 0, 1), repeat=2))


class _Letter(NamedTuple):
    """Where a character begins and ends on its line, and between which heights."""

    start: float
    end: float
    low: float
    high: float


# Which lines are put in order, and why no others: docs/decisions/reading-pdfs.md.
def laid_out(
    page: pypdfium2.PdfPage, drawn: pypdfium2.PdfTextPage, text: str, tidy: Tidy, additions: Additions
) -> tuple[str, bytes]:
    """The text of a page in reading order, and the boxes (see word_boxes.py) of its words.

    `text` is that inside the page box, and `tidy` cleans what PDFium returns. If the words cannot be found on
    the page, or if they are too many, then the text has the order in which it was drawn, and no boxes. The
    `additions` are in their places, or else at its end.
    """
    text = tidy(text)
    added = as_lines(additions)
    unplaced = "\n".join([text, *added]) if added else text
    found = find_words(page, drawn, text)
    if found is None:
        return unplaced, b""
    characters, places = found
    try:
        if (apart := _with_blanks(drawn, text, characters, places)) != text:
            text, places = apart, match(apart, characters) or places
        rectangles = find_rectangles(drawn, places.pieces)
        if cuts := half_struck(drawn, places, rectangles, additions.struck) if additions.struck else set():
            text = _cut(text, places, cuts)
            places = match(text, characters) or places
            rectangles = find_rectangles(drawn, places.pieces)
        marked = _with_raised(drawn, characters, places, rectangles)
        marked = in_font(drawn, _with_ligatures(drawn, marked))
        text = _rewritten(text, places, characters, marked)
        layout = without_doubles(Layout(text, measure(page, rectangles, places)), page.get_size())
        middle = places.pieces[len(places.pieces) // 2][0]
        # By how many quarter turns counterclockwise that line is displayed.
        turns = round(_angle(drawn, middle) - float(page.get_rotation()) / 90) % 4
        is_upright = turns == page.get_rotation() == 0
        if (
            is_scrambled(layout, turns)
            or (not is_upright and _lacks_line_ends(characters, places))
            or _has_glued_numbers(drawn, characters, is_upright=is_upright)
        ):
            layout = _unscrambled(page, drawn, marked, tidy, turns, cuts) or layout
        layout = without_words(layout, struck_words(page, layout, additions.struck))
        layout = _without_line_numbers(layout)
    except (ValueError, OverflowError):  # a coordinate that is infinite or not a number
        return unplaced, b""
    layout = with_additions(with_empty_cells(layout, page.get_size()), additions)
    if len(layout.boxes) > MAX_BOXES:
        return unplaced, b""
    return set_apart(layout.text, keep_words=True), packed(layout.boxes)


def _with_raised(
    drawn: pypdfium2.PdfTextPage, characters: str, places: Places, rectangles: Rectangles
) -> str:
    """The characters with raised figures as `¹²³`, and those that are lowered behind a number as `₁₂₃`.

    A fraction at the start of a word has none.

    A word with raised figures is drawn in several parts, so it has several rectangles.
    """
    spans: Iterable[Range] = map(places.pieces.__getitem__, rectangles.counts)
    if CJK_CHARACTER.search(characters):  # each of them is a word
        spans = (found.span() for found in _GLUED.finditer(characters))
    marked = list(characters)
    for span in spans:
        if span[1] - span[0] > 1 and _DIGIT.search(characters, *span):
            for at, change in _moved_figures(drawn, characters, span):
                marked[at] = change(f"0{characters[at]}")[1:]
    return "".join(marked)


def _with_ligatures(drawn: pypdfium2.PdfTextPage, characters: str) -> str:
    """The characters with lam before alef where both are one sign: PDFium takes it apart backwards."""

    def in_order(found: re.Match[str]) -> str:
        boxes = [drawn.get_charbox(at) for at in range(*found.span())]
        return found[0][::-1] if boxes[0] == boxes[1] else found[0]

    return _ALEF_LAM.sub(in_order, characters)


def _moved_figures(
    drawn: pypdfium2.PdfTextPage, characters: str, span: Range
) -> Iterator[tuple[int, Callable[[str], str]]]:
    if _FRACTION.match(characters, span[0]):
        return
    letters = [_letter(drawn, at) for at in range(*span)]
    baselines = [_baseline(drawn, at) for at in range(*span)]
    heights = [letter.high - letter.low for letter in letters]
    tallest = heights.index(max(heights))
    is_behind_number = False
    for at in range(*span):
        rise = baselines[at - span[0]] - baselines[tallest]
        is_figure = _SIGNED_FIGURE.match(characters, at, span[1]) is not None
        if is_figure and abs(rise) > _LEAST_RISE * heights[tallest]:
            if rise > 0:
                yield at, raised
            elif is_behind_number:
                yield at, lowered
        else:
            is_behind_number = characters[at].isdecimal()


def _baseline(drawn: pypdfium2.PdfTextPage, character: int) -> float:
    """How high the character is, in the direction of its line."""
    x, y = c_double(), c_double()
    raw.FPDFText_GetCharOrigin(drawn.raw, character, x, y)
    turns = round(_angle(drawn, character)) % 4
    return (y.value, -x.value, -y.value, x.value)[turns]


def _without_line_numbers(layout: Layout) -> Layout:
    """The page without the numbers of its lines, and without lines of nothing else."""
    if len(_LINE_NUMBER.findall(layout.text)) < LEAST_LINES:
        return layout
    numbered = numbered_lines(texts := layout.text.split("\n"))
    if not numbered:
        return layout
    cuts = [NUMBER.match(text).end() if at in numbered else 0 for at, text in enumerate(texts)]  # type: ignore[union-attr]
    lines = zip(lines_of(layout), cuts, strict=True)
    return layout_of(
        Line(text[cut:], words[bool(cut) :]) for (text, words), cut in lines if text[cut:] or not cut
    )


def _with_blanks(drawn: pypdfium2.PdfTextPage, text: str, characters: str, places: Places) -> str:
    """The text with a blank where PDFium left out a line end: it takes cells of one character for lines.

    It also takes letters that are drawn one by one for lines, and tears off the first one.
    """
    if not places.broken:
        return text
    pieces, done = [], 0
    for word, piece in zip(WORD.finditer(text), places.words(), strict=True):
        parts = places.pieces[piece : piece + places.broken.get(piece, 1)]
        for (start, end), (after, _) in pairwise(parts):
            is_new = _is_line_end(characters, start, end, after) and _BEGIN.match(characters, after)
            if is_new and not _touch(_letter(drawn, end - 1), _letter(drawn, after)):
                cut = word.start() + sum(last - first for first, last in parts if last <= end)
                pieces += [text[done:cut], " "]
                done = cut
        if word.end() - word.start() == 1 and text.startswith("\n", word.end()):
            following = places.pieces[min(piece + len(parts), len(places.pieces) - 1)]
            if _touch(_letter(drawn, parts[-1][0]), _letter(drawn, following[0])):
                pieces.append(text[done : word.end()])
                done = word.end() + 1
    return "".join([*pieces, text[done:]])


def _cut(text: str, places: Places, cuts: set[int]) -> str:
    """The text with a blank before each of these characters."""
    pieces, done = [], 0
    for word, piece in zip(WORD.finditer(text), places.words(), strict=True):
        at = word.start()
        for start, end in places.pieces[piece : piece + places.broken.get(piece, 1)]:
            for cut in sorted(cuts.intersection(range(start + 1, end))):
                pieces.append(text[done : at + cut - start])
                done = at + cut - start
            at += end - start
    return " ".join([*pieces, text[done:]])


def _is_line_end(characters: str, start: int, end: int, after: int) -> bool:
    """Whether a line ends between two parts of a word, without a hyphen."""
    return "\n" in characters[end:after] and characters[start:end][-1:] not in HYPHENS


def _rewritten(text: str, places: Places, characters: str, marked: str) -> str:
    """The text with those words as they are in `marked`."""
    if marked == characters:
        return text
    pieces, done = [], 0
    for word, piece in zip(WORD.finditer(text), places.words(), strict=True):
        parts = [slice(*part) for part in places.pieces[piece : piece + places.broken.get(piece, 1)]]
        if "".join(characters[part] for part in parts) == word[0]:
            pieces += [text[done : word.start()], *(marked[part] for part in parts)]
            done = word.end()
    return _LINE_OF_RAISED.sub("", "".join([*pieces, text[done:]]))


def _unscrambled(
    page: pypdfium2.PdfPage,
    drawn: pypdfium2.PdfTextPage,
    characters: str,
    tidy: Tidy,
    turns: int,
    cuts: set[int],
) -> Layout | None:
    """The page in reading order; None if its words cannot be found.

    Its text is made from the characters: PDFium leaves out line ends between scrambled lines.
    """
    ends = [0, *sorted(cuts.union(_cuts(drawn, characters))), len(characters)]
    text = tidy(" ".join(characters[start:end] for start, end in pairwise(ends)))
    places = match(text, characters)
    if places is None:
        return None
    rectangles = find_rectangles(drawn, places.pieces)
    layout = without_doubles(Layout(text, measure(page, rectangles, places)), page.get_size())
    return in_reading_order(layout, turns)


def _angle(drawn: pypdfium2.PdfTextPage, character: int) -> float:
    """The direction of the character's line on the unrotated page, in quarter turns counterclockwise."""
    return -float(raw.FPDFText_GetCharAngle(drawn.raw, character)) * 2 / pi


def _lacks_line_ends(characters: str, places: Places) -> bool:
    """Whether PDFium joined two lines without a hyphen, as it does on rotated pages."""
    for piece, count in places.broken.items():
        for (start, end), (after, _) in pairwise(places.pieces[piece : piece + count]):
            if _is_line_end(characters, start, end, after):
                return True
    return False


def _has_glued_numbers(drawn: pypdfium2.PdfTextPage, characters: str, *, is_upright: bool) -> bool:
    """Whether a number has other words behind it without a blank.

    PDFium adds a blank between numbers only if the second one is drawn at a distance behind the first one.
    """
    for found in _FROM_DIGIT.finditer(characters):
        first, last = drawn.get_charbox(found.start()), drawn.get_charbox(found.end() - 1)
        if (last[0] < first[2] or not is_upright) and _cuts_of(drawn, characters, found.span()):
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


def _touch(one: _Letter, other: _Letter) -> bool:
    """Whether two letters follow each other on a line as those of a word that is drawn letter by letter."""
    height = max(one.high - one.low, other.high - other.low)
    return abs(other.start - one.end) < _TOUCHING * height and abs(one.low - other.low) < _TOUCHING * height


def _letter(drawn: pypdfium2.PdfTextPage, character: int) -> _Letter:
    left, bottom, right, top = drawn.get_charbox(character, loose=True)
    turns = round(_angle(drawn, character)) % 4
    return (
        _Letter(left, right, bottom, top),
        _Letter(bottom, top, -right, -left),
        _Letter(-right, -left, -top, -bottom),
        _Letter(-top, -bottom, left, right),
    )[turns]


def without_doubles(layout: Layout, size: tuple[float, float]) -> Layout:
    """The page without words that repeat another word within one point.

    `size` is the width and height of the displayed page in points.
    """
    # Whether words begin at almost the same place. Repeated text begins a line, and so does its original.
    ends_before = np.concatenate(([SCALE], layout.boxes[:-1, 2]))
    starts = layout.boxes[layout.boxes[:, 0] < ends_before, :2].tolist()
    lattices = product((0, _HALF), repeat=2)
    places = ({(left + x >> _BITS, top + y >> _BITS) for left, top in starts} for x, y in lattices)
    if all(len(each) == len(starts) for each in places):
        return layout
    words = WORD.findall(layout.text)
    most = [min(SCALE / max(side, 1) + 1, _HALF) for side in size]
    boxes = edges_of(layout.boxes)
    # The first box of each word: all but the last one of a word have their sides swapped.
    firsts = list(compress(boxes, [True, *(box[0] <= box[2] for box in boxes)]))
    return without_words(layout, set(_doubles(words, firsts, most * 2)))


def without_words(layout: Layout, numbers: set[int]) -> Layout:
    if not numbers:
        return layout
    lines: list[Line] = []
    done = 0
    for line in lines_of(layout):
        words = list(zip(WORD.finditer(line.text), line.words, strict=False))
        gone = [at for at in range(len(words)) if done + at in numbers]
        done += len(words)
        if not gone:
            lines.append(line)
        elif len(gone) < len(words):
            ends = [0, *(words[at][0].end() for at in gone)]
            starts = [*(words[at][0].start() for at in gone), len(line.text)]
            kept = "".join(line.text[end:start] for end, start in zip(ends, starts, strict=True))
            left = [boxes for at, (_, boxes) in enumerate(words) if at not in gone]
            lines.append(Line(_BLANKS.sub(" ", kept).strip(), left))
    return layout_of(lines)


def _doubles(words: Sequence[str], firsts: Sequence[Edges], most: Sequence[float]) -> Iterator[int]:
    """The numbers of the words that are where an earlier one is."""
    seen: dict[tuple[str, int, int], list[Edges]] = {}
    for number, (word, box) in enumerate(zip(words, firsts, strict=True)):
        if box == NOWHERE:
            continue
        x, y = box[0] >> _BITS, box[1] >> _BITS
        near = (other for right, down in _AROUND for other in seen.get((word, x + right, y + down), ()))
        if any(
            all(abs(a - b) <= limit for a, b, limit in zip(box, other, most, strict=True)) for other in near
        ):
            yield number
        else:
            seen.setdefault((word, x, y), []).append(box)
