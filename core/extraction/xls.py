"""XLS, one unit for each sheet, or several with the sheet's name where it is long."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import xlrd
from xlrd.biffh import XLRDError
from xlrd.book import Book
from xlrd.sheet import Cell, Sheet
from xlrd.xldate import XLDateError, xldate_as_datetime

from core.extraction.cell_values import show_moment, show_number
from core.extraction.errors import unreadable
from core.extraction.pages import Reading, Unit, pack, render_rows


def read(source: Path) -> Reading:
    """The values as the file last showed them: results, not formulas."""
    try:
        book = xlrd.open_workbook(str(source), formatting_info=True, ragged_rows=True, on_demand=True)
    except XLRDError as error:
        raise unreadable("encrypted" if "encrypted" in str(error) else "corrupt") from error
    if not book.nsheets:
        raise unreadable("empty")
    return Reading(chain.from_iterable(_sheet(book, index) for index in range(book.nsheets)))


def _sheet(book: Book, index: int) -> Iterator[Unit]:
    sheet = book.sheet_by_index(index)
    empty = True
    for unit in pack(filter(None, render_rows(_rows(book, sheet))), sheet.name):
        empty = False
        yield unit
    if empty:
        yield Unit("", sheet.name)
    book.unload_sheet(index)


def _rows(book: Book, sheet: Sheet) -> Iterator[list[str]]:
    for number in range(sheet.nrows):
        yield [_shown(book, cell) for cell in sheet.row(number)]


def _shown(book: Book, cell: Cell) -> str:
    value = cell.value
    if not isinstance(value, int | float):
        return str(value)
    if cell.ctype == xlrd.XL_CELL_DATE:
        return _moment(value, book)
    if cell.ctype == xlrd.XL_CELL_NUMBER:
        return show_number(value, is_share="%" in _number_format(book, cell))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return str(bool(value)).upper()
    return xlrd.error_text_from_code.get(int(value), "#ERROR")


def _moment(value: float, book: Book) -> str:
    """A date, a time of day where the number has no day, or the number itself where it is neither."""
    try:
        moment = xldate_as_datetime(value, 1 if book.datemode else 0)
    except (XLDateError, OverflowError, ValueError):
        return show_number(value)
    return moment.time().isoformat() if 0 <= value < 1 else show_moment(moment)


def _number_format(book: Book, cell: Cell) -> str:
    xf_index = cell.xf_index
    if xf_index is None or xf_index >= len(book.xf_list):
        return ""
    number_format = book.format_map.get(book.xf_list[xf_index].format_key)
    return number_format.format_str if number_format else ""
