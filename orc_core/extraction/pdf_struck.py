"""Words of a PDF page that are struck out, by an annotation or by a line drawn through them."""

from collections.abc import Iterable, Iterator, Sequence
from ctypes import byref, c_float, c_int, c_uint
from itertools import pairwise
from typing import Any

import numpy as np
import pypdfium2
from pypdfium2 import raw

from orc_core.extraction.pdf_word_boxes import Places, Rectangles, as_shown
from orc_core.extraction.reading_order import Boxes, Layout

MOST_OBJECTS = 5_000
"""Further ones, of drawings, are not looked at."""
_THICKEST = 0.35
"""Of a line, as a share of the word's height; PDFium adds its width to both sides."""
_HIGHEST, _LOWEST = 0.3, 0.72
"""Of a line through a word, as shares of the word's height; the lines of forms and tables are below words."""
_LEAST_COVERED = 0.8
"""Of a word, by its line."""
_LEAST_WORDS = 0.6
"""Of a line, the part that is over words: lines of charts are longer than what they cross."""
_THICK = 4.0
"""Points, to leave out most drawings."""
_WHITE = 250  # of 255

Points = tuple[float, float, float, float]
"""Left, top, right and bottom, in points of the page."""


def drawn_lines(objects: Iterable[Any]) -> Iterator[Points]:
    """The drawn objects of a page that are much wider than high, and are seen on a text.

    The text was drawn before them, or it has their colour: a bar below a text has another.
    """
    edges = [c_float() for _ in range(4)]
    addresses = [byref(edge) for edge in edges]
    texts: list[Points] = []
    drawn: list[Any] = []
    lines: list[tuple[Points, int, Sequence[int]]] = []
    for thing in objects:
        kind, is_placed = raw.FPDFPageObj_GetType(thing), raw.FPDFPageObj_GetBounds(thing, *addresses)
        left, bottom, right, top = (edge.value for edge in edges)
        if kind == raw.FPDF_PAGEOBJ_TEXT and is_placed:
            texts.append((left, top, right, bottom))
            drawn.append(thing)
        elif kind == raw.FPDF_PAGEOBJ_PATH and is_placed:
            is_line = top - bottom < min(_THICK, right - left)
            if is_line and (colour := _seen_colour(thing)):
                lines.append(((left, top, right, bottom), len(texts), colour))
    lefts, tops, rights, bottoms = np.array(texts or [(0.0,) * 4]).T
    for line, before, colour in lines:
        left, top, right, bottom = line
        behind = np.flatnonzero(
            (lefts < right) & (tops > bottom) & (rights > left) & (bottoms < top)
        ).tolist()
        if any(
            at < before or _colour(drawn[at], raw.FPDFPageObj_GetFillColor) == colour
            for at in behind
            if drawn
        ):
            yield line


def _seen_colour(path: Any) -> Sequence[int]:
    """The colour of a path; none if it is switched off, transparent or white."""
    is_on, fill, stroke = c_int(), c_int(), c_int()
    raw.FPDFPageObj_GetIsActive(path, is_on)
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    read = raw.FPDFPageObj_GetFillColor if fill else raw.FPDFPageObj_GetStrokeColor
    colour = _colour(path, read) if (fill or stroke) and is_on else ()
    return colour if colour and colour[3] and min(colour[:3]) < _WHITE else ()


def _colour(thing: Any, read: Any) -> Sequence[int]:
    parts = [c_uint() for _ in range(4)]
    return [part.value for part in parts] if read(thing, *parts) else ()


def annotated_lines(annotation: Any) -> Iterator[Points]:
    quad = raw.FS_QUADPOINTSF()
    for at in range(min(raw.FPDFAnnot_CountAttachmentPoints(annotation), MOST_OBJECTS)):
        if raw.FPDFAnnot_GetAttachmentPoints(annotation, at, quad):
            middle = (quad.y1 + quad.y2 + quad.y3 + quad.y4) / 4
            across = quad.x1, quad.x2, quad.x3, quad.x4
            yield min(across), middle, max(across), middle


def struck_words(page: pypdfium2.PdfPage, layout: Layout, lines: Sequence[Points]) -> set[int]:
    """The numbers of the words that one of these lines goes through."""
    if not lines or not len(layout.boxes):
        return set()
    points = np.add(lines, (0, 0.1, 0, -0.1))
    boxes = np.sort(layout.boxes.reshape(-1, 2, 2), axis=1).reshape(-1, 4)  # see word_boxes.py
    is_struck = np.zeros(len(boxes), bool)
    for through in _through(as_shown(page, points), boxes):
        is_struck |= through
    widths = boxes[:, 2] - boxes[:, 0]
    is_last = layout.boxes[:, 0] <= layout.boxes[:, 2]
    word = np.cumsum(is_last) - is_last
    struck, whole = (np.bincount(word, weights=each) for each in (widths * is_struck, widths))
    return set(np.flatnonzero((struck > whole / 2) & (whole > 0)).tolist())


def half_struck(
    drawn: pypdfium2.PdfTextPage, places: Places, rectangles: Rectangles, lines: Sequence[Points]
) -> set[int]:
    """The characters within words at which a line through a part of the word begins or ends."""
    counts = [rectangles.counts.get(number, 1) for number in range(len(places.pieces))]
    numbers = np.repeat(np.arange(len(counts)), counts)
    boxes = rectangles.points * (1, -1, 1, -1)  # downwards, as displayed
    cuts: set[int] = set()
    for line in np.multiply(lines, (1, -1, 1, -1)).reshape(-1, 4):
        is_crossed, covered = _crossed(line, boxes)
        if covered[is_crossed].sum() < _LEAST_WORDS * (line[2] - line[0]):
            continue
        for number in set(numbers[is_crossed].tolist()):
            start, end = places.pieces[number]
            centers = [(edges[0] + edges[2]) / 2 for edges in map(drawn.get_charbox, range(start, end))]
            within = [bool(line[0] <= center <= line[2]) for center in centers]
            if 0 < sum(within) < _LEAST_COVERED * len(within):
                cuts.update(start + at for at, (one, other) in enumerate(pairwise(within), 1) if one != other)
    return cuts


def _through(lines: Boxes, boxes: Boxes) -> Iterator[Any]:
    """For each line that strikes words out, which boxes it goes through."""
    width = boxes[:, 2] - boxes[:, 0]
    for line in lines:
        is_crossed, covered = _crossed(line, boxes)
        is_struck = is_crossed & (covered >= _LEAST_COVERED * width) & (width > 0)
        if width[is_struck].sum() >= _LEAST_WORDS * (line[2] - line[0]) > 0:
            yield is_struck


def _crossed(line: Any, boxes: Any) -> tuple[Any, Any]:
    """Which boxes a thin line goes through in the middle, and how much of each it covers."""
    left, top, right, bottom = boxes.T
    height = bottom - top
    shares = ((line[1] + line[3]) / 2 - top) / np.maximum(height, 1)
    covered = np.minimum(right, line[2]) - np.maximum(left, line[0])
    is_middle = (shares > _HIGHEST) & (shares < _LOWEST) & (line[3] - line[1] <= _THICKEST * height)
    return is_middle & (covered > 0), covered
