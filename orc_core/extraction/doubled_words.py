"""Finds words of a PDF page that are drawn twice at the same place: as shadows, or in two layers."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from orc_core.extraction.reading_order import Boxes, Layout, Line, edges_of, layout_of, lines_of
from orc_core.extraction.word_boxes import NOWHERE, SCALE, WORD, Edges

_BITS = 8
_HALF = 1 << (_BITS - 1)
"""The most that two boxes can differ; about one point of a letter page."""
_BLANKS = re.compile(" {2,}")
_AROUND = list(product((-1, 0, 1), repeat=2))


def without_doubles(layout: Layout, size: tuple[float, float]) -> Layout:
    """The page without words that repeat another word within one point.

    `size` is the width and height of the displayed page in points.
    """
    if not _overlap_at_start(layout.boxes):
        return layout
    words = WORD.findall(layout.text)
    most = [min(SCALE / max(side, 1) + 1, _HALF) for side in size]
    all_boxes = edges_of(layout.boxes)
    return without_words(layout, set(_doubles(words, _first_boxes(all_boxes), most * 2)))


def without_words(layout: Layout, numbers: set[int]) -> Layout:
    """The page without the words of these numbers."""
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


def _overlap_at_start(boxes: Boxes) -> bool:
    """Whether words begin at almost the same place. Repeated text begins a line, and so does its original."""
    ends_before = np.concatenate(([SCALE], boxes[:-1, 2]))
    starts = boxes[boxes[:, 0] < ends_before, :2].tolist()
    lattices = product((0, _HALF), repeat=2)
    return any(
        len({(left + x >> _BITS, top + y >> _BITS) for left, top in starts}) < len(starts)
        for x, y in lattices
    )


def _first_boxes(boxes: Sequence[Edges]) -> list[Edges]:
    """The first box of each word: all but the last one of a word have their sides swapped."""
    lasts = [True, *(box[0] <= box[2] for box in boxes)]
    return [box for box, is_first in zip(boxes, lasts, strict=False) if is_first]


def _doubles(words: Sequence[str], firsts: Sequence[Edges], most: Sequence[float]) -> Iterator[int]:
    """The numbers of the words that are where an earlier one is."""
    seen: dict[tuple[str, int, int], list[Edges]] = {}
    for number, (word, box) in enumerate(zip(words, firsts, strict=True)):
        if box == NOWHERE:
            continue
        x, y = box[0] >> _BITS, box[1] >> _BITS
        near = (seen.get((word, x + right, y + down), ()) for right, down in _AROUND)
        if any(_is_same(box, other, most) for others in near for other in others):
            yield number
        else:
            seen.setdefault((word, x, y), []).append(box)


def _is_same(one: Edges, other: Edges, most: Sequence[float]) -> bool:
    return all(abs(a - b) <= limit for a, b, limit in zip(one, other, most, strict=True))
