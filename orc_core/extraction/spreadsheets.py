"""XLSX: one unit for each sheet, or several with the sheet's name if it is long.

The parts are read here, because openpyxl refuses many workbooks that Excel opens, and drops the looks of
text; python-calamine, which opens them, has no formats, notes or looks.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import chain
from pathlib import Path

from lxml.etree import LxmlError, _Element

from orc_core.errors import UnreadableDocument
from orc_core.extraction.docx_styles import changed
from orc_core.extraction.drawings import chart_lines
from orc_core.extraction.looks import Look
from orc_core.extraction.number_formats import HIDING, show_dated, show_moment
from orc_core.extraction.packages import Package, attribute, integer, link_id, local, with_address
from orc_core.extraction.pages import Unit, UnitStream, pack, unreadable
from orc_core.extraction.properties import count_of, of_office
from orc_core.extraction.sheets import Merged, sheet_units, with_merged

MAX_COLUMNS = 16_384
"""The limit of Excel itself."""
MAX_ROWS = 1_048_576
_AREA = rb'mergeCell\s[^>]{0,300}?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"'
_MERGED = re.compile(_AREA)
_COLUMN = re.compile("[A-Z]{1,3}")
_OWN = "\0"
"""Before and behind a run that says how it looks; XML has no such character."""
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
"""A character that XML cannot have, half of one, or a line end, as Excel writes it."""
_ON = frozenset({"1", "true"})


def read(source: Path, memory_bytes: int) -> UnitStream:
    """The values that the file last showed, not formulas. Notes, shapes and charts follow the sheets."""
    package = Package(source, memory_bytes)
    main = package.main_part("xl/workbook.xml")
    root = package.root(main)
    if root is None:
        raise unreadable("corrupt")
    links = package.relations(main)
    sheets = [
        (sheet, link.part)
        for sheet in root.iterfind("{*}sheets/{*}sheet")
        if (link := links.get(link_id(sheet))) is not None and link.purpose == "worksheet"
    ]
    if root.find("{*}sheets/{*}sheet") is None:
        raise unreadable("empty")
    book = _Book(package, main, root)
    units = (unit for sheet, part in sheets for unit in book.units(sheet, part))
    properties = of_office(package, count_of(len(sheets), "sheet"))
    return UnitStream(chain(units, _additions(package)), properties=properties)


class _Book:
    """The shared texts and the looks of the cells of a workbook."""

    def __init__(self, package: Package, main: str, root: _Element) -> None:
        self._package = package
        properties = root.find("{*}workbookPr")
        self._since_1904 = properties is not None and properties.get("date1904") in _ON
        tables = [link.part for link in package.relations(main).values() if link.purpose == "sharedStrings"]
        self._texts = [_rich(text) for table in tables for text in package.elements(table, "si")]
        styles = next(package.related(main, "styles"), None)
        self._looks = [] if styles is None else list(_looks(styles))
        self._addresses: dict[str, str] = {}

    def units(self, sheet: _Element, part: str) -> Iterator[Unit]:
        hidden: tuple[set[int], set[int]] = (set(), set())
        merged: list[Merged] = []
        with suppress(UnreadableDocument):  # too large to look at twice
            merged = list(_merged(self._package.content(part) or b""))
        addresses = self._package.addresses(part)
        links = self._package.elements(part, "hyperlink") if addresses else ()
        self._addresses = {link.get("ref") or "": addresses.get(link_id(link), "") for link in links}
        yield from sheet_units(
            with_merged(self._rows(part, *hidden), merged),
            sheet.get("name") or "",
            is_hidden=sheet.get("state", "visible") != "visible",
            hidden_rows=hidden[0],
            hidden_columns=hidden[1],
        )

    def _rows(self, part: str, hidden_rows: set[int], hidden_columns: set[int]) -> Iterator[list[str]]:
        """The rows, with empty ones for those that are left out; the numbers of hidden ones are added."""
        number = 0
        for element in self._package.elements(part, "row", "col"):
            is_hidden = element.get("hidden") in _ON or "0" in {element.get("width"), element.get("ht")}
            if local(element) == "col":
                first, last = (integer(element.get(edge)) for edge in ("min", "max"))
                hidden_columns |= set(range(first - 1, min(last, MAX_COLUMNS)) if is_hidden and first else ())
                continue
            place = integer(element.get("r"), number + 1) - 1
            while number < min(place, MAX_ROWS):
                number += 1
                yield []
            hidden_rows |= {number} if is_hidden else set()
            number += 1
            yield self._cells(element)

    def _cells(self, row: _Element) -> list[str]:
        cells: list[str] = []
        for cell in row.iterfind("{*}c"):
            place = cell.get("r") or ""
            name = _COLUMN.match(place)
            column = _column(name[0]) if name else len(cells)
            if len(cells) <= column < MAX_COLUMNS:
                text = self._value(cell)
                if "_x" in text:
                    text = _ESCAPED.sub(lambda found: chr(max(int(found[1], 16), 32)), text)
                    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
                text = with_address(text, self._addresses[place]) if place in self._addresses else text
                cells += [""] * (column - len(cells)) + [text]
        return cells

    def _value(self, cell: _Element) -> str:
        """The value as people see it; "" if it is struck. A formula without a result is shown as such."""
        kind, given = cell.get("t") or "n", cell.findtext("{*}v") or ""
        place = integer(cell.get("s"))
        code, look = self._looks[place] if place < len(self._looks) else ("", Look())
        if code == HIDING:
            return ""
        if kind == "inlineStr":
            return _shown("".join(map(_rich, cell.iterfind("{*}is"))), look)
        if kind == "s" and given:
            place = integer(given, len(self._texts))
            return _shown(self._texts[place], look) if place < len(self._texts) else ""
        if look.is_gone:
            return ""
        if not given:
            formula = cell.findtext("{*}f")
            return f"={formula}" if formula else ""
        with suppress(ValueError, OverflowError):
            if kind == "b":
                return "TRUE" if given in _ON else "FALSE"
            if kind == "d":
                return show_moment(datetime.fromisoformat(given).replace(tzinfo=None))
            if kind == "n":
                return show_dated(float(given), code, since_1904=self._since_1904)
        return given


def _looks(styles: _Element) -> Iterator[tuple[str, Look]]:
    """The number format of each look of cells, and how their text looks."""
    from xlrd.formatting import std_format_strings

    own = {
        each.get("numFmtId"): each.get("formatCode") or "" for each in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    fonts = [changed(Look(), font) for font in styles.iterfind("{*}fonts/{*}font")]
    for each in styles.iterfind("{*}cellXfs/{*}xf"):
        number, font = each.get("numFmtId"), integer(each.get("fontId"))
        code = own.get(number) or std_format_strings.get(integer(number), "")
        yield code, fonts[font]._replace(rise=0) if font < len(fonts) else Look()


def _rich(text: _Element) -> str:
    """The text without its struck runs and its pronunciation; runs that say how they look are marked."""
    shown = ""
    for child in text:
        if local(child) == "t":
            shown += child.text or ""
        elif local(child) == "r":
            said, properties = child.findtext("{*}t") or "", child.find("{*}rPr")
            look = Look() if properties is None else changed(Look(), properties)
            own = "" if look.is_gone else f"{_OWN}{look.shown(said)}{_OWN}"
            shown += said if properties is None else own
    return shown


def _shown(text: str, look: Look) -> str:
    """The text of a cell, whose look counts for what does not say how it looks."""
    pieces = text.split(_OWN)
    pieces[::2] = ["" if look.is_gone else look.shown(piece) for piece in pieces[::2]]
    return "".join(pieces)


def _merged(content: bytes) -> Iterator[Merged]:
    """The merged cells, which a sheet lists behind its rows."""
    for left, top, right, bottom in _MERGED.findall(content, max(content.rfind(b"sheetData>"), 0)):
        first, last = _column(left.decode()), _column(right.decode())
        if int(top) and first <= last < MAX_COLUMNS:
            yield Merged(int(top) - 1, first, int(bottom), last + 1)


def _column(name: str) -> int:
    """The place of a column from its letters: `A` is 0."""
    place = 0
    for letter in name:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


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
                    for diagram in package.related(link.part, "diagramData"):
                        notes += filter(None, (_text(point) for point in diagram.iter("{*}t")))
    yield from pack([*notes, *package.attached(*sheets)], "Comments and shapes")
    yield from pack(charts, "Charts")


def _note(comment: _Element) -> str:
    said = " ".join("".join(node.text or "" for node in comment.iter("{*}t")).split())
    return f"Comment on {attribute(comment, 'ref')}: {said}"


def _text(body: _Element) -> str:
    lines = ("".join(node.text or "" for node in line.iter("{*}t")) for line in body.iterfind("{*}p"))
    return "\n".join(filter(str.strip, lines))
