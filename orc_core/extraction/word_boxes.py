"""Positions of the words on a page, packed into bytes, for highlighting quotes.

Words are the matches of WORD in the page's text, in order. A box is four unsigned 16-bit little-endian
numbers: left, top, right and bottom as fractions of the displayed page times SCALE, from the top left.
A word that is broken over lines or drawn in parts has several boxes; in all but the last, left and right
are swapped. An invisible word has the box NOWHERE.
"""

import re
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import le
from typing import NamedTuple

SCALE = 65535
BOX_BYTES = 8
MAX_BOXES = 20_000
"""Fits one line of the extraction protocol; no page that people read has more words."""
CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
"""Chinese has no blanks: without this rule, only whole lines could be highlighted."""
CJK_CHARACTER = re.compile(f"[{CJK}]")

_OVERHANG = 1.4
_WIDEST_GAP = 2
_TALLEST = 3
_LINES_BACK = 2

Edges = tuple[int, int, int, int]
"""A box as a plain tuple."""


class Box(NamedTuple):
    """A rectangle on a page; left < right and top < bottom."""

    left: int
    top: int
    right: int
    bottom: int


NOWHERE = Box(0, 0, 0, 0)


def stored(word: Sequence[Box]) -> list[Box]:
    """The boxes of one word in packed order."""
    if not word:
        return [NOWHERE]
    return [*(Box(box.right, box.top, box.left, box.bottom) for box in word[:-1]), word[-1]]


def pack(words: Iterable[Sequence[Box]]) -> bytes:
    """Pack the boxes of each word; a word without boxes is NOWHERE."""
    boxes = list(chain.from_iterable(map(stored, words)))
    return struct.pack(f"<{4 * len(boxes)}H", *chain.from_iterable(boxes))


def unpack(packed: bytes) -> list[list[Box]]:
    """The boxes of each word. Accepts any bytes: callers compare the number of words."""
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
    """One box for each line of the boxes of successive words, which have `characters` in total.

    Words on one height are separate if the gap is wider than a few characters: a gutter, or columns of a
    table. A letter as tall as several lines belongs to none of them.
    """
    if len(boxes) < 2:
        return list(boxes)
    widest_gap = _WIDEST_GAP * sum(box.right - box.left for box in boxes) / max(characters, 1)
    heights = sorted(box.bottom - box.top for box in boxes)
    tallest = _TALLEST * heights[(len(heights) - 1) // 2]
    lines: list[Box] = []
    for box in boxes:
        for back in range(1, min(_LINES_BACK, len(lines)) + 1):
            if _on_one_line(lines[-back], box, widest_gap, tallest):
                line = lines[-back]
                left, top = min(line.left, box.left), min(line.top, box.top)
                lines[-back] = Box(left, top, max(line.right, box.right), max(line.bottom, box.bottom))
                break
        else:
            lines.append(box)
    return lines


def boxes_between(page_text: str, packed: bytes, start: int, end: int) -> list[Box]:
    """One box for each line of the words between `start` and `end`; none if unknown."""
    # The number of the last box of each word, among all boxes.
    numbers = array("H", packed[: len(packed) - len(packed) % BOX_BYTES])
    if sys.byteorder == "big":
        numbers.byteswap()
    lefts, rights = numbers[0::4], numbers[2::4]
    words, last_boxes = split_words(page_text), list(compress(range(len(lefts)), map(le, lefts, rights)))
    if start >= end or len(words) != len(last_boxes):
        return []
    # A word is touched if a part of it is on this side of `start` or `end`.
    first, behind = len(words) - len(split_words(page_text[start:])), len(split_words(page_text[:end]))
    if first >= behind:
        return []
    begin = last_boxes[first - 1] + 1 if first else 0
    touched = unpack(packed[begin * BOX_BYTES : (last_boxes[behind - 1] + 1) * BOX_BYTES])
    return merge(list(chain.from_iterable(touched)), sum(map(len, words[first:behind])))


def split_words(text: str) -> list[str]:
    # A page has some hundred words, of which a quote is a few: this takes a quarter of the time.
    is_spaced = text.isascii() or CJK_CHARACTER.search(text) is None
    return text.split() if is_spaced else WORD.findall(text)


def _on_one_line(line: Box, box: Box, widest_gap: float, tallest: float) -> bool:
    gap = max(line.left, box.left) - min(line.right, box.right)
    shared = min(line.bottom, box.bottom) - max(line.top, box.top)
    together = max(line.bottom, box.bottom) - min(line.top, box.top)
    taller = max(line.bottom - line.top, box.bottom - box.top)
    return gap <= widest_gap and shared > 0 and together <= _OVERHANG * taller and taller <= tallest
