"""The units of a page: what a citation points to, each with its place in the page's text.

A unit is a sentence, a row of a table, an item of a list or a heading.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orc_core.text.numbers import MONTH_NAMES
from orc_core.text.sentences import Kind, split_pieces
from orc_core.text.sentences import sentences as split_sentences

_MARKED = r"\(?\d{1,3}(?:\.\d{1,3})*[.)](?=\s)|\d{1,3}(?:\.\d{1,3})+(?=\s(?-i:[^\W\d_a-zß-öø-ÿ]))"
_NAMED = r"(?:[^\W\d_]+\.?\s|§+\s?)?\(?\d{1,3}(?:\.\d{1,3})*[.):]?(?=\s)"
_LABEL, _LABEL_OF_HEADING = (
    re.compile(rf"(?!(?:{MONTH_NAMES})\b)(?:{form})(?!\s(?:{MONTH_NAMES})\b)", re.I)
    for form in (_MARKED, f"{_MARKED}|{_NAMED}")
)
"""`3.`, `(3)` or `2.1`; of a heading also `Article 7`, `§ 4` or `4`. No day of a month."""
NEIGHBOURS = 2
"""Units on each side of a sentence that a judge reads with it; of a row, one."""


class Unit(NamedTuple):
    """Characters `start` to `end` of a page's text.

    `above` is the number of the unit that is the heading above it, and `header` that of the row which names
    the columns of its table.
    """

    start: int
    end: int
    kind: Kind
    above: int | None = None
    header: int | None = None


def page_units(text: str) -> list[Unit]:
    """The units of a page in reading order; all of its visible characters are in one."""
    units: list[Unit] = []
    above = header = None
    for number, (start, end, kind, *_) in enumerate(located(text)):
        header = header if kind == "row" else None
        units.append(Unit(start, end, kind, above, header))
        if kind == "heading":
            above = number
        elif kind == "row" and header is None:
            header = number
    return units


def label_of(text: str, kind: Kind) -> str:
    """The number at the head of a numbered item, clause or heading, which counts nothing; or nothing."""
    label = (_LABEL_OF_HEADING if kind == "heading" else _LABEL).match(text)
    return label[0] if label and kind != "row" else ""


def around(units: Sequence[Unit], number: int) -> list[int]:
    """The numbers of what a judge reads with a unit: heading, header row, the neighbours and the unit."""
    unit = units[number]
    reach = 1 if unit.kind == "row" else NEIGHBOURS
    near = range(max(0, number - reach), min(len(units), number + reach + 1))
    return sorted({*near, *(each for each in (unit.above, unit.header) if each is not None)})


def located(text: str) -> Iterator[Unit]:
    """The units of a text without what is above them, found again by their visible characters."""
    position = 0
    for piece in split_pieces(text):
        # An item may be several sentences; a row is a unit whatever is in its cells.
        for sentence in split_sentences(piece.text) if piece.kind == "item" else [piece.text]:
            start = position
            while text[start].isspace():
                start += 1
            position = _end(text, start, sentence)
            yield Unit(start, position, piece.kind)


def _end(text: str, start: int, wanted: str) -> int:
    """The end of a piece whose first word begins at `start`; white space may be wider in the text."""
    if text.startswith(wanted, start):
        return start + len(wanted)
    position = start
    for word in wanted.split():
        while text[position].isspace():
            position += 1
        position += len(word)
    return position
