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
_WIDEST_BLANK = 0.8
"""Between words of a cell, as a share of the height of the line."""


class _Cell(NamedTuple):
    """Words of a line without wide gaps between them, and where they begin and end."""

    text: str
    left: int
    right: int


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
    numbers = range(len(lines))
    changed = False
    for is_row, group in groupby(numbers, key=lambda number: len(cells[number]) > 1):
        rows = list(group)
        for number, text in _set_apart(rows, cells) if is_row else ():
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
    is_same_line = (one[:, 0] <= other[:, 0]) & (other[:, 1] < one[:, 3]) & (one[:, 1] < other[:, 3])
    starts = np.flatnonzero(np.append(True, ~is_same_line))
    heights = np.maximum.reduceat(boxes[:, 3], starts) - np.minimum.reduceat(boxes[:, 1], starts)
    line = np.cumsum(~is_same_line)
    is_wide = is_same_line & (other[:, 0] - one[:, 2] > blank * heights[line])
    counts = np.bincount(line[is_wide], minlength=len(starts))
    runs = np.flatnonzero(np.diff(np.concatenate(([0], counts > 0, [0])))).reshape(-1, 2).tolist()
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
        if more or box == NOWHERE or text == "|" or (found and left < found[-1].left):
            return
        if found and left - found[-1].right <= widest:
            found[-1] = _Cell(f"{found[-1].text} {text}", found[-1].left, right)
        else:
            found.append(_Cell(text, left, right))
    yield from found


def _set_apart(rows: Sequence[int], cells: Sequence[Sequence[_Cell]]) -> Iterator[tuple[int, str]]:
    """The texts of the rows of a table that has empty cells before others; nothing for other lines."""
    most = max(len(cells[row]) for row in rows)
    whole = [cells[row] for row in rows if len(cells[row]) == most]
    columns = [
        (min(cell.left for cell in column), max(cell.right for cell in column))
        for column in zip(*whole, strict=True)
    ]
    is_table = len(rows) >= LEAST_ROWS and most >= LEAST_COLUMNS
    has_header = len(whole) > 1 or len(cells[rows[0]]) == most
    if not (is_table and has_header) or any(one[1] >= other[0] for one, other in pairwise(columns)):
        return
    placed = {row: texts for row in rows if (texts := _placed(cells[row], columns)) is not None}
    if len(placed) == len(rows) and any("" in texts for texts in placed.values()):
        for row, texts in placed.items():
            yield row, " | ".join(texts)


def _placed(cells: Sequence[_Cell], columns: Sequence[tuple[int, int]]) -> list[str] | None:
    """The text of each column up to the last one; None if a cell is in no column or in several."""
    texts: list[str] = []
    for cell in cells:
        within = [at for at, (left, right) in enumerate(columns) if cell.left <= right and left <= cell.right]
        if len(within) != 1 or within[0] < len(texts):
            return None
        texts += [""] * (within[0] - len(texts)) + [cell.text]
    return texts
