"""Sheets of all formats: merged cells, hidden rows, columns and sheets, notes on cells."""

from collections.abc import Collection, Container, Iterable, Iterator
from typing import NamedTuple

from orc_core.extraction.pages import Unit, pack
from orc_core.extraction.tables import ACROSS, render_rows, repeated

MOST_MERGED = 1_000_000
"""Places of a sheet that merged cells may cover; further ones stay as they are."""


class Merged(NamedTuple):
    """A merged cell: its first row and column from 0, and those behind it."""

    top: int
    left: int
    bottom: int
    right: int


def sheet_units(
    rows: Iterable[list[str]],
    name: str,
    *,
    is_hidden: bool = False,
    hidden_rows: Container[int] = (),
    hidden_columns: Collection[int] = (),
) -> Iterator[Unit]:
    """The rows of a sheet in units labelled with its name; one empty unit if it has no text.

    What is hidden may be added while the rows are read.
    """
    label = f"{name} (hidden sheet)" if is_hidden else name
    lines = enumerate(render_rows(_with_hidden(rows, hidden_columns)))
    shown = (f"{line} (hidden row)" if row in hidden_rows else line for row, line in lines if line)
    units = pack(shown, label)
    yield next(units, Unit("", label))
    yield from units


def _with_hidden(rows: Iterable[list[str]], hidden: Collection[int]) -> Iterator[list[str]]:
    """The rows with a label at the first text of each hidden column, which is usually its name."""
    done: set[int] = set()
    for row in rows:
        if len(done) < len(hidden):
            for column, text in enumerate(row):
                if text and text != ACROSS and column in hidden and column not in done:
                    row[column] = f"{text} (hidden column)"
                    done.add(column)
        yield row


def with_merged(rows: Iterable[list[str]], merged: Iterable[Merged]) -> Iterator[list[str]]:
    """The rows with the text of a merged cell in each row that it covers."""
    starts: dict[int, list[Merged]] = {}
    covered = 0
    for area in merged:
        covered += (area.bottom - area.top) * (area.right - area.left)
        if covered > MOST_MERGED:
            break
        starts.setdefault(area.top, []).append(area)
    active: list[tuple[Merged, str]] = []
    for number, row in enumerate(rows):
        for area, text in active:
            _fill(row, area, text)
        for area in starts.get(number, []):
            text = row[area.left] if area.left < len(row) else ""
            _fill(row, area, text)
            active.append((area, repeated(text)))
        active = [(area, text) for area, text in active if area.bottom > number + 1]
        yield row


def _fill(row: list[str], area: Merged, text: str) -> None:
    if text.strip():
        row += [""] * (area.right - len(row))
        row[area.left : area.right] = [text, *[ACROSS] * (area.right - area.left - 1)]
