"""XLS: one unit for each sheet, or several with the sheet's name if it is long."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from lxml.etree import XMLParser, _Element, parse

from orc_core.extraction.looks import lowered, raised, with_symbols
from orc_core.extraction.number_formats import HIDING, show_dated, show_formatted
from orc_core.extraction.packages import SAFE, attribute, local
from orc_core.extraction.pages import Unit, UnitStream, pack, unreadable
from orc_core.extraction.properties import count_of, sentence_of
from orc_core.extraction.sheets import Merged, sheet_units, with_merged
from orc_core.extraction.spreadsheets import MAX_COLUMNS
from orc_core.extraction.tables import span

# Imported by the reader only.
if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.formatting import Font
    from xlrd.sheet import Cell, Sheet

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RISES = {1: raised, 2: lowered}
_CHANGES = {"Sup": raised, "Sub": lowered}
MOST_ROWS = 1_048_576


def read(source: Path) -> UnitStream:
    """The values that the file last showed: results, not formulas."""
    import xlrd
    from olefile import OleFileIO
    from xlrd.biffh import XLRDError

    with source.open("rb") as file:
        if file.read(len(COMPOUND)) != COMPOUND:
            return _read_xml(source)
    try:
        book = xlrd.open_workbook(str(source), formatting_info=True, ragged_rows=True, on_demand=True)
    except XLRDError as error:
        raise unreadable("encrypted" if "encrypted" in str(error) else "corrupt") from error
    if not book.nsheets:
        raise unreadable("empty")
    units = chain.from_iterable(_units(book, index) for index in range(book.nsheets))
    with OleFileIO(str(source)) as file:
        summary = file.get_metadata()
    code_page = getattr(summary, "codepage", None)
    title, author = (_decoded(getattr(summary, name, None), code_page) for name in ("title", "author"))
    return UnitStream(units, properties=sentence_of(title, author, count_of(book.nsheets, "sheet")))


def _decoded(text: bytes | None, code_page: int | None) -> str:
    try:
        return (text or b"").decode(f"cp{code_page or 1252}", "replace")
    except LookupError:
        return (text or b"").decode("utf-8", "replace")


def _units(book: "Book", index: int) -> Iterator[Unit]:
    sheet = book.sheet_by_index(index)
    rows = (
        [_value(book, sheet, row, column, cell) for column, cell in enumerate(sheet.row(row))]
        for row in range(sheet.nrows)
    )
    merged = (Merged(top, left, bottom, right) for top, bottom, left, right in sheet.merged_cells)
    hidden = {row for row, info in sheet.rowinfo_map.items() if info.hidden}
    columns = {column for column, info in sheet.colinfo_map.items() if info.hidden}
    name, is_hidden = sheet.name, sheet.visibility > 0
    yield from sheet_units(
        with_merged(rows, merged), name, is_hidden=is_hidden, hidden_rows=hidden, hidden_columns=columns
    )
    notes = sorted(sheet.cell_note_map.items())
    yield from pack((f"Comment: {' '.join(note.text.split())}" for _, note in notes), f"{name} (comments)")
    book.unload_sheet(index)


def _value(book: "Book", sheet: "Sheet", row: int, column: int, cell: "Cell") -> str:
    """The value as people see it; "" if it is struck."""
    import xlrd

    value, font = cell.value, _font(book, cell)
    if _format(book, cell) == HIDING:
        return ""
    if not isinstance(value, int | float):
        return _rich(str(value), sheet.rich_text_runlist_map.get((row, column), []), book, font)
    if font is not None and font.struck_out:
        return ""
    if cell.ctype == xlrd.XL_CELL_DATE:
        return show_dated(value, _format(book, cell), since_1904=bool(book.datemode))
    if cell.ctype == xlrd.XL_CELL_NUMBER:
        return show_formatted(value, _format(book, cell))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return str(bool(value)).upper()
    return xlrd.error_text_from_code.get(int(value), "#ERROR")


def _rich(text: str, runs: list[tuple[int, int]], book: "Book", of_cell: "Font | None") -> str:
    """The text of a cell without its struck runs, with raised figures and symbols as such."""
    starts = [(0, -1), *runs, (len(text), -1)]
    shown = ""
    for (start, number), (end, _) in pairwise(starts):
        font = book.font_list[number] if 0 <= number < len(book.font_list) else of_cell
        if font is None or not font.struck_out:
            piece = with_symbols(text[start:end], font.name if font else "")
            shown += _RISES.get(font.escapement, str)(piece) if font and number >= 0 else piece
    return shown


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


def _read_xml(source: Path) -> UnitStream:
    """An XML spreadsheet of 2003, which programs export under the same ending."""
    root = parse(source, XMLParser(**SAFE)).getroot()
    formats = {attribute(style, "ID"): _xml_format(style) for style in root.iterfind("{*}Styles/{*}Style")}
    sheets = root.findall("{*}Worksheet")
    if not sheets:
        raise unreadable("empty")
    title, author = (
        root.findtext(f"{{*}}DocumentProperties/{{*}}{name}") or "" for name in ("Title", "Author")
    )
    units = chain.from_iterable(_xml_units(sheet, formats) for sheet in sheets)
    return UnitStream(units, properties=sentence_of(title, author, count_of(len(sheets), "sheet")))


def _xml_format(style: _Element) -> str:
    """The number format of cells; HIDING if they are struck."""
    font, shown = (style.find(f"{{*}}{name}") for name in ("Font", "NumberFormat"))
    if font is not None and attribute(font, "StrikeThrough") == "1":
        return HIDING
    return "" if shown is None else (attribute(shown, "Format") or "").replace("Percent", "0%")


def _xml_units(sheet: _Element, formats: dict[str | None, str]) -> Iterator[Unit]:
    name = attribute(sheet, "Name") or ""
    rows = dict(_placed(sheet.iterfind("{*}Table/{*}Row"), MOST_ROWS))
    columns = _placed(sheet.iterfind("{*}Table/{*}Column"), MAX_COLUMNS)
    texts: list[list[str]] = [[] for _ in range(max(rows, default=-1) + 1)]
    merged: list[Merged] = []
    for top, row in rows.items():
        for left, cell in _placed(row.iterfind("{*}Cell"), MAX_COLUMNS):
            texts[top] += [""] * (left - len(texts[top])) + [_xml_value(cell, formats)]
            across, down = _more(cell, "MergeAcross"), _more(cell, "MergeDown")
            if across or down:
                merged.append(Merged(top, left, top + down + 1, min(left + across + 1, MAX_COLUMNS)))
    yield from sheet_units(
        with_merged(texts, merged),
        name,
        is_hidden=(sheet.findtext("{*}WorksheetOptions/{*}Visible") or "").startswith("Sheet"),
        hidden_rows={place for place, row in rows.items() if attribute(row, "Hidden") == "1"},
        hidden_columns={place for place, column in columns if attribute(column, "Hidden") == "1"},
    )
    notes = (" ".join("".join(map(str, note.itertext())).split()) for note in sheet.iter("{*}Comment"))
    yield from pack((f"Comment: {note}" for note in notes if note), f"{name} (comments)")


def _placed(elements: Iterable[_Element], most: int) -> Iterator[tuple[int, _Element]]:
    """The elements with their places from 0. One says its place only if some before it are left out."""
    place = 0
    for element in elements:
        place = max(span(attribute(element, "Index")) - 1, place)
        if place < most:
            yield place, element
        place += 1 + _more(element, "MergeAcross") + _more(element, "Span")


def _more(element: _Element, name: str) -> int:
    """The number in this attribute, 0 without it."""
    return span(attribute(element, name)) if attribute(element, name) not in {None, "0"} else 0


def _xml_value(cell: _Element, formats: dict[str | None, str]) -> str:
    data = cell.find("{*}Data")
    text = "" if data is None else _rich_xml(data)
    kind = "" if data is None else attribute(data, "Type")
    code = formats.get(attribute(cell, "StyleID"), "")
    if code == HIDING:
        return ""
    if kind == "DateTime":
        return text.removesuffix(".000").removesuffix("T00:00:00").replace("T", " ")
    if kind == "Boolean":
        return "TRUE" if text == "1" else "FALSE"
    if kind == "Number":
        with suppress(ValueError):
            return show_formatted(float(text), code)
    return text


def _rich_xml(data: _Element) -> str:
    """The text without what is struck, with raised figures as such, in the elements of web pages."""
    text = data.text or ""
    for child in data:
        said = "" if local(child) == "S" else _rich_xml(child)
        text += _CHANGES.get(local(child), str)(said) + (child.tail or "")
    return text
