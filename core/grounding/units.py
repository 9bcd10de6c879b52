"""The units of a page: what a citation points to, each with its place in the page's text.

A unit is a table row, a heading, or sentences or list items next to each other, up to about 300 characters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.text.quotes import Span
from core.text.sentences import Kind, split_pieces
from core.text.sentences import sentences as split_sentences

LONGEST_JOINED = 300
"""Characters of a unit of several sentences or items; a longer sentence is a unit by itself."""
_JOINED: frozenset[Kind] = frozenset({"sentence", "item"})


@dataclass(frozen=True, slots=True)
class Unit:
    """Characters `start` to `end` of a page's text.

    `parts` are its sentences or items, or the unit itself; `above` is the number of the unit that is the
    heading above it, and `header` that of the row which names the columns of its table.
    """

    start: int
    end: int
    kind: Kind
    parts: tuple[Span, ...]
    above: int | None = None
    header: int | None = None


class Part(NamedTuple):
    """A sentence, list item, table row or heading: characters `start` to `end` of a text."""

    start: int
    end: int
    kind: Kind


def page_units(text: str, longest: int = LONGEST_JOINED) -> list[Unit]:
    """The units of a page in reading order; all of its visible characters are in one."""
    units: list[Unit] = []
    above = header = None
    for group in _groups(located(text), longest):
        kind = group[0].kind
        header = None if kind != "row" else header
        spans = tuple(Span(part.start, part.end) for part in group)
        units.append(Unit(spans[0].start, spans[-1].end, kind, spans, above, header))
        if kind == "heading":
            above = len(units) - 1
        elif kind == "row" and header is None:
            header = len(units) - 1
    return units


def around(units: Sequence[Unit], number: int) -> list[int]:
    """The numbers of what a judge reads with a unit: heading, header row, the neighbours and the unit."""
    unit = units[number]
    found = {unit.above, unit.header, number, number + 1 if number + 1 < len(units) else None}
    found.add(number - 1 if number else None)
    return sorted(each for each in found if each is not None)


def located(text: str) -> Iterator[Part]:
    """The pieces of a text with their places, found again by their visible characters."""
    position = 0
    for piece in split_pieces(text):
        # An item may be several sentences; a row is a unit whatever is in its cells.
        for sentence in split_sentences(piece.text) if piece.kind == "item" else [piece.text]:
            start = position
            while text[start].isspace():
                start += 1
            position = _end(text, start, sentence)
            yield Part(start, position, piece.kind)


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


def _groups(parts: Iterator[Part], longest: int) -> Iterator[list[Part]]:
    """Neighbours of one kind, together as long as they are short."""
    group: list[Part] = []
    for part in parts:
        if group and not _goes_with(group, part, longest):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def _goes_with(group: Sequence[Part], part: Part, longest: int) -> bool:
    is_joined = part.kind in _JOINED and part.kind == group[0].kind
    return is_joined and part.end - group[0].start <= longest
