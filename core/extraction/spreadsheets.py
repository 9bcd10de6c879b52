"""XLSX and XLS: one unit for each sheet, or several with the sheet's name if it is long."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from lxml.etree import LxmlError

from core.errors import UnreadableDocument
from core.extraction.drawings import chart_lines, show_moment, show_number
from core.extraction.packages import Package
from core.extraction.pages import Unit, UnitStream, pack, sheet_units, unreadable

# Each library is imported by its own reader only: openpyxl alone takes a third of a second.
if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell as XlsxCell
    from openpyxl.cell.cell import MergedCell
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from xlrd.book import Book
    from xlrd.sheet import Cell as XlsCell

MAX_COLUMNS = 16_384
"""The limit of Excel itself."""


def read_xlsx(source: Path, memory_bytes: int) -> UnitStream:
    """The values that the file last showed: results, not formulas. The charts follow the sheets."""
    # openpyxl would import numpy without using it, and numpy ends the process if memory is short.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    from openpyxl import load_workbook

    file = source.open("rb")  # given a path, openpyxl refuses some extensions
    sheets = load_workbook(file, read_only=True, data_only=True, keep_links=False).worksheets
    if not sheets:
        raise unreadable("empty")
    charts = _xlsx_charts(Package(source, memory_bytes))
    return UnitStream(chain(chain.from_iterable(_xlsx_units(sheet) for sheet in sheets), charts))


def read_xls(source: Path) -> UnitStream:
    """The values that the file last showed: results, not formulas."""
    import xlrd
    from xlrd.biffh import XLRDError

    try:
        book = xlrd.open_workbook(str(source), formatting_info=True, ragged_rows=True, on_demand=True)
    except XLRDError as error:
        raise unreadable("encrypted" if "encrypted" in str(error) else "corrupt") from error
    if not book.nsheets:
        raise unreadable("empty")
    return UnitStream(chain.from_iterable(_xls_units(book, index) for index in range(book.nsheets)))


def _xlsx_units(sheet: "ReadOnlyWorksheet") -> Iterator[Unit]:
    sheet.reset_dimensions()  # the declared size can be a million empty rows
    rows = ([_xlsx_value(cell) for cell in row[:MAX_COLUMNS]] for row in sheet.rows)
    return sheet_units(rows, sheet.title)


def _xlsx_charts(package: Package) -> Iterator[Unit]:
    """The titles and values of the charts; a chart's values can come from another file."""
    workbook = package.main_part("xl/workbook.xml")
    sheets = [link.part for link in package.relations(workbook).values() if link.purpose.endswith("sheet")]
    links = chain.from_iterable(package.relations(sheet).values() for sheet in sheets)
    drawings = [link.part for link in links if link.purpose == "drawing"]
    lines: list[str] = []
    # A damaged chart, or one too large to parse, is no reason to refuse the sheets.
    with suppress(LxmlError, UnreadableDocument):
        for chart in chain.from_iterable(package.related(drawing, "chart") for drawing in drawings):
            lines += chart_lines(chart)
    yield from pack(lines, "Charts")


def _xlsx_value(cell: "XlsxCell | MergedCell") -> str:
    """The value as people see it."""
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


def _xls_units(book: "Book", index: int) -> Iterator[Unit]:
    sheet = book.sheet_by_index(index)
    rows = ([_xls_value(book, cell) for cell in sheet.row(number)] for number in range(sheet.nrows))
    yield from sheet_units(rows, sheet.name)
    book.unload_sheet(index)


def _xls_value(book: "Book", cell: "XlsCell") -> str:
    import xlrd

    value = cell.value
    if not isinstance(value, int | float):
        return str(value)
    if cell.ctype == xlrd.XL_CELL_DATE:
        return _xls_moment(value, book)
    if cell.ctype == xlrd.XL_CELL_NUMBER:
        return show_number(value, is_share="%" in _xls_number_format(book, cell))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return str(bool(value)).upper()
    return xlrd.error_text_from_code.get(int(value), "#ERROR")


def _xls_moment(value: float, book: "Book") -> str:
    """A date; a time of day if the number has no day; the number itself if it is neither."""
    from xlrd.xldate import XLDateError, xldate_as_datetime

    try:
        moment = xldate_as_datetime(value, 1 if book.datemode else 0)
    except (XLDateError, OverflowError, ValueError):
        return show_number(value)
    return moment.time().isoformat() if 0 <= value < 1 else show_moment(moment)


def _xls_number_format(book: "Book", cell: "XlsCell") -> str:
    if cell.xf_index is None or cell.xf_index >= len(book.xf_list):
        return ""
    number_format = book.format_map.get(book.xf_list[cell.xf_index].format_key)
    return number_format.format_str if number_format else ""
