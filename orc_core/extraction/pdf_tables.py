"""Empty cells of tables in PDFs: rows with cells below each other get the signs that other formats have.

`South 7 9` below `Depot Jan Feb Mar` becomes `South |  | 7 | 9`, so that no figure moves to another column.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from orc_core.extraction.reading_order import Boxes, Layout, Line, edges_of, layout_of, lines_of
from orc_core.extraction.word_boxes import NOWHERE, WORD, Edges

LEAST_COLUMNS = LEAST_ROWS = 3
MOST_COLUMNS = 200
_HIGHEST_GAP = 1.5
"""Between rows of a table, as a multiple of the usual one."""
_LEAST_SHARED = 0.2
"""Of the heights of words on a line; names in the middle of two rows share some with both."""
_WIDEST_BLANK = 0.8
"""Between words of a cell, as a share of the height of the line."""


Column = tuple[int, int]
"""Where the cells of a column begin and end."""


class _Cell(NamedTuple):
    """Words of a line without wide gaps between them, and where each of them begins and ends."""

    words: list[tuple[str, int, int]]

    @property
    def text(self) -> str:
        return " ".join(text for text, _, _ in self.words)

    @property
    def place(self) -> Column:
        return self.words[0][1], self.words[-1][2]


def with_empty_cells(layout: Layout, size: tuple[float, float]) -> Layout:
    """The layout with cells set apart in tables of which some rows have fewer cells.

    `size`: the width and the height of the page.
    """
    blank = _WIDEST_BLANK * size[1] / max(size[0], 1)
    beginnings = _beginnings_of_rows(layout.boxes, blank)
    if not beginnings:
        return layout
    lines = lines_of(layout)
    cells = [
        list(_cells(line, blank)) if line.words and line.words[0][-1] in beginnings else [] for line in lines
    ]
    tops = [min((box[1] for word in line.words for box in word), default=0) for line in lines]
    is_row = [len(each) > 1 for each in cells]
    # The name of some rows can be in a line between them.
    within = [False, *(one and other for one, other in zip(is_row, is_row[2:], strict=False)), False]
    is_part = [
        row or (bool(each) and between) for row, each, between in zip(is_row, cells, within, strict=False)
    ]
    for number in range(len(lines) - 1):
        if is_part[number] and not is_row[number]:
            tops[number] = tops[number + 1]
    changed = False
    for is_table, group in groupby(range(len(is_part)), key=is_part.__getitem__):
        for number, text in _set_apart(list(group), cells, tops) if is_table else ():
            # The line with this text, whose additional words have no place.
            words = iter(lines[number].words)
            lines[number] = Line(
                text, [[NOWHERE] if word == "|" else next(words) for word in WORD.findall(text)]
            )
            changed = True
    return layout_of(lines) if changed else layout


def _beginnings_of_rows(boxes: Boxes, blank: float) -> set[Edges]:
    """The first boxes of neighbouring lines with wide blanks, some with several and some with fewer.

    On most pages there are none; a look at all boxes together is much faster than one at each line.
    """
    if len(boxes) < LEAST_ROWS * LEAST_COLUMNS:
        return set()
    one, other = boxes[:-1], boxes[1:]
    shared = np.minimum(one[:, 3], other[:, 3]) - np.maximum(one[:, 1], other[:, 1])
    heights = np.minimum(one[:, 3] - one[:, 1], other[:, 3] - other[:, 1])
    is_same_line = (one[:, 0] <= other[:, 0]) & (shared > _LEAST_SHARED * heights)
    starts = np.flatnonzero(np.append(True, ~is_same_line))
    heights = np.maximum.reduceat(boxes[:, 3], starts) - np.minimum.reduceat(boxes[:, 1], starts)
    line = np.cumsum(~is_same_line)
    is_wide = is_same_line & (other[:, 0] - one[:, 2] > blank * heights[line])
    counts = np.bincount(line[is_wide], minlength=len(starts))
    is_row = counts > 0
    is_row[1:-1] |= is_row[:-2] & is_row[2:]
    runs = np.flatnonzero(np.diff(np.concatenate(([0], is_row, [0])))).reshape(-1, 2).tolist()
    blanks = counts.tolist()
    found = [
        starts[first:end]
        for first, end in runs
        if end - first >= LEAST_ROWS and min(blanks[first:end]) < max(blanks[first:end]) >= LEAST_COLUMNS - 1
    ]
    return set(edges_of(boxes[np.concatenate(found)])) if found else set()


def _cells(line: Line, blank: float) -> Iterator[_Cell]:
    """The cells of a line; none if the place of a word is not known, or not behind the one before it."""
    found: list[_Cell] = []
    tops, bottoms = ([box[edge] for box, *_ in line.words] for edge in (1, 3))
    widest = blank * (max(bottoms, default=0) - min(tops, default=0))
    for text, (box, *more) in zip(WORD.findall(line.text), line.words, strict=False):
        left, _, right, _ = box
        if more or box == NOWHERE or text == "|" or (found and left < found[-1].place[0]):
            return
        if found and left - found[-1].place[1] <= widest:
            found[-1].words.append((text, left, right))
        else:
            found.append(_Cell([(text, left, right)]))
    yield from found


def _set_apart(
    rows: Sequence[int], cells: Sequence[Sequence[_Cell]], tops: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """The texts of the rows of a table that has empty cells before others; nothing for other lines.

    Lines that make no table together can be several tables, or one below a line of two cells.
    """
    table = [cells[row] for row in rows]
    for texts in (_in_whole_rows(table), *(_below_header(table, header) for header in (1, 2))):
        if texts is not None:
            if any(row and "" in row for row in texts):
                yield from ((at, " | ".join(row)) for at, row in zip(rows, texts, strict=True) if row)
            return
    parts = _between_gaps(rows, tops)
    if len(parts) == 1:
        parts = [list(part) for _, part in groupby(rows, key=lambda row: len(cells[row]) > 1)]
    if len(parts) == 1 and len(table[0]) < LEAST_COLUMNS <= len(table[1 % len(table)]):
        parts = [rows[:1], rows[1:]]
    for part in parts if len(parts) > 1 else ():
        yield from _set_apart(part, cells, tops)


def _between_gaps(rows: Sequence[int], tops: Sequence[int]) -> list[Sequence[int]]:
    """The rows in parts without a gap that is much higher than the usual one."""
    gaps = [tops[other] - tops[one] for one, other in pairwise(rows)]
    seen = sorted(filter(None, gaps)) or [0]
    most = _HIGHEST_GAP * seen[len(seen) // 2]
    starts = [0, *(at for at, gap in enumerate(gaps, 1) if gap > most), len(rows)]
    return [rows[start:end] for start, end in pairwise(starts)]


def _in_whole_rows(table: Sequence[Sequence[_Cell]]) -> list[list[str] | None] | None:
    """The rows by the columns of those with most cells; None if a row does not fit."""
    most = max(map(len, table))
    whole = [row for row in table if len(row) == most]
    columns = [
        (min(cell.place[0] for cell in column), max(cell.place[1] for cell in column))
        for column in zip(*whole, strict=True)
    ]
    is_table = len(table) >= LEAST_ROWS and LEAST_COLUMNS <= most <= MOST_COLUMNS
    has_header = len(whole) > 1 or len(table[0]) == most
    if not (is_table and has_header) or any(one[1] >= other[0] for one, other in pairwise(columns)):
        return None
    placed = [_placed(row, columns) for row in table]
    return None if None in placed else placed


def _below_header(table: Sequence[Sequence[_Cell]], header: int) -> list[list[str] | None] | None:
    """The rows by the columns that cells below each other make, below some rows with names of columns.

    Names that are not above their columns have no columns.
    """
    body = table[header:]
    columns: list[Column] = []
    for left, right in sorted(place for row in body for _, place in _places(row)):
        if columns and left <= columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    if len(body) < LEAST_ROWS or not LEAST_COLUMNS <= len(columns) <= MOST_COLUMNS:
        return None
    placed = [_placed(row, columns) for row in body]
    # A table whose first row names its columns, and has none for the names of its rows, has no gaps.
    if None in placed or not any("" in (row or ())[not at :] for at, row in enumerate(placed)):
        return None
    filled = [{at for at, text in enumerate(row or ()) if text} for row in placed if row and len(row) > 1]
    # Two columns of which no row has both are one, with some cells on its left and some on its right.
    if not all(
        any({one, other} <= row for row in filled)
        for one, other in pairwise(sorted(set[int]().union(*filled)))
    ):
        return None
    return [*(_names(row, columns) for row in table[:header]), *placed]


def _places(row: Sequence[_Cell]) -> list[tuple[_Cell, Column]]:
    """The cells with their places; of the name of several rows, which can be long, that of its first word."""
    return [(cell, cell.place if len(row) > 1 else cell.words[0][1:]) for cell in row]


def _within(place: Column, columns: Sequence[Column]) -> list[int]:
    return [at for at, (left, right) in enumerate(columns) if place[0] <= right and left <= place[1]]


def _placed(cells: Sequence[_Cell], columns: Sequence[Column]) -> list[str] | None:
    """The text of each column up to the last one; None if a cell is in no column or in several."""
    texts: list[str] = []
    for cell, place in _places(cells):
        within = _within(place, columns)
        if len(within) != 1 or within[0] < len(texts) or (len(cells) == 1 and within != [0]):
            return None
        texts += [""] * (within[0] - len(texts)) + [cell.text]
    return texts


def _names(cells: Sequence[_Cell], columns: Sequence[Column]) -> list[str] | None:
    """The same of names of columns: one over several columns is in the first of them.

    Names with narrow blanks between them are of a column each, if they are as many. If all columns have
    names, a name does not have to be above the figures, which are on the right.
    """
    texts: list[str] = []
    are_all = len(cells) == len(columns)
    for cell in cells:
        within = _within(cell.place, columns) or are_all * [len(texts)]
        if not within or within[0] < len(texts):
            return None
        are_names = [_within((start, end), columns) for _, start, end in cell.words] == [
            [at] for at in within
        ]
        named = [text for text, _, _ in cell.words] if are_names else [cell.text]
        texts += [""] * (within[0] - len(texts)) + named
    return texts if sum(map(bool, texts)) >= LEAST_COLUMNS else None
