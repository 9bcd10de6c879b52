"""Where the words of a page stand on it, packed into bytes: what it takes to highlight a quote.

Words are those of WORD in the page's text, in order. A box is four unsigned 16-bit numbers, least byte
first: left, top, right and bottom as shares of the page as it is shown, times SCALE, from the top left.
A word that is broken over lines or drawn in parts has several boxes: in all but its last, left and right
are exchanged. A word that cannot be seen has the box NOWHERE.
"""

import re
import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

SCALE = 65535
BOX_BYTES = 8
MAX_BOXES = 20_000
"""A page with more is none that people read; so many still fit a line of the extraction protocol."""
CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
"""Without blanks a line of Chinese would be one word, and a quote could be marked by whole lines only."""

_OVERHANG = 1.4
_WIDEST_GAP = 2
_TALLEST = 3
_LINES_BACK = 2


Edges = tuple[int, int, int, int]
"""What a box is to those who only pass it on."""


class Box(NamedTuple):
    """A rectangle on a page, see above; left < right and top < bottom."""

    left: int
    top: int
    right: int
    bottom: int


NOWHERE = Box(0, 0, 0, 0)


def stored(word: Sequence[Box]) -> list[Box]:
    """The boxes of one word as they are packed."""
    if not word:
        return [NOWHERE]
    return [*(Box(box.right, box.top, box.left, box.bottom) for box in word[:-1]), word[-1]]


def pack(words: Iterable[Sequence[Box]]) -> bytes:
    """The bytes for the boxes of each word; a word without any is NOWHERE."""
    return pack_stored(list(chain.from_iterable(map(stored, words))))


def pack_stored(boxes: Sequence[Edges]) -> bytes:
    """The bytes for the boxes of all words, each already as `stored` gives it."""
    return struct.pack(f"<{4 * len(boxes)}H", *chain.from_iterable(boxes))


def unpack(packed: bytes) -> list[list[Box]]:
    """The boxes of each word. Takes any bytes: whoever uses them compares the number of words."""
    words: list[list[Box]] = []
    boxes: list[Box] = []
    whole = len(packed) - len(packed) % BOX_BYTES
    for left, top, right, bottom in struct.iter_unpack("<4H", packed[:whole]):
        if left > right:
            boxes.append(Box(right, top, left, bottom))
            continue
        if left < right:
            boxes.append(Box(left, top, right, bottom))
        words.append(boxes)
        boxes = []
    return words


def merge(boxes: Sequence[Box], characters: int) -> list[Box]:
    """One box for each line that boxes of successive words, of so many characters in all, stand on.

    Words are apart, although on one height, where more than the width of a few characters is between them:
    a gutter, or columns of a table. A letter as tall as several lines is on none of them.
    """
    if len(boxes) < 2:
        return list(boxes)
    reach = _WIDEST_GAP * sum(box.right - box.left for box in boxes) / max(characters, 1)
    heights = sorted(box.bottom - box.top for box in boxes)
    tallest = _TALLEST * heights[(len(heights) - 1) // 2]
    lines: list[Box] = []
    for box in boxes:
        for back in range(1, min(_LINES_BACK, len(lines)) + 1):
            if _on_one_line(lines[-back], box, reach, tallest):
                lines[-back] = _around(lines[-back], box)
                break
        else:
            lines.append(box)
    return lines


def boxes_between(page_text: str, packed: bytes, start: int, end: int) -> list[Box]:
    """One box for each line of the words that have a character at `start` to `end`; none where unknown."""
    matches = list(WORD.finditer(page_text))
    words = unpack(packed)
    if len(words) != len(matches):
        return []
    touched = [
        (match, boxes)
        for match, boxes in zip(matches, words, strict=True)
        if max(match.start(), start) < min(match.end(), end)
    ]
    characters = sum(len(match[0]) for match, _ in touched)
    return merge(list(chain.from_iterable(boxes for _, boxes in touched)), characters)


def _on_one_line(line: Box, box: Box, reach: float, tallest: float) -> bool:
    gap = max(line.left, box.left) - min(line.right, box.right)
    shared = min(line.bottom, box.bottom) - max(line.top, box.top)
    together = max(line.bottom, box.bottom) - min(line.top, box.top)
    taller = max(line.bottom - line.top, box.bottom - box.top)
    return gap <= reach and shared > 0 and together <= _OVERHANG * taller and taller <= tallest


def _around(one: Box, other: Box) -> Box:
    return Box(
        min(one.left, other.left),
        min(one.top, other.top),
        max(one.right, other.right),
        max(one.bottom, other.bottom),
    )
