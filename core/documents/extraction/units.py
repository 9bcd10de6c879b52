"""From running text to units of a citable size."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from core.documents.extraction.text import count_letters

UNIT_CHARACTERS = 6000


class Unit(NamedTuple):
    """The text of one page, slide, sheet or section, before it is cleaned.

    `boxes` says where the words of the cleaned text stand, see boxes.py; b"" where that is not known.
    """

    text: str
    label: str = ""
    boxes: bytes = b""


class Block(NamedTuple):
    """A paragraph or a table. One with a `heading` begins a section of that name."""

    text: str
    heading: str = ""


class Reading(NamedTuple):
    """What a reader gives: the units, and how many there will be (0: not known)."""

    units: Iterator[Unit]
    total: int = 0


def by_heading(blocks: Iterable[Block], label: str = "") -> Iterator[Unit]:
    """One unit for each heading with its text; a heading without text goes with the next."""
    lines: list[str] = []
    has_body = False
    for block in blocks:
        if block.heading:
            if has_body:
                yield from fit(Unit("\n".join(lines), label))
                lines, has_body = [], False
            label = block.heading
        elif count_letters(block.text):
            has_body = True
        lines.append(block.text)
    if "".join(lines).strip():
        yield from fit(Unit("\n".join(lines), label))


def fit(unit: Unit, limit: int = UNIT_CHARACTERS) -> Iterator[Unit]:
    """The unit, cut into parts of at most `limit` characters, between paragraphs if it can be."""
    start = 0
    while len(unit.text) - start > limit:
        end = _cut(unit.text, start, start + limit)
        yield Unit(unit.text[start:end], unit.label)
        start = end
    yield Unit(unit.text[start:], unit.label)


def pack(lines: Iterable[str], label: str = "") -> Iterator[Unit]:
    """Units of whole lines; only a line that is too long by itself is cut."""
    held: list[str] = []
    size = 0
    for line in lines:
        if held and size + len(line) > UNIT_CHARACTERS:
            yield from fit(Unit("\n".join(held), label))
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield from fit(Unit("\n".join(held), label))


def _cut(text: str, start: int, end: int) -> int:
    earliest = start + (end - start) // 2
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, earliest, end)
        if at > 0:
            return at + len(mark)
    return end
