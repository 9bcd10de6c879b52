"""OpenDocument: ODT by page or heading, ODP by slide, ODS by sheet."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice, repeat, starmap
from pathlib import Path

from lxml.etree import LxmlError, _Element

from orc_core.errors import UnreadableDocument
from orc_core.extraction.drawings import equation
from orc_core.extraction.looks import Look
from orc_core.extraction.number_formats import show_number
from orc_core.extraction.odf_styles import Numbers, Styles
from orc_core.extraction.packages import ABSENT, ADDRESS, Package, attribute, local, with_address
from orc_core.extraction.pages import (
    SOFT_BREAK,
    Block,
    Unit,
    UnitStream,
    numbered_pages,
    pack,
    paged_units,
    running_units,
    unreadable,
)
from orc_core.extraction.properties import count_of, of_elements, pages_when_saved
from orc_core.extraction.sheets import sheet_units
from orc_core.extraction.spreadsheets import MAX_COLUMNS as MAX_SHEET_COLUMNS
from orc_core.extraction.tables import Cell, grid, span, table_blocks

CONTENT, STYLES, META = "content.xml", "styles.xml", "meta.xml"
MAX_HEADING = 200
MAX_TABLE_COLUMNS = 63
MAX_SPACES = 1000
MAX_LIST_LEVEL = 10
_MANIFEST = "META-INF/manifest.xml"
_PARAGRAPHS = frozenset({"p", "h"})
_LITERALS = {"tab": "\t", "line-break": "\n", "soft-page-break": SOFT_BREAK}
_UNSEEN = frozenset(
    {"tracked-changes", "annotation-end", "ruby-text", "note-citation", "forms", "creator", "date", ""}
)
_UNSEEN_SHAPES = frozenset({"page-number", "date-time", "footer", "header"})
_HIDDEN_ROWS = frozenset({"collapse", "filter"})
_DIGITS, _PLAIN = re.compile("[1-9]"), re.compile(r"[-−]?(?!0\d)[\d.,'\s]*%?")
_MIDNIGHT = "T00:00:00"
_ASIDE = frozenset({"note", "annotation", "frame", "custom-shape", "rect", "g"})
_ROW_GROUPS = frozenset({"table-rows", "table-row-group", "table-header-rows"})


def open_package(source: Path, memory_bytes: int) -> Package:
    """The package. Raises UnreadableDocument if it has a password."""
    package = Package(source, memory_bytes)
    if next(package.tree(_MANIFEST).iter("{*}encryption-data"), None) is not None:
        raise unreadable("encrypted")
    return package


def read_body(package: Package, kind: str) -> _Element:
    """The element below `office:body` with the text, spreadsheet or presentation."""
    body = package.tree(CONTENT).find(f"{{*}}body/{{*}}{kind}")
    if body is None:
        raise unreadable("corrupt")
    return body


class Edges:
    """The paragraph styles that start or end a page."""

    def __init__(self, *roots: _Element) -> None:
        styles = [style for root in roots for style in root.iter("{*}style")]
        self._before = {attribute(style, "name") for style in styles if _breaks(style, "break-before")}
        self._before |= {attribute(style, "name") for style in styles if attribute(style, "master-page-name")}
        self._after = {attribute(style, "name") for style in styles if _breaks(style, "break-after")}

    def around(self, paragraph: _Element, text: str) -> str:
        style = attribute(paragraph, "style-name")
        before = SOFT_BREAK if style in self._before else ""
        return f"{before}{text}{SOFT_BREAK if style in self._after else ''}"


def _breaks(style: _Element, edge: str) -> bool:
    properties = style.find("{*}paragraph-properties")
    return properties is not None and attribute(properties, edge) == "page"


class Body:
    """Turns the elements of a body into blocks, with the document's styles, lists and form fields."""

    def __init__(self, package: Package) -> None:
        self._package = package
        roots = package.tree(CONTENT), package.tree(STYLES)
        self._edges = Edges(*roots)
        self.styles = Styles(*roots)
        self._numbers = Numbers(*roots)
        self._controls = {
            attribute(control, "id"): control
            for root in roots
            for control in root.iterfind(".//{*}forms//{*}*")
        }

    def blocks(self, container: Iterable[_Element], number: str = "") -> Iterator[Block]:
        """The paragraphs and table rows of a container; boxes, notes and comments follow their paragraph.

        `number`: the text before the first paragraph.
        """
        for child in container:
            name = local(child)
            if name in _PARAGRAPHS:
                yield from self._paragraph(child, number)
                number = ""
            elif name == "table":
                yield from self._table(child)
            elif name == "list":
                yield from self._list(child, attribute(child, "style-name"), 1)
            elif name == "soft-page-break":
                yield Block(SOFT_BREAK)
            elif name == "desc":
                yield Block(child.text or "")
            elif name not in _UNSEEN and name != "annotation" and not _is_hidden(child):
                yield from self.blocks(child)

    def plain(self, container: _Element) -> str:
        """The text of a container in lines, without page breaks."""
        return "\n".join(block.text.replace(SOFT_BREAK, "") for block in self._aside(container))

    def _list(self, items: _Element, style: str | None, level: int) -> Iterator[Block]:
        continues = attribute(items, "continue-numbering") == "true" or attribute(items, "continue-list")
        if level == 1 and not continues:
            self._numbers.start(style)
        for item in items:
            first = next(iter(item), None)
            is_text = local(item) == "list-item" and first is not None and local(first) in _PARAGRAPHS
            number = self._numbers.next(style, level) if is_text else ""
            for child in item:
                if local(child) == "list":
                    own = attribute(child, "style-name") or style
                    yield from self._list(child, own, min(level + 1, MAX_LIST_LEVEL))
                else:
                    yield from self.blocks([child], number)
                    number = ""

    def _paragraph(self, paragraph: _Element, number: str) -> Iterator[Block]:
        aside: list[_Element] = []
        look = self.styles.look("paragraph", attribute(paragraph, "style-name"))
        is_gone = look.is_gone or any(map(_is_hidden, paragraph.iterfind("{*}hidden-paragraph")))
        text = "" if is_gone else "".join(self._pieces(paragraph, aside, look))
        is_heading = local(paragraph) == "h"
        if is_heading and not number and text.strip():
            number = self._numbers.next("", repeated(paragraph, "outline-level"))
        text = f"{number} {text.lstrip()}" if number and text.strip() else text
        title = " ".join(text.split()) if is_heading else ""
        yield Block(self._edges.around(paragraph, text), title if len(title) <= MAX_HEADING else "")
        for container in aside:
            yield from self._aside(container)

    def _aside(self, container: _Element) -> Iterator[Block]:
        blocks = (block for block in self.blocks(container) if block.text.strip())
        if local(container) != "annotation":
            yield from chain(blocks, self.blocks(self._object(container)))
        elif said := " ".join(" ".join(block.text for block in blocks).split()):
            author = container.findtext("{*}creator") or ""
            yield Block(f"Comment ({author}): {said}" if author else f"Comment: {said}")

    def _pieces(self, node: _Element, aside: list[_Element], look: Look) -> Iterator[str]:
        """The text of a paragraph; its text boxes, notes and comments are added to `aside`."""
        yield look.shown(node.text or "")
        for child in node:
            name = local(child)
            if name in _LITERALS:
                yield _LITERALS[name]
            elif name == "s":
                yield " " * min(repeated(child, "c"), MAX_SPACES)
            elif name == "span":
                own = self.styles.look("text", attribute(child, "style-name"))
                inner = own._replace(font=own.font or look.font)
                yield from () if own.is_gone else self._pieces(child, aside, inner)
            elif name == "a":
                text = "".join(self._pieces(child, aside, look))
                address = attribute(child, "href") or ""
                yield with_address(text, address if ADDRESS.match(address) else "")
            elif name == "control":
                yield _filled_in(self._controls.get(attribute(child, "control")))
            elif name == "fieldmark":
                yield _chosen(child)
            elif name == "frame" and local(formula := self._object(child)) == "math":
                yield equation(formula)
            elif name in _ASIDE:
                aside.append(child)
            elif name not in _UNSEEN and not _is_hidden(child):
                yield from self._pieces(child, aside, look)
            yield look.shown(child.tail or "")

    def _object(self, frame: _Element) -> _Element:
        """The formula or chart in a frame; an element without content if there is none."""
        found = frame.find("{*}object")
        place = "" if found is None else posixpath.normpath(attribute(found, "href") or "")
        with suppress(LxmlError, UnreadableDocument):  # no reason to refuse the text
            return self._package.tree(f"{place}/{CONTENT}")
        return ABSENT

    def _table(self, table: _Element) -> Iterator[Block]:
        """One block for each row; a table with one column is a frame around paragraphs."""
        found = list(rows(table))
        cells = [
            [cell for cell, times in _cells(row) for _ in range(min(times, MAX_TABLE_COLUMNS))]
            for row in found
        ]
        if all(len(row) <= 1 for row in cells):
            for row in cells:
                for cell in row:
                    yield from self.blocks(cell)
            return
        texts = (
            [_spanning(cell, "\n".join(block.text for block in self.blocks(cell))) for cell in row]
            for row in cells
        )
        header = sum(1 for _ in table.iterfind("{*}table-header-rows/{*}table-row"))
        yield from table_blocks(list(grid(texts)), header=header)


def _is_hidden(element: _Element) -> bool:
    return attribute(element, "display") == "none" or attribute(element, "is-hidden") == "true"


def _filled_in(control: _Element | None) -> str:
    """What is chosen in a form field: `☒`, `☐`, a text or an entry."""
    if control is None:
        return ""
    kind = local(control)
    if kind in {"checkbox", "radio"}:
        state = attribute(control, "current-state" if kind == "checkbox" else "current-selected")
        default = attribute(control, "state" if kind == "checkbox" else "selected")
        sign = "☒" if (state or default) in {"checked", "true"} else "☐"
        return " ".join(filter(None, (sign, attribute(control, "label"))))
    chosen = (
        attribute(entry, "label") for entry in control if attribute(entry, "current-selected") == "true"
    )
    return (
        attribute(control, "current-value")
        or next(filter(None, chosen), None)
        or attribute(control, "value")
        or ""
    )


def _chosen(mark: _Element) -> str:
    """What is chosen in a form field of Word that was saved as OpenDocument."""
    found = [(attribute(each, "name"), attribute(each, "value") or "") for each in mark.iterfind("{*}param")]
    settings = dict(found)
    if (attribute(mark, "type") or "").endswith("FORMCHECKBOX"):
        return "☒" if settings.get("Checkbox_Checked") == "true" else "☐"
    entries = [value for name, value in found if name == "Dropdown_ListEntry"]
    number = settings.get("Dropdown_Selected", "")
    return "".join(entries[int(number) :][:1]) if number.isdecimal() else ""


def _spanning(cell: _Element, text: str) -> Cell:
    text = "" if attribute(cell, "value") == "NaN" else text  # a gap in a chart
    return Cell(text, repeated(cell, "number-columns-spanned"), repeated(cell, "number-rows-spanned"))


def rows(table: _Element) -> Iterator[_Element]:
    for child in table:
        if local(child) == "table-row":
            yield child
        elif local(child) in _ROW_GROUPS:
            yield from rows(child)


def _cells(row: _Element) -> Iterator[tuple[_Element, int]]:
    """The cells of a row without those that another one covers, and how often each is repeated."""
    for cell in row:
        if local(cell) == "table-cell":
            yield cell, repeated(cell, "number-columns-repeated")


def repeated(element: _Element, name: str) -> int:
    return span(attribute(element, name))


def read_odt(source: Path, memory_bytes: int) -> UnitStream:
    """Body text with tables, text boxes and notes in place; running headers once, at the end."""
    package = open_package(source, memory_bytes)
    body = read_body(package, "text")
    styles, meta = package.tree(STYLES), package.tree(META)
    text = Body(package)
    running = styles.iterfind("{*}master-styles/{*}master-page/{*}*")
    pages = paged_units(list(text.blocks(body)))
    statistic = next(meta.iter("{*}document-statistic"), ABSENT)
    counted = pages_when_saved(attribute(statistic, "page-count"))
    return UnitStream(
        chain(pages, running_units(map(text.plain, running))), properties=of_elements(meta, counted)
    )


def read_odp(source: Path, memory_bytes: int) -> UnitStream:
    """The slides in order, each with its tables and speaker notes."""
    package = open_package(source, memory_bytes)
    slides = list(read_body(package, "presentation").iterfind("{*}page"))
    if not slides:
        raise unreadable("empty")
    body = Body(package)
    properties = of_elements(package.tree(META), count_of(len(slides), "slide"))
    return UnitStream(numbered_pages(_slide(slide, body) for slide in slides), len(slides), properties)


def _slide(slide: _Element, body: Body) -> Unit:
    lines = ["" if body.styles.is_shown(slide) else "(hidden slide)"]
    lines.append(_shapes((child for child in slide if local(child) != "notes"), body))
    lines += [f"Notes: {said}" for notes in slide.iterfind("{*}notes") if (said := _shapes(notes, body))]
    titles = (body.plain(shape) for shape in slide if attribute(shape, "class") == "title")
    return Unit("\n".join(filter(None, lines)), " ".join(next(titles, "").split()))


def _shapes(shapes: Iterable[_Element], body: Body) -> str:
    texts = (body.plain(shape) for shape in shapes if attribute(shape, "class") not in _UNSEEN_SHAPES)
    return "\n".join(filter(None, texts))


def read_ods(source: Path, memory_bytes: int) -> UnitStream:
    """The values that the file last showed: results, not formulas."""
    package = open_package(source, memory_bytes)
    sheets = list(read_body(package, "spreadsheet").iterfind("{*}table"))
    if not sheets:
        raise unreadable("empty")
    body = Body(package)
    properties = of_elements(package.tree(META), count_of(len(sheets), "sheet"))
    return UnitStream(chain.from_iterable(_sheet(sheet, body) for sheet in sheets), properties=properties)


def _sheet(sheet: _Element, body: Body) -> Iterator[Unit]:
    name = attribute(sheet, "name") or ""
    hidden: set[int] = set()
    columns: list[bool] = []
    for column in sheet.iter("{*}table-column"):
        times = min(repeated(column, "number-columns-repeated"), MAX_SHEET_COLUMNS - len(columns))
        columns += [attribute(column, "visibility") in _HIDDEN_ROWS] * times
    yield from sheet_units(
        grid(_sheet_rows(sheet, body, hidden), MAX_SHEET_COLUMNS),
        name,
        is_hidden=not body.styles.is_displayed(sheet),
        hidden_rows=hidden,
        hidden_columns={place for place, is_hidden in enumerate(columns) if is_hidden},
    )
    notes = map(body.plain, sheet.iter("{*}annotation"))
    shapes = (body.plain(shape) for shape in sheet.iterfind("{*}shapes/{*}*"))
    yield from pack(filter(None, chain(notes, shapes)), f"{name} (comments and shapes)")


def _sheet_rows(sheet: _Element, body: Body, hidden: set[int]) -> Iterator[list[Cell]]:
    """Empty cells and rows at the end are not repeated: files fill 16,384 columns and a million rows.

    The numbers of hidden rows are added.
    """
    number = 0
    for row in rows(sheet):
        given = [(_value(cell, body), times) for cell, times in islice(_cells(row), MAX_SHEET_COLUMNS)]
        # One that hangs over rows below keeps its place in them.
        while given and not given[-1][0].text and given[-1][0].rows == 1:
            del given[-1]
        cells = list(islice(chain.from_iterable(starmap(repeat, given)), MAX_SHEET_COLUMNS))
        is_hidden = attribute(row, "visibility") in _HIDDEN_ROWS
        for _ in range(repeated(row, "number-rows-repeated") if cells else 1):
            hidden |= {number} if is_hidden else set()
            number += 1
            yield cells


def _value(cell: _Element, body: Body) -> Cell:
    look = body.styles.look("table-cell", attribute(cell, "style-name"))
    return _spanning(cell, "" if look.is_gone else _shown(cell, body))


def _shown(cell: _Element, body: Body) -> str:
    """The value as in other spreadsheets: exact numbers, ISO dates; otherwise the displayed text.

    A number keeps its unit and the zeros before it; a formula without a result is shown as such.
    """
    kind = attribute(cell, "value-type")
    if kind == "date":
        return (attribute(cell, "date-value") or "").removesuffix(_MIDNIGHT).replace("T", " ")
    if kind == "boolean":
        return (attribute(cell, "boolean-value") or "").upper()
    text = body.plain(cell)
    if kind in {"float", "percentage"}:
        with suppress(ValueError):
            exact = show_number(float(attribute(cell, "value") or ""), is_share=kind == "percentage")
            is_exact = _DIGITS.findall(text.strip("0")) == _DIGITS.findall(exact.strip("0"))
            return text if is_exact and not _PLAIN.fullmatch(text) else exact
    formula = (attribute(cell, "formula") or "").partition(":")[2] if kind is None else ""
    return text or formula
