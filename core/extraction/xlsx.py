"""XLSX, one unit for each sheet, or several with the sheet's name where it is long."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path

from openpyxl import load_workbook
from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from core.extraction.cell_values import show_moment, show_number
from core.extraction.errors import unreadable
from core.extraction.pages import Reading, Unit, pack, render_rows

MAX_COLUMNS = 16_384
"""As many as Excel itself allows."""


def read(source: Path) -> Reading:
    """The values as the file last showed them: results, not formulas."""
    file = source.open("rb")  # by its path openpyxl would refuse a file for its extension
    workbook = load_workbook(file, read_only=True, data_only=True, keep_links=False)
    sheets = workbook.worksheets
    if not sheets:
        raise unreadable("empty")
    return Reading(chain.from_iterable(_sheet(sheet) for sheet in sheets))


def _sheet(sheet: ReadOnlyWorksheet) -> Iterator[Unit]:
    sheet.reset_dimensions()  # what the file claims of its size can be a million empty rows
    rows = ([_shown(cell) for cell in row[:MAX_COLUMNS]] for row in sheet.rows)
    empty = True
    for unit in pack(filter(None, render_rows(rows)), sheet.title):
        empty = False
        yield unit
    if empty:
        yield Unit("", sheet.title)


def _shown(cell: Cell | MergedCell) -> str:
    """The value as a person sees it: dates without an empty time, percentages as such."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return show_moment(value)
    if isinstance(value, int | float):
        return show_number(value, is_share="%" in (cell.number_format or ""))
    return str(value)
