"""XLS: one unit for each sheet, or several with the sheet's name if it is long."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from core.extraction.drawings import show_moment, show_number
from core.extraction.number_formats import is_duration, show_duration, show_formatted
from core.extraction.pages import Unit, UnitStream, pack, unreadable
from core.extraction.raised import lowered, raised
from core.extraction.sheets import Merged, sheet_units, with_merged

# Imported by the reader only.
if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.formatting import Font
    from xlrd.sheet import Cell, Sheet

_RISES = {1: raised, 2: lowered}


def read(source: Path) -> UnitStream:
    """The values that the file last showed: results, not formulas."""
    import xlrd
    from xlrd.biffh import XLRDError

    try:
        book = xlrd.open_workbook(str(source), formatting_info=True, ragged_rows=True, on_demand=True)
    except XLRDError as error:
        raise unreadable("encrypted" if "encrypted" in str(error) else "corrupt") from error
    if not book.nsheets:
        raise unreadable("empty")
    return UnitStream(chain.from_iterable(_units(book, index) for index in range(book.nsheets)))


def _units(book: "Book", index: int) -> Iterator[Unit]:
    sheet = book.sheet_by_index(index)
    rows = (
        [_value(book, sheet, row, column, cell) for column, cell in enumerate(sheet.row(row))]
        for row in range(sheet.nrows)
    )
    merged = (Merged(top, left, bottom, right) for top, bottom, left, right in sheet.merged_cells)
    hidden = {row for row, info in sheet.rowinfo_map.items() if info.hidden}
    name = sheet.name
    yield from sheet_units(
        with_merged(rows, merged), name, is_hidden=sheet.visibility > 0, hidden_rows=hidden
    )
    notes = sorted(sheet.cell_note_map.items())
    yield from pack((f"Comment: {' '.join(note.text.split())}" for _, note in notes), f"{name} (comments)")
    book.unload_sheet(index)


def _value(book: "Book", sheet: "Sheet", row: int, column: int, cell: "Cell") -> str:
    """The value as people see it; "" if it is struck."""
    import xlrd

    value, font = cell.value, _font(book, cell)
    if font is not None and font.struck_out:
        return ""
    if not isinstance(value, int | float):
        runs = sheet.rich_text_runlist_map.get((row, column))
        return _rich(str(value), runs, book) if runs else str(value)
    if cell.ctype == xlrd.XL_CELL_DATE:
        return _moment(value, book, _format(book, cell))
    if cell.ctype == xlrd.XL_CELL_NUMBER:
        return show_formatted(value, _format(book, cell))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return str(bool(value)).upper()
    return xlrd.error_text_from_code.get(int(value), "#ERROR")


def _rich(text: str, runs: list[tuple[int, int]], book: "Book") -> str:
    """The text of a cell without its struck runs, with raised figures as such."""
    starts = [(0, -1), *runs, (len(text), -1)]
    shown = ""
    for (start, number), (end, _) in pairwise(starts):
        font = book.font_list[number] if 0 <= number < len(book.font_list) else None
        if font is None or not font.struck_out:
            piece = text[start:end]
            shown += _RISES.get(font.escapement, str)(piece) if font else piece
    return shown


def _moment(value: float, book: "Book", code: str) -> str:
    """A date; a time of day if the number has no day; hours; or the number itself."""
    from xlrd.xldate import XLDateError, xldate_as_datetime

    if is_duration(code):
        return show_duration(timedelta(days=value))
    try:
        moment = xldate_as_datetime(value, 1 if book.datemode else 0)
    except (XLDateError, OverflowError, ValueError):
        return show_number(value)
    return moment.time().isoformat() if 0 <= value < 1 else show_moment(moment)


def _font(book: "Book", cell: "Cell") -> "Font | None":
    if cell.xf_index is None or cell.xf_index >= len(book.xf_list):
        return None
    number = book.xf_list[cell.xf_index].font_index
    return book.font_list[number] if number < len(book.font_list) else None


def _format(book: "Book", cell: "Cell") -> str:
    if cell.xf_index is None or cell.xf_index >= len(book.xf_list):
        return ""
    number_format = book.format_map.get(book.xf_list[cell.xf_index].format_key)
    return number_format.format_str if number_format else ""
