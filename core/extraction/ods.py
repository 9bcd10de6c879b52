"""ODS, one unit for each sheet, or several with the sheet's name where it is long."""

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

from lxml.etree import _Element

from core.extraction.cell_values import show_number
from core.extraction.errors import unreadable
from core.extraction.odf import open_package, plain, read_body, repeated, rows
from core.extraction.packages import attribute, local
from core.extraction.pages import Reading, Unit, pack, render_rows

MAX_COLUMNS = 16_384
_MIDNIGHT = "T00:00:00"


def read(source: Path, memory_bytes: int) -> Reading:
    """The values as the file last showed them: results, not formulas."""
    body = read_body(open_package(source, memory_bytes), "spreadsheet")
    sheets = list(body.iterfind("{*}table"))
    if not sheets:
        raise unreadable("empty")
    return Reading(chain.from_iterable(_sheet(sheet) for sheet in sheets))


def _sheet(sheet: _Element) -> Iterator[Unit]:
    name = attribute(sheet, "name") or ""
    empty = True
    for unit in pack(filter(None, render_rows(_rows(sheet))), name):
        empty = False
        yield unit
    if empty:
        yield Unit("", name)


def _rows(sheet: _Element) -> Iterator[list[str]]:
    """Empty rows once: a file has a million of them below its last."""
    for row in rows(sheet):
        cells = _row(row)
        yield from repeat(cells, repeated(row, "number-rows-repeated") if any(cells) else 1)


def _row(row: _Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if local(cell) in {"table-cell", "covered-table-cell"} and len(cells) < MAX_COLUMNS:
            room = MAX_COLUMNS - len(cells)
            cells += [_shown(cell)] * min(repeated(cell, "number-columns-repeated"), room)
    return cells


def _shown(cell: _Element) -> str:
    """The value as in the other spreadsheets: exact numbers, ISO dates; anything else as it is shown."""
    kind = attribute(cell, "value-type")
    if kind == "date":
        return (attribute(cell, "date-value") or "").removesuffix(_MIDNIGHT).replace("T", " ")
    if kind == "boolean":
        return (attribute(cell, "boolean-value") or "").upper()
    if kind in {"float", "percentage"}:
        return _number(attribute(cell, "value") or "", kind == "percentage") or plain(cell)
    return plain(cell)


def _number(value: str, is_share: bool) -> str:
    try:
        return show_number(float(value), is_share=is_share)
    except ValueError:
        return ""
