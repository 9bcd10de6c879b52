"""XLSX: one unit for each sheet, or several with the sheet's name if it is long."""

import logging
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from lxml.etree import LxmlError, _Element

from core.errors import UnreadableDocument
from core.extraction.drawings import chart_lines, show_moment
from core.extraction.number_formats import show_duration, show_formatted
from core.extraction.packages import Package, attribute
from core.extraction.pages import Unit, UnitStream, pack, unreadable
from core.extraction.raised import lowered, raised
from core.extraction.sheets import Merged, sheet_units, with_merged

# Each library is imported by its own reader only: openpyxl alone takes a third of a second.
if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell, MergedCell
    from openpyxl.cell.rich_text import TextBlock
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet
    from python_calamine import CalamineWorkbook

MAX_COLUMNS = 16_384
"""The limit of Excel itself."""
_MERGED = re.compile(rb'mergeCell\s[^>]{0,300}?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_ROW = re.compile(rb"<(?:\w+:)?row\s[^>]{0,300}>")
_HIDDEN = re.compile(rb'\shidden="(?:1|true)"')
_NUMBER = re.compile(rb'\sr="(\d{1,7})"')
_UNCOMPUTED = re.compile(
    rb'<(?:\w+:)?c\s[^>]{0,300}?r="([A-Z]{1,3}\d{1,7})"[^>]{0,300}>\s*<(?:\w+:)?f(?:\s[^>]{0,300})?>([^<]{1,300})</(?:\w+:)?f>'
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_RISES = {"superscript": raised, "subscript": lowered}

_log = logging.getLogger(__name__)


def read(source: Path, memory_bytes: int) -> UnitStream:
    """The values that the file last showed, not formulas. Notes, shapes and charts follow the sheets.

    openpyxl refuses many workbooks that Excel opens; these are read without formats.
    """
    package = Package(source, memory_bytes)
    try:
        sheets = _sheets(source)
        units = chain.from_iterable(_units(sheet, package) for sheet in sheets)
        first = list(islice(units, 1))  # some errors come with the first cell
    except (MemoryError, UnreadableDocument):
        raise
    except Exception as error:
        _log.info("extraction.workbook_refused error=%s", type(error).__name__)
        sheets = []
    return UnitStream(chain(first, units, _additions(package)) if sheets else _plainly(source, package))


def _sheets(source: Path) -> "Sequence[ReadOnlyWorksheet]":
    # openpyxl would import numpy without using it, and numpy ends the process if memory is short.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    from openpyxl import load_workbook
    from openpyxl.worksheet import _read_only
    from openpyxl.worksheet._reader import WorkSheetParser

    # Otherwise the looks of a cell's own text are lost in a sheet that is read row by row.
    _read_only.WorkSheetParser = partial(WorkSheetParser, rich_text=True)  # type: ignore[attr-defined]

    file = source.open("rb")  # given a path, openpyxl refuses some extensions
    options = {"read_only": True, "data_only": True, "keep_links": False, "rich_text": True}
    return load_workbook(file, **options).worksheets


def _units(sheet: "ReadOnlyWorksheet", package: Package) -> Iterator[Unit]:
    sheet.reset_dimensions()  # the declared size can be a million empty rows
    content = b""
    with suppress(UnreadableDocument):  # too large to look at twice
        content = package.content(sheet._worksheet_path.lstrip("/")) or b""  # type: ignore[attr-defined]
    formulas = {
        cell[1].decode(): cell[2].decode("utf-8", "replace") for cell in _UNCOMPUTED.finditer(content)
    }
    rows = ([_value(cell, formulas) for cell in row[:MAX_COLUMNS]] for row in sheet.rows)
    return sheet_units(
        with_merged(rows, _merged(content)),
        sheet.title,
        is_hidden=sheet.sheet_state != "visible",
        hidden_rows=_hidden_rows(content),
    )


def _merged(content: bytes) -> Iterator[Merged]:
    from openpyxl.utils import column_index_from_string

    for left, top, right, bottom in _MERGED.findall(content, max(content.rfind(b"sheetData>"), 0)):
        first, last = (column_index_from_string(name.decode()) for name in (left, right))
        if int(top) and first <= last <= MAX_COLUMNS:
            yield Merged(int(top) - 1, first - 1, int(bottom), last)


def _hidden_rows(content: bytes) -> set[int]:
    hidden = (row[0] for row in _ROW.finditer(content) if _HIDDEN.search(row[0]))
    return {int(number[1]) - 1 for row in hidden if (number := _NUMBER.search(row))}


def _value(cell: "Cell | MergedCell", formulas: dict[str, str]) -> str:
    """The value as people see it; "" if it is struck. A formula without a result is shown as such."""
    value = cell.value
    if value is None:
        formula = formulas.get(cell.coordinate) if formulas and hasattr(cell, "coordinate") else None
        return f"={formula}" if formula else ""
    if cell.font.strike:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return show_moment(value)
    if isinstance(value, timedelta):
        return show_duration(value)
    if isinstance(value, int | float):
        return show_formatted(value, cell.number_format or "")
    return (
        value if type(value) is str else "".join(map(_run, value)) if isinstance(value, list) else str(value)
    )


def _run(run: "TextBlock | str") -> str:
    if isinstance(run, str):
        return run
    change = _RISES.get(run.font.vertAlign or "", str)
    return "" if run.font.strike else change(run.text)


def _additions(package: Package) -> Iterator[Unit]:
    """Notes on cells, texts of shapes, and charts, whose values can come from another file."""
    workbook = package.main_part("xl/workbook.xml")
    sheets = [link.part for link in package.relations(workbook).values() if link.purpose.endswith("sheet")]
    notes: list[str] = []
    charts: list[str] = []
    # A damaged chart, or one too large to parse, is no reason to refuse the sheets.
    with suppress(LxmlError, UnreadableDocument):
        for sheet in sheets:
            for comments in package.related(sheet, "comments"):
                notes += map(_note, comments.iterfind(".//{*}comment"))
            for link in package.relations(sheet).values():
                if link.purpose == "drawing" and (drawing := package.root(link.part)) is not None:
                    notes += filter(None, map(_text, drawing.iterfind(".//{*}txBody")))
                    for chart in package.related(link.part, "chart"):
                        charts += chart_lines(chart)
    yield from pack(notes, "Comments and shapes")
    yield from pack(charts, "Charts")


def _note(comment: _Element) -> str:
    said = " ".join("".join(node.text or "" for node in comment.iter("{*}t")).split())
    return f"Comment on {attribute(comment, 'ref')}: {said}"


def _text(body: _Element) -> str:
    lines = ("".join(node.text or "" for node in line.iter("{*}t")) for line in body.iterfind("{*}p"))
    return "\n".join(filter(str.strip, lines))


def _plainly(source: Path, package: Package) -> Iterator[Unit]:
    """The values without their formats, as a library that asks for less finds them."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    try:
        workbook = CalamineWorkbook.from_path(str(source))
    except PasswordError as error:
        raise unreadable("encrypted") from error
    except CalamineError as error:
        raise unreadable("corrupt") from error
    if not workbook.sheet_names:
        raise unreadable("empty")
    sheets = (_plain_units(workbook, index) for index in range(len(workbook.sheet_names)))
    return chain(chain.from_iterable(sheets), _additions(package))


def _plain_units(workbook: "CalamineWorkbook", index: int) -> Iterator[Unit]:
    about = workbook.sheets_metadata[index]
    sheet = workbook.get_sheet_by_index(index)
    rows = ([_plain(value) for value in row[:MAX_COLUMNS]] for row in sheet.iter_rows())
    is_hidden = not str(about.visible).endswith("Visible")
    return sheet_units(rows, about.name, is_hidden=is_hidden)


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return show_formatted(value, "")
    if isinstance(value, datetime):
        return show_moment(value)
    return show_duration(value) if isinstance(value, timedelta) else str(value)
