"""CSV and its relatives: rows with the names of their columns."""

import csv
from collections.abc import Iterator
from pathlib import Path

from core.documents.extraction.prose import load
from core.documents.extraction.tables import render_rows
from core.documents.extraction.units import Reading, pack

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
_MAX_FIELD = 2**31 - 1


def read(source: Path) -> Reading:
    """The rows, in parts of a citable size."""
    csv.field_size_limit(_MAX_FIELD)
    lines = load(source).split("\n")
    rows = csv.reader(_with_ends(lines), delimiter=_delimiter(lines[:_SAMPLE_ROWS]))
    return Reading(pack(filter(None, render_rows(rows))))


def _with_ends(lines: list[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _delimiter(sample: list[str]) -> str:
    """The delimiter that cuts most rows into the same number of columns, two or more."""
    best, best_score = ",", 0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(_with_ends(sample), delimiter=delimiter) if row]
        common = max(set(widths), key=widths.count, default=1)
        score = widths.count(common) if common > 1 else 0
        if score > best_score:
            best, best_score = delimiter, score
    return best
