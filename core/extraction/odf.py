"""OpenDocument: ODT by page or heading, ODP by slide, ODS by sheet."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice, repeat
from pathlib import Path

from lxml.etree import _Element

from core.extraction.drawings import show_number
from core.extraction.packages import Package, attribute, local
from core.extraction.pages import (
    SOFT_BREAK,
    Block,
    Unit,
    UnitStream,
    numbered_pages,
    paged_units,
    running_units,
    unreadable,
)
from core.extraction.sheets import sheet_units
from core.extraction.spreadsheets import MAX_COLUMNS as MAX_SHEET_COLUMNS
from core.extraction.tables import table_blocks

CONTENT, STYLES = "content.xml", "styles.xml"
MAX_HEADING = 200
MAX_TABLE_COLUMNS = 63
MAX_SPACES = 1000
_MANIFEST = "META-INF/manifest.xml"
_PARAGRAPHS = frozenset({"p", "h"})
_LITERALS = {"tab": "\t", "line-break": "\n", "soft-page-break": SOFT_BREAK}
_UNSEEN = frozenset(
    {"tracked-changes", "annotation", "annotation-end", "ruby-text", "note-citation", "forms", ""}
)
_UNSEEN_SHAPES = frozenset({"page-number", "date-time", "footer", "header"})
_MIDNIGHT = "T00:00:00"
_ASIDE = frozenset({"note", "frame", "custom-shape", "rect", "g"})
_ROW_GROUPS = frozenset({"table-rows", "table-row-group", "table-header-rows"})


def open_package(source: Path, memory_bytes: int) -> Package:
    """The package. Raises UnreadableDocument if it has a password."""
    package = Package(source, memory_bytes)
    manifest = package.root(_MANIFEST)
    if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
        raise unreadable("encrypted")
    return package


def read_body(package: Package, kind: str) -> _Element:
    """The element below `office:body` with the text, spreadsheet or presentation."""
    root = package.root(CONTENT)
    body = None if root is None else root.find(f"{{*}}body/{{*}}{kind}")
    if body is None:
        raise unreadable("corrupt")
    return body


class Edges:
    """The paragraph styles that start or end a page."""

    def __init__(self, *roots: _Element | None) -> None:
        styles = [style for root in roots if root is not None for style in root.iter("{*}style")]
        self._before = {attribute(style, "name") for style in styles if _breaks(style, "break-before")}
        self._before |= {attribute(style, "name") for style in styles if attribute(style, "master-page-name")}
        self._after = {attribute(style, "name") for style in styles if _breaks(style, "break-after")}

    def around(self, paragraph: _Element, text: str) -> str:
        """The paragraph's text with its page breaks."""
        style = attribute(paragraph, "style-name")
        before = SOFT_BREAK if style in self._before else ""
        return f"{before}{text}{SOFT_BREAK if style in self._after else ''}"


def _breaks(style: _Element, edge: str) -> bool:
    properties = style.find("{*}paragraph-properties")
    return properties is not None and attribute(properties, edge) == "page"


def blocks(container: _Element, edges: Edges) -> Iterator[Block]:
    """The paragraphs and table rows of a container; boxes and notes follow their paragraph."""
    for child in container:
        name = local(child)
        if name in _PARAGRAPHS:
            yield from _paragraph(child, edges)
        elif name == "table":
            yield from _table(child, edges)
        elif name == "soft-page-break":
            yield Block(SOFT_BREAK)
        elif name not in _UNSEEN:
            yield from blocks(child, edges)


def plain(container: _Element) -> str:
    """The text of a container in lines, without page breaks."""
    lines = (block.text.replace(SOFT_BREAK, "") for block in blocks(container, Edges()))
    return "\n".join(line for line in lines if line.strip())


def _paragraph(paragraph: _Element, edges: Edges) -> Iterator[Block]:
    aside: list[_Element] = []
    text = "".join(_pieces(paragraph, aside))
    title = " ".join(text.split()) if local(paragraph) == "h" else ""
    yield Block(edges.around(paragraph, text), title if len(title) <= MAX_HEADING else "")
    for container in aside:
        yield from (block for block in blocks(container, edges) if block.text.strip())


def _pieces(node: _Element, aside: list[_Element]) -> Iterator[str]:
    """The text of a paragraph; its text boxes and notes are added to `aside`."""
    yield node.text or ""
    for child in node:
        name = local(child)
        if name in _LITERALS:
            yield _LITERALS[name]
        elif name == "s":
            yield " " * min(repeated(child, "c"), MAX_SPACES)
        elif name in _ASIDE:
            aside.append(child)
        elif name not in _UNSEEN:
            yield from _pieces(child, aside)
        yield child.tail or ""


def _table(table: _Element, edges: Edges) -> Iterator[Block]:
    """One block for each row; a table with one column is a frame around paragraphs."""
    cells = [
        [cell for cell, times in _cells(row) for _ in range(min(times, MAX_TABLE_COLUMNS))]
        for row in rows(table)
    ]
    if all(len(row) <= 1 for row in cells):
        for row in cells:
            for cell in row:
                yield from blocks(cell, edges)
        return
    texts = [["\n".join(block.text for block in blocks(cell, edges)) for cell in row] for row in cells]
    yield from table_blocks(texts, header=table.find("{*}table-header-rows") is not None)


def rows(table: _Element) -> Iterator[_Element]:
    """The rows of a table, including those in row groups."""
    for child in table:
        if local(child) == "table-row":
            yield child
        elif local(child) in _ROW_GROUPS:
            yield from rows(child)


def _cells(row: _Element) -> Iterator[tuple[_Element, int]]:
    """The cells of a row, and how often each is repeated."""
    for cell in row:
        if local(cell) in {"table-cell", "covered-table-cell"}:
            yield cell, repeated(cell, "number-columns-repeated")


def repeated(element: _Element, name: str) -> int:
    """The repeat count in this attribute, at least 1."""
    value = attribute(element, name) or ""
    return max(int(value), 1) if value.isdecimal() and len(value) < 10 else 1


def read_odt(source: Path, memory_bytes: int) -> UnitStream:
    """Body text with tables, text boxes and notes in place; running headers once, at the end."""
    package = open_package(source, memory_bytes)
    body = read_body(package, "text")
    styles = package.root(STYLES)
    edges = Edges(package.root(CONTENT), styles)
    running = [] if styles is None else styles.iterfind("{*}master-styles/{*}master-page/{*}*")
    return UnitStream(chain(paged_units(list(blocks(body, edges))), running_units(map(plain, running))))


def read_odp(source: Path, memory_bytes: int) -> UnitStream:
    """The slides in order, each with its tables and speaker notes."""
    body = read_body(open_package(source, memory_bytes), "presentation")
    slides = list(body.iterfind("{*}page"))
    if not slides:
        raise unreadable("empty")
    return UnitStream(numbered_pages(_slide(slide) for slide in slides), len(slides))


def _slide(slide: _Element) -> Unit:
    lines = [_shapes(child for child in slide if local(child) != "notes")]
    lines += [f"Notes: {said}" for notes in slide.iterfind("{*}notes") if (said := _shapes(notes))]
    titles = (plain(shape) for shape in slide if attribute(shape, "class") == "title")
    return Unit("\n".join(filter(None, lines)), " ".join(next(titles, "").split()))


def _shapes(shapes: Iterable[_Element]) -> str:
    """The text of the shapes that people see."""
    texts = (plain(shape) for shape in shapes if attribute(shape, "class") not in _UNSEEN_SHAPES)
    return "\n".join(filter(None, texts))


def read_ods(source: Path, memory_bytes: int) -> UnitStream:
    """The values that the file last showed: results, not formulas."""
    body = read_body(open_package(source, memory_bytes), "spreadsheet")
    sheets = list(body.iterfind("{*}table"))
    if not sheets:
        raise unreadable("empty")
    units = (sheet_units(_sheet_rows(sheet), attribute(sheet, "name") or "") for sheet in sheets)
    return UnitStream(chain.from_iterable(units))


def _sheet_rows(sheet: _Element) -> Iterator[list[str]]:
    """Empty rows are not repeated: files have a million of them at the end."""
    for row in rows(sheet):
        values = chain.from_iterable(repeat(_value(cell), times) for cell, times in _cells(row))
        cells = list(islice(values, MAX_SHEET_COLUMNS))
        yield from repeat(cells, repeated(row, "number-rows-repeated") if any(cells) else 1)


def _value(cell: _Element) -> str:
    """The value as in other spreadsheets: exact numbers, ISO dates; otherwise the displayed text."""
    kind = attribute(cell, "value-type")
    if kind == "date":
        return (attribute(cell, "date-value") or "").removesuffix(_MIDNIGHT).replace("T", " ")
    if kind == "boolean":
        return (attribute(cell, "boolean-value") or "").upper()
    if kind in {"float", "percentage"}:
        with suppress(ValueError):
            return show_number(float(attribute(cell, "value") or ""), is_share=kind == "percentage")
    return plain(cell)
