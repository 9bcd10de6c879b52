"""XML spreadsheet 2003, which programs export under the ending .xls."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from lxml.etree import XMLParser, _Element, parse

from orc_core.extraction.number_formats import show_formatted
from orc_core.extraction.packages import SAFE, attribute
from orc_core.extraction.pages import Unit, UnitStream, pack, unreadable
from orc_core.extraction.properties import count_of, sentence_of
from orc_core.extraction.sheets import Merged, sheet_units, with_merged
from orc_core.extraction.spreadsheets import MAX_COLUMNS
from orc_core.extraction.tables import span

MOST_ROWS = 1_048_576


def read(source: Path) -> UnitStream:
    """The values that the file last showed: results, not formulas."""
    root = parse(source, XMLParser(**SAFE)).getroot()
    formats = {
        attribute(style, "ID"): attribute(shown, "Format") or ""
        for style in root.iterfind("{*}Styles/{*}Style")
        if (shown := style.find("{*}NumberFormat")) is not None
    }
    sheets = root.findall("{*}Worksheet")
    if not sheets:
        raise unreadable("empty")
    title, author = (
        root.findtext(f"{{*}}DocumentProperties/{{*}}{name}") or "" for name in ("Title", "Author")
    )
    units = chain.from_iterable(_units(sheet, formats) for sheet in sheets)
    return UnitStream(units, properties=sentence_of(title, author, count_of(len(sheets), "sheet")))


def _units(sheet: _Element, formats: dict[str | None, str]) -> Iterator[Unit]:
    name = attribute(sheet, "Name") or ""
    rows = dict(_placed(sheet.iterfind("{*}Table/{*}Row"), MOST_ROWS))
    columns = _placed(sheet.iterfind("{*}Table/{*}Column"), MAX_COLUMNS)
    texts: list[list[str]] = [[] for _ in range(max(rows, default=-1) + 1)]
    merged: list[Merged] = []
    for top, row in rows.items():
        for left, cell in _placed(row.iterfind("{*}Cell"), MAX_COLUMNS):
            texts[top] += [""] * (left - len(texts[top])) + [_value(cell, formats)]
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


def _value(cell: _Element, formats: dict[str | None, str]) -> str:
    data = cell.find("{*}Data")
    text = "" if data is None else "".join(map(str, data.itertext()))
    kind = "" if data is None else attribute(data, "Type")
    if kind == "DateTime":
        return text.removesuffix(".000").removesuffix("T00:00:00").replace("T", " ")
    if kind == "Boolean":
        return "TRUE" if text == "1" else "FALSE"
    with suppress(ValueError):
        return (
            show_formatted(float(text), formats.get(attribute(cell, "StyleID"), ""))
            if kind == "Number"
            else text
        )
    return text
