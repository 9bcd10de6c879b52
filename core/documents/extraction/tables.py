"""Rows of a table as lines that can be read on their own."""

import re
from collections.abc import Iterable, Iterator, Sequence

MAX_HEADER_CHARACTERS = 80
_NUMBER = re.compile(r"[\s$€£¥%+\-()]*\d[\d.,\s%$€£¥()/:\-]*")


def render_rows(rows: Iterable[Sequence[str]], *, header: bool = False) -> Iterator[str]:
    """`Header: value | Header: value` below a header row, else `a | b | c`; an empty row is an empty line.

    The first row that holds more than one cell decides; `header` says that it certainly is one.
    """
    lines = (_squeeze(row) for row in rows)
    pending: list[str] | None = None
    names: list[str] | None = None
    for row in lines:
        if row and pending is not None:
            names = pending if _is_header(pending, row, header) else []
            pending = None
        if names is None and sum(map(bool, row)) > 1:
            pending = row
        yield _line(row, names or [])


def _squeeze(row: Sequence[str]) -> list[str]:
    cells = [" ".join(cell.split()) for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _is_header(row: Sequence[str], following: Sequence[str], certain: bool) -> bool:
    """Two columns are a header only above numbers: else they are mostly a list of names and values."""
    if certain:
        return True
    if any(not cell or len(cell) > MAX_HEADER_CHARACTERS or _NUMBER.fullmatch(cell) for cell in row):
        return False
    if len(set(row)) < len(row):
        return False
    return len(row) > 2 or bool(_NUMBER.fullmatch(following[-1]))


def _line(row: Sequence[str], names: Sequence[str]) -> str:
    cells = [
        f"{names[column]}: {cell}" if column < len(names) and names[column] else cell
        for column, cell in enumerate(row)
        if cell
    ]
    return " | ".join(cells)
