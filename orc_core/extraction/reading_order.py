"""Puts the words of lines with figures into the order in which they are on the page.

PDFium returns words as they were drawn. In tables, that can exchange the figures of two columns.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orc_core.extraction.word_boxes import NOWHERE, SCALE, WORD, Edges

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W\d_]{2}")
_LEAST_SHARED = 0.5
"""Words are on one line if they share at least this part of the lower one's height."""
_WORDS_BACK = 4
"""A raised footnote mark shares too little with a word of small letters, but enough with figures."""
_MOST_COVERED = 0.5
"""Words are not next to each other if one covers more than this part of the narrower one."""


Boxes = NDArray[np.int32]
"""Boxes in packed order (see word_boxes.py), one in each row."""


class Layout(NamedTuple):
    """The text of a page, and the boxes of its words."""

    text: str
    boxes: Boxes


def as_boxes(edges: Iterable[Edges]) -> Boxes:
    return np.array(list(edges), np.int32).reshape(-1, 4)


def edges_of(boxes: Boxes) -> list[Edges]:
    return [(left, top, right, bottom) for left, top, right, bottom in boxes.tolist()]


class _Unit(NamedTuple):
    """The text between two blanks: its line of the text, the boxes of its words, and their extent."""

    line: int
    text: str
    boxes: Sequence[Edges]
    extent: Edges


class _Fragment(NamedTuple):
    """Units on one height; `number` is the place of the first one among the fragments as they are drawn.

    The extent is NOWHERE if a word is invisible or broken over two lines, or if words are above each other.
    """

    number: int
    units: list[_Unit]
    extent: Edges

    @property
    def is_fixed(self) -> bool:
        return self.extent == NOWHERE

    @property
    def is_figures(self) -> bool:
        return _count_numbers(self.units) > 0 and not _has_words(self.units)


def packed(boxes: Boxes) -> bytes:
    """The boxes as they are stored, see word_boxes.py."""
    return boxes.astype("<u2").tobytes()


class Line(NamedTuple):
    """A line of the text, and the boxes of each of its words."""

    text: str
    words: list[list[Edges]]


def layout_of(lines: Iterable[Line]) -> Layout:
    lines = list(lines)
    boxes = as_boxes(box for line in lines for word in line.words for box in word)
    return Layout("\n".join(line.text for line in lines), boxes)


def lines_of(layout: Layout) -> list[Line]:
    """The lines of a layout, with the boxes of each word."""
    words: list[list[Edges]] = [[]]
    for left, top, right, bottom in layout.boxes.tolist():
        words[-1].append((left, top, right, bottom))
        if left <= right:
            words.append([])
    lines, done = [], 0
    for text in layout.text.split("\n"):
        count = len(WORD.findall(text))
        lines.append(Line(text, words[done : done + count]))
        done += count
    return lines


def is_scrambled(layout: Layout, turns: int) -> bool:
    """Whether a word is on one height with the word before it, but to its left, and one of them is a figure.

    `turns`: by how many quarter turns counterclockwise the lines of the page are displayed. A page with a
    script that runs from right to left is never scrambled.
    """
    boxes = layout.boxes
    if turns:
        boxes = as_boxes(_turned(_upright(box), turns) for box in edges_of(boxes))
    backward = np.flatnonzero(boxes[1:, 0] < boxes[:-1, 0])
    # Whether each other box is left of the one before it, on one height with it: see _share_height.
    ones, others = boxes[backward], boxes[backward + 1]
    is_left = others[:, ::2].max(axis=1, initial=0) <= ones[:, ::2].min(axis=1, initial=SCALE)
    shared = np.minimum(ones[:, 3], others[:, 3]) - np.maximum(ones[:, 1], others[:, 1])
    lower = np.minimum(ones[:, 3] - ones[:, 1], others[:, 3] - others[:, 1])
    jumps = backward[is_left & (shared > _LEAST_SHARED * lower)].tolist()
    if not jumps or _RIGHT_TO_LEFT.search(layout.text):
        return False
    words = WORD.findall(layout.text)
    owners = np.cumsum(layout.boxes[:, 0] <= layout.boxes[:, 2]).tolist()
    ends = ((words[owners[at - 1] if at else 0], words[owners[at]]) for at in jumps)
    return any(_LETTER.search(other) and _DIGIT.search(one + other) for one, other in ends)


def in_reading_order(layout: Layout, turns: int) -> Layout:
    """The page with each row of words that has two numbers in order, on a separate line.

    A row is everything on one height: a line, or a piece of it and the figures to its right. Words that
    cover each other, and words that are broken over two lines, stay where they were drawn.
    """
    bands = [list(_rows(band)) for band in _bands(list(_fragments(_units(layout, turns))))]
    lines = list(chain.from_iterable(bands))
    if any(len(rows) > 1 or rows[0].is_fixed for rows in bands):
        lines.sort(key=attrgetter("number"))
    text = "\n".join(" ".join(unit.text for unit in line.units) for line in lines)
    return Layout(text, as_boxes(box for line in lines for unit in line.units for box in unit.boxes))


def _units(layout: Layout, turns: int) -> Iterator[_Unit]:
    boxes = iter(edges_of(layout.boxes))
    for number, line in enumerate(layout.text.split("\n")):
        for text in line.split():
            words = [_next_word(boxes) for _ in WORD.findall(text)]
            own = list(chain.from_iterable(words))
            yield _Unit(number, text, own, _turned(_extent(own), turns))


def _next_word(boxes: Iterator[Edges]) -> Iterator[Edges]:
    """The boxes of one word: in all but the last, left and right are swapped."""
    for box in boxes:
        yield box
        if box[0] <= box[2]:
            return


def _fragments(units: Iterable[_Unit]) -> Iterator[_Fragment]:
    number = 0
    for _, group in groupby(units, key=attrgetter("line")):
        line = list(group)
        parts = _parts(line)
        can_split = _has_words(line) and sum(_count_numbers(part) > 0 for part in parts) > 1
        if can_split or len(parts) == 1:
            fragments = [(part, _common_extent(part)) for part in parts]
        else:
            fragments = [(line, NOWHERE)]
        for part, extent in fragments:
            yield _Fragment(number, part, extent)
            number += 1


def _parts(line: list[_Unit]) -> list[list[_Unit]]:
    """The units that are on one height each, as drawn."""
    parts = [line[:1]]
    for unit in line[1:]:
        if _continues(parts[-1], unit):
            parts[-1].append(unit)
        else:
            parts.append([unit])
    return parts


def _common_extent(units: Sequence[_Unit]) -> Edges:
    """One box around all; NOWHERE if a word is broken or invisible, or if words are above each other."""
    extents = [unit.extent for unit in units]
    is_fixed = NOWHERE in extents or any(_is_above(one, other) for one, other in pairwise(extents))
    return NOWHERE if is_fixed else _around(extents)


def _continues(run: list[_Unit], unit: _Unit) -> bool:
    """Whether a unit is on the height of the ones before it; a broken word keeps both its lines together."""
    if NOWHERE in (unit.extent, run[-1].extent) or _is_above(run[-1].extent, unit.extent):
        return True
    return any(_share_height(each.extent, unit.extent) for each in run[-_WORDS_BACK:])


def _bands(fragments: list[_Fragment]) -> Iterator[list[_Fragment]]:
    """The fragments by height, from top to bottom; first the fixed ones, each alone."""
    yield from ([fragment] for fragment in fragments if fragment.is_fixed)
    band: list[_Fragment] = []
    extent: Edges = NOWHERE
    for fragment in sorted(
        (each for each in fragments if not each.is_fixed), key=lambda each: each.extent[1]
    ):
        if band and not _share_height(extent, fragment.extent):
            yield band
            band = []
        extent = _around([extent, fragment.extent]) if band else fragment.extent
        band.append(fragment)
    if band:
        yield band


def _rows(band: list[_Fragment]) -> Iterator[_Fragment]:
    """The rows of fragments on one height: figures belong to what is to their left."""
    row: list[_Fragment] = []
    end = 0
    for fragment in sorted(band, key=lambda each: each.extent[0]):
        if row and not (fragment.is_figures or fragment.extent[0] < end):
            yield from _joined(row)
            row = []
        end = max(end, fragment.extent[2]) if row else fragment.extent[2]
        row.append(fragment)
    yield from _joined(row)


def _joined(row: list[_Fragment]) -> list[_Fragment]:
    """One fragment with the units from left to right, or the row as it is: see in_reading_order."""
    units = sorted(chain.from_iterable(each.units for each in row), key=lambda unit: unit.extent[0])
    if row[0].is_fixed or _count_numbers(units) < 2 or (len(row) > 1 and row[0].is_figures):
        return row
    for left, right in pairwise(unit.extent for unit in units):
        if left[2] - right[0] > _MOST_COVERED * min(left[2] - left[0], right[2] - right[0]):
            return row
    return [_Fragment(min(each.number for each in row), units, _around([each.extent for each in row]))]


def _has_words(units: Iterable[_Unit]) -> bool:
    return any(_WORD.search(unit.text) for unit in units)


def _count_numbers(units: Iterable[_Unit]) -> int:
    return sum(_DIGIT.search(unit.text) is not None for unit in units)


def _extent(boxes: Sequence[Edges]) -> Edges:
    """One box around all; NOWHERE if one of them is, or if they are on several lines."""
    upright = list(map(_upright, boxes))
    if NOWHERE in upright or not all(_share_height(one, other) for one, other in pairwise(upright)):
        return NOWHERE
    return _around(upright)


def _around(boxes: Sequence[Edges]) -> Edges:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _upright(box: Edges) -> Edges:
    """The box of a part of a word as it is displayed: see the packed order."""
    return box if box[0] <= box[2] else (box[2], box[1], box[0], box[3])


def _turned(box: Edges, turns: int) -> Edges:
    """The box as it would be without the quarter turns."""
    for _ in range(turns if box != NOWHERE else 0):
        left, top, right, bottom = box
        box = (SCALE - bottom, left, SCALE - top, right)
    return box


def _share_height(one: Edges, other: Edges) -> bool:
    shared = min(one[3], other[3]) - max(one[1], other[1])
    return shared > _LEAST_SHARED * min(one[3] - one[1], other[3] - other[1])


def _is_above(one: Edges, other: Edges) -> bool:
    """Whether one box is above or below the other one, as in lines of letters that are turned."""
    return not _share_height(one, other) and min(one[2], other[2]) > max(one[0], other[0])
