"""Tables of all formats: a grid of cells, its header rows, and a line of text for each row."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from typing import NamedTuple

from orc_core.extraction.pages import BREAK, SOFT_BREAK, Block
from orc_core.text.numbers import CURRENCY_SIGNS

ACROSS = "\x11"
"""A place that the cell to its left covers, too."""
MAX_COLUMNS = 1000
"""Of a table in a text; a wider one is an attack."""
MAX_HEADER_CHARACTERS, MAX_REPEATED = 80, 300
MAX_DIGITS = 10
MAX_HEADER_ROWS = 3
_LOOK_AHEAD = 200
"""Rows that decide which columns are used."""
_SIGN_BEFORE, _SIGN_BEHIND = re.compile(f"[{CURRENCY_SIGNS}]"), re.compile(r"\)?%?\)?")
_BEGINS_NUMBER = re.compile(r"[(\u2212-]?\d|[\u2014\u2013-]$")
_OPEN_NUMBER = re.compile(rf"[{CURRENCY_SIGNS}(\u2212-]*\d[\d.,]*%?")
_NUMBER = re.compile(r"[\s$€£¥%+\-()]*\d[\d.,\s%$€£¥()/:\-]*")
_PERIOD = re.compile(
    r"(?:FY\s?)?(?:19|20)\d\d(?:[/–-]\d{2,4})?[a-z*]?(?:\s?\([%$€£¥]\))?|(?:19|20)\d\d-\d\d(?:-\d\d)?|"
    r"\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})|\d{1,2}[./](?:19|20)\d\d|\d{1,2}[:h]\d\d(?::\d\d)?",
    re.IGNORECASE,
)
"""A year, a date, a month in figures or a time of day."""
_RANGE = re.compile(r"\d[\d.,]*\s?[–-]\s?\d[\d.,]*")


class Cell(NamedTuple):
    """A cell of a table, and how many columns and rows it covers."""

    text: str
    columns: int = 1
    rows: int = 1


def span(value: object) -> int:
    """How many columns or rows the attribute of a cell says, at least 1."""
    number = str(value or "")
    return max(int(number), 1) if number.isdecimal() and len(number) < MAX_DIGITS else 1


def repeated(text: str) -> str:
    """The text of a cell in the further rows that it covers; a long one is not repeated."""
    return text if len(text) <= MAX_REPEATED else ""


def grid(rows: Iterable[Sequence[Cell]], most: int = MAX_COLUMNS) -> Iterator[list[str]]:
    """The text of every place of at most `most` columns.

    A cell over several rows is repeated; the further columns of a cell are ACROSS.
    """
    hanging: dict[int, tuple[str, int]] = {}
    for cells in rows:
        row: list[str] = []
        waiting, last = iter(cells), max(hanging, default=-1)
        while len(row) < most:
            if len(row) in hanging:
                text, left = hanging.pop(len(row))
                if left > 1:
                    hanging[len(row)] = text, left - 1
                row.append(text)
                continue
            cell = next(waiting, None)
            if cell is None:
                if len(row) > last:
                    break
                cell = Cell("")
            across = ACROSS if cell.text.strip() else ""
            for text in (cell.text, *[across] * (min(cell.columns, most - len(row)) - 1)):
                if cell.rows > 1:
                    hanging[len(row)] = repeated(text), cell.rows - 1
                row.append(text)
        yield row


# Why each row has the names of its columns: docs/decisions/tables.md.
def table_blocks(rows: list[list[str]], *, header: int = 0) -> Iterator[Block]:
    """One block for each row. A row with a page break is not split: it follows the break."""
    for row, line in zip(rows, render_rows(rows, header=header), strict=True):
        breaks = any(mark in cell for cell in row for mark in (BREAK, SOFT_BREAK))
        yield Block((SOFT_BREAK if breaks else "") + line)


def render_rows(rows: Iterable[Sequence[str]], *, header: int = 0) -> Iterator[str]:
    """`Name: value | Name: value` below the header, otherwise `a | b | c` with blanks for empty cells.

    `header`: the number of rows that the file itself declares as header. Otherwise the first row with more
    than one cell decides, and the rows below it. Empty rows stay empty, and columns that are always empty are
    left out. Below an empty row, a row that names columns begins another table.
    """
    for number, table in groupby(_by_table(rows), key=itemgetter(0)):
        yield from _render_table((row for _, row in table), 0 if number else header)


def _by_table(rows: Iterable[Sequence[str]]) -> Iterator[tuple[int, list[str]]]:
    number, is_empty_before, width = 0, False, 0
    for row, below in pairwise(chain(map(_tidy, rows), [[]])):
        if is_empty_before and len(row) > 1 and len(below) > 1:
            is_other = len(row) != width or (len(row) > 2 and set(filter(None, row)).isdisjoint(below))
            number += is_other and _is_header(row, below) and _are_above_numbers(row, below)
        is_empty_before, width = not row, len(row) or width
        yield number, row


def _render_table(waiting: Iterator[list[str]], header: int) -> Iterator[str]:
    head = list(islice(waiting, _LOOK_AHEAD))
    start = next((at for at, row in enumerate(head) if _count(row) > 1), len(head))
    groups = _sign_groups(head[start:])
    head = [_regrouped(row, groups) for row in head]
    table = [row for row in head[start:] if row]
    declared = sum(map(bool, head[start:header]))
    is_declared = 1 < declared <= min(MAX_HEADER_ROWS, len(table) - 1)
    depth = declared if is_declared else _header_rows(table, is_certain=declared == 1)
    names = _names(table[:depth])
    used = {at for row in table if _count(row) > 1 for at, cell in enumerate(row) if _is_own(cell)}
    before = ""
    for number, row in enumerate(chain(head, (_regrouped(row, groups) for row in waiting))):
        is_below = number >= start and depth <= 0
        depth -= number >= start and bool(row)
        kept = [cell for at, cell in enumerate(row) if cell != ACROSS and (cell or at in used)]
        line = _line(row, names, used) if is_below else _joined(kept)
        yield line if is_below or line != before else ""  # a name over several rows
        before = line


def _tidy(cells: Sequence[str]) -> list[str]:
    row = [" ".join(cell.split()) for cell in cells]
    while row and not row[-1]:
        row.pop()
    return row


def _count(row: Sequence[str]) -> int:
    return sum(map(_is_own, row))


def _sign_groups(rows: Sequence[Sequence[str]]) -> list[int]:
    """The new column of each column: those that filings give to signs, as `$` and `)`, join the numbers.

    So do those that have a name, but no values, if the next column has only values. Columns join only if they
    never both have a cell in one row, as two named columns have.
    """
    width = min(max(map(len, rows), default=0), MAX_COLUMNS)
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    groups: list[int] = []
    current: list[str] = []
    for column in range(width):
        cells = [row[column] for row in padded]
        joins = [_join(one, other) for one, other in zip(current, cells, strict=bool(groups))]
        is_joined = bool(groups) and None not in joins and _belong(current, cells)
        groups.append(groups[-1] + (not is_joined) if groups else 0)
        current = [joint or "" for joint in joins] if is_joined else cells
    return groups


def _belong(column: Sequence[str], following: Sequence[str]) -> bool:
    """Whether two columns are one: numbers and their signs, a name and its values, or one is empty."""
    if not any(map(_is_own, column)) or not any(map(_is_own, following)):
        return True
    is_name = bool(column[0]) and not any(column[1:]) and not following[0]
    return is_name or any(map(_is_sign_of, column, following))


def _is_own(cell: str) -> bool:
    return bool(cell) and cell != ACROSS


def _join(one: str, other: str) -> str | None:
    """Two cells as one; None if both have something to say."""
    if not one or not other or other == ACROSS or one == ACROSS:
        return one if (one and one != ACROSS) or not other else other
    return one + other if _is_sign_of(one, other) else None


def _is_sign_of(one: str, other: str) -> bool:
    """Whether one of these neighbours is the sign of the other, which is a number."""
    if _SIGN_BEFORE.fullmatch(one):
        return _BEGINS_NUMBER.match(other) is not None
    return bool(one and other and _SIGN_BEHIND.fullmatch(other) and _OPEN_NUMBER.fullmatch(one))


def _regrouped(row: list[str], groups: Sequence[int]) -> list[str]:
    """The row in its new columns; a bracket or percent sign alone joins the number before it."""
    cells: list[str] = []
    for column, cell in enumerate(row):
        place = groups[column] if column < len(groups) else len(cells)
        if place < len(cells):
            joint = _join(cells[place], cell)
            cells[place] = f"{cells[place]} {cell}" if joint is None else joint
        elif place > 1 and _SIGN_BEHIND.fullmatch(cell) and _is_sign_of(cells[-1], cell):
            cells[-1:] = [cells[-1] + cell, ""]
        else:
            cells.append(cell)
    return cells


def _line(row: Sequence[str], names: Sequence[str], used: set[int]) -> str:
    if names and len(row) > 1 and row[1:] == [ACROSS] * (len(row) - 1):  # a title within the table
        return row[0]
    cells: list[str] = []
    for column, cell in enumerate(row):
        if cell and cell != ACROSS:
            # The name of the column, or the names of all columns that the cell covers.
            end = column + 1
            while end < len(row) and row[end] == ACROSS:
                end += 1
            name = " / ".join(dict.fromkeys(filter(None, names[column:end])))
            cells.append(f"{name}: {cell}" if name and name != cell else cell)
        elif not any(names) and column in used:
            cells.append("")
    return _joined(cells)


def _joined(cells: Sequence[str]) -> str:
    """The cells with blanks between them; without, if there is only one."""
    filled = list(filter(None, cells))
    return " | ".join(cells if len(filled) > 1 else filled).rstrip(" |")


def _names(rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of the columns: of two header rows the group and what it contains, `2025 Q1`."""
    names: list[list[str]] = [[] for _ in range(max(map(len, rows), default=0))]
    for row, below in pairwise([*rows, []]):
        name = ""
        for column in range(max(len(row), len(below))):
            cell = row[column] if column < len(row) else ""
            # A group also names the columns that it covers, or that are blank behind it.
            is_covered = cell == ACROSS or (not cell and column < len(below) and bool(below[column]))
            name = name if is_covered else cell
            if name and name not in names[column]:
                names[column].append(name)
    return [" ".join(name) for name in names]


def _header_rows(table: Sequence[Sequence[str]], *, is_certain: bool) -> int:
    if len(table) > 2 and _is_group(table[0], table[1]) and _are_names(table[1], table[2:]):
        return 2
    below = next((row for row in table[1:] if _count(row) > 1), None)
    return int(bool(table) and (is_certain or (below is not None and _is_header(table[0], below))))


def _is_group(row: Sequence[str], below: Sequence[str]) -> bool:
    """Whether cells of the row stand over several of the row below."""
    cells = [cell for cell in row[1:] if cell]
    while row and not row[0]:
        row = row[1:]
    spans = ACROSS in row or "" in row or len(set(cells)) < len(cells) or len(row) < len(below)
    return spans and _count(row) > 0 and all(len(cell) <= MAX_HEADER_CHARACTERS for cell in cells)


def _are_names(row: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Whether a second row names columns: it repeats itself, or there are numbers below its words."""
    cells = [cell for cell in row if cell and cell != ACROSS]
    if ACROSS in row or len(cells) < 2 or any(len(cell) > MAX_HEADER_CHARACTERS for cell in cells):
        return False
    if any(_NUMBER.fullmatch(cell) and not _PERIOD.fullmatch(cell) for cell in cells):
        return False
    return len(set(cells)) < len(cells) or _are_above_numbers(row, following[0])


def _are_above_numbers(row: Sequence[str], below: Sequence[str]) -> bool:
    pairs = zip(row, below, strict=False)
    return any(name and _NUMBER.fullmatch(cell) and not _PERIOD.fullmatch(cell) for name, cell in pairs)


def _is_header(row: Sequence[str], below: Sequence[str]) -> bool:
    """Two columns have a header only above numbers; otherwise they are usually names and values."""
    cells = [cell for cell in row if cell and cell != ACROSS]
    if any(len(cell) > MAX_HEADER_CHARACTERS for cell in cells) or len(set(cells)) < len(cells):
        return False
    if numbers := [cell for cell in cells if _NUMBER.fullmatch(cell)]:
        # Years, dates or ranges above something else, or numbers in equal steps: a row of years among others
        # is no header. Neither is one that begins with a time, as those of a timetable do.
        kinds = (_PERIOD, _RANGE) if len(numbers) > 1 else (_PERIOD,)  # a number with a hyphen is no range
        kind = next((each for each in kinds if all(map(each.fullmatch, numbers))), None)
        is_counted = _has_equal_steps(numbers) and len(numbers) > (2 if kind or numbers[0] == "1" else 3)
        if row[0] in numbers or not (is_counted or kind):
            return False
        values = [cell for name, cell in zip(row, below, strict=False) if cell and _NUMBER.fullmatch(name)]
        return is_counted or not kind or not values or not all(map(kind.fullmatch, values))
    if "" in row:
        return 2 * row.count("") <= len(row) and _are_above_numbers(row, below)
    return len(row) > 2 or bool(_NUMBER.fullmatch(below[-1]))


def _has_equal_steps(numbers: Sequence[str]) -> bool:
    if not all(map(str.isdecimal, numbers)):
        return False
    return len({int(other) - int(one) for one, other in pairwise(numbers)} | {0}) == 2
