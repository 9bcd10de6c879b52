"""Rule A for tables: whether the numbers of a sentence are in the cells that it names."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.grounding.values import Number, Values, numbers_of
from core.grounding.wording import Words, wording_of
from core.text.numbers import SCALES

LEAST_NAMED = 0.5
"""The share of a sentence's content words that are words of the table's labels or titles, or its numbers."""


class Row(NamedTuple):
    """The label of a row, what is written above and before it, and the column and text of each other cell."""

    label: str
    title: str
    cells: tuple[tuple[str, str], ...]


def row_of(text: str, header: str, heading: str) -> Row | None:
    """`Oslo | 2022: 31 | 2023: 33`, or `Oslo | 31 | 33` below `Branch | 2022 | 2023`; None without cells."""
    first, *others = (cell.strip() for cell in text.strip(" |").split("|"))
    columns = [cell.strip() for cell in header.strip(" |").split("|")][1:]
    if len(columns) != len(others):
        columns = [""] * len(others)
    cells = tuple(_labelled(cell, column) for cell, column in zip(others, columns, strict=True))
    title, _, label = first.rpartition(": ")
    return Row(label, f"{heading}\n{header}\n{title}", cells) if cells and label else None


def _labelled(cell: str, column: str) -> tuple[str, str]:
    label, mark, value = cell.rpartition(": ")
    return (label, value) if mark else (column, cell)


def are_in_cells(sentence: str, rows: Sequence[Row], language: str) -> bool:
    """Whether each number of a sentence is in a cell of a row all of whose label's words it has.

    If it has all words of the labels of some columns, the cell is in one of these. Numbers of labels only
    name something. Verbs are free, but half of the words are the table's; a sentence that negates has none.
    """
    said = wording_of(sentence, language)
    stated = list(numbers_of(sentence, language)) if rows else []
    if not stated or said.negators:
        return False
    words = frozenset(said.content)
    wanted = _named((row.label for row in rows), words, language)
    named = [row for row in rows if row.label in wanted]
    columns = dict.fromkeys(label for row in named for label, _ in row.cells)
    meant = _named(columns, words, language)
    names = "\n".join((*dict.fromkeys(text for row in named for text in (row.label, row.title)), *columns))
    labels = Values("\n".join((*(row.label for row in named), *meant)))
    cells = [text for row in named for label, text in row.cells if not meant or label in meant]
    values = {
        value for text in dict.fromkeys(cells) for each in numbers_of(text, language) for value in each.values
    }
    stated = [number for number in stated if not labels.have(number)]
    known = sum(map(frozenset(Words([names], language).wording(0).content).__contains__, said.content))
    if not stated or known + len(stated) < LEAST_NAMED * len(said.content):
        return False
    return all(_is_among(number, values, names) for number in stated)


def _is_among(number: Number, values: set[float], names: str) -> bool:
    """Whether a cell has the number; a scale of it must be that of the cell, or be written above."""
    scale = SCALES.get(number.written.rpartition(" ")[2])
    named = scale is None or any(
        SCALES.get(word.strip("().,:")) == scale for word in names.casefold().split()
    )
    return not values.isdisjoint(number.values if named else number.values[:1])


def _named(labels: Iterable[str], words: frozenset[str], language: str) -> set[str]:
    """The labels all of whose content words are among these."""
    distinct = list(dict.fromkeys(labels))
    read = Words(distinct, language)
    contents = (read.wording(number).content for number in range(len(distinct)))
    return {
        label for label, content in zip(distinct, contents, strict=True) if content and words >= {*content}
    }
