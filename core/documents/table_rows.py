"""Rows of tables in a page's text, and the line that names their columns."""

import re
from collections.abc import Iterator

LONGEST_HEADER = 160
LEAST_FIGURES = 0.15
MOST_ROWS_BACK = 80
MOST_LINES_BACK = 4

_FIGURE = re.compile(r"(?<![\w.])[$€£(+-]*\d[\d.,]*[%)]*(?![\w.])")
_COLUMN_NAME = re.compile(
    r"\bQ[1-4](?:\s(?:FY)?\d{2,4})?\b|\bFY\s?\d{2,4}\b|\b[1-4]Q\d\d\b|\b(?:19|20)\d\d\b|%"
)
_CELLS = re.compile(r"\s+\|\s+|\t+|\s{3,}")


def is_row(line: str) -> bool:
    """Whether a line looks like a row of a table: a name and several figures, or several cells."""
    figures = len(_FIGURE.findall(line))
    cells = len(_CELLS.split(line.strip()))
    return (figures >= 2 and figures >= LEAST_FIGURES * len(line.split())) or (figures >= 1 and cells >= 2)


def is_column_header(line: str) -> bool:
    """Whether a line looks like one that names columns: years, quarters, or cells without figures."""
    line = line.strip()
    if not line or len(line) > LONGEST_HEADER or line.endswith("."):
        return False
    if len(_COLUMN_NAME.findall(line)) >= 2:
        return _FIGURE.search(_COLUMN_NAME.sub("", line)) is None
    cells = _CELLS.split(line)
    return len(cells) >= 3 and not any(_FIGURE.search(cell) for cell in cells)


def header_above(text: str, start: int) -> str:
    """The header of the table whose row starts at this place; empty where the place is in no table.

    None of its lines may be far from a row: a table that ended long before has nothing to say.
    """
    if not is_row(_line_at(text, start)):
        return ""
    since_row = 0
    for line in _lines_before(text, start):
        if is_column_header(line):
            return line.strip()
        since_row = 0 if is_row(line) else since_row + 1
        if since_row > MOST_LINES_BACK:
            break
    return ""


def _lines_before(text: str, start: int) -> Iterator[str]:
    """The lines above a place, nearest first, as many as a table may have."""
    end = start
    for _ in range(MOST_ROWS_BACK):
        if end <= 0:
            return
        begin = text.rfind("\n", 0, end - 1) + 1
        yield text[begin:end]
        end = begin


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]
