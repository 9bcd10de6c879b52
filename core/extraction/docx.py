"""DOCX: one unit for each page if the file has page breaks, otherwise for each heading."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from lxml.etree import _Element

from core.extraction.drawings import chart_lines, description, fraction
from core.extraction.packages import Package, attribute, local
from core.extraction.pages import (
    BREAK,
    SOFT_BREAK,
    Block,
    UnitStream,
    paged_units,
    running_units,
    table_blocks,
    unreadable,
)

_BODY_LEVEL = 9


class Headings:
    """The heading styles, recognised by name or outline level, own or inherited."""

    def __init__(self, roots: Iterable[_Element]) -> None:
        found = (style for root in roots for style in root.iterfind("{*}style"))
        styles = {attribute(style, "styleId") or "": style for style in found}
        self._styles = {name for name in styles if _is_heading(name, styles)}

    def covers(self, properties: _Element | None) -> bool:
        """Whether a paragraph with these properties (`w:pPr`) is a heading."""
        if properties is None:
            return False
        level = _outline_level(properties)
        if level is not None:
            return level < _BODY_LEVEL
        return _value(properties, "{*}pStyle") in self._styles


def _is_heading(name: str, styles: dict[str, _Element]) -> bool:
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        style = styles[name]
        level = _outline_level(style)
        if level is not None:
            return level < _BODY_LEVEL
        title = (_value(style, "{*}name") or "").lower()
        if title == "title" or title.startswith("heading "):
            return True
        name = _value(style, "{*}basedOn") or ""
    return False


def _outline_level(element: _Element) -> int | None:
    value = _value(element, ".//{*}outlineLvl")
    return int(value) if value and value.isdecimal() else None


def _value(element: _Element, path: str) -> str | None:
    found = element.find(path)
    return None if found is None else attribute(found, "val")


_SKIPPED = frozenset({"pPr", "rPr", "Fallback", "moveFrom", "rt", "sectPr", "tblPr", "trPr", "tcPr"})
_LITERALS = {
    "tab": "\t",
    "ptab": "\t",
    "cr": "\n",
    "noBreakHyphen": "-",
    "lastRenderedPageBreak": SOFT_BREAK,
}
_ASIDE = frozenset({"txbxContent", "docPr"})
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
MAX_HEADING = 200
MAX_COLUMNS = 63


def read(source: Path, memory_bytes: int) -> UnitStream:
    """Body text with tables, charts, text boxes and notes in place; running headers once at the end."""
    package = Package(source, memory_bytes)
    main = package.main_part("word/document.xml")
    root = package.root(main)
    body = None if root is None else root.find("{*}body")
    if body is None:
        raise unreadable("corrupt")
    document = _Document(package, main)
    pages = paged_units(list(document.blocks(body)))
    return UnitStream(chain(pages, running_units(document.running_texts())))


class _Document:
    """Turns the elements of a body into blocks, with the document's styles and notes."""

    def __init__(self, package: Package, main: str) -> None:
        self._package = package
        self._main = main
        self._links = package.relations(main)
        self._headings = Headings(package.related(main, "styles"))
        self._notes = {
            (local(note), attribute(note, "id")): note
            for notes in package.related(main, *_NOTES.values())
            for note in notes
        }

    def blocks(self, container: _Element) -> Iterator[Block]:
        if local(container) == "docPr":
            yield Block(description(container))
        elif local(container) == "chartSpace":
            yield from map(Block, chart_lines(container))
            return
        for child in container:
            name = local(child)
            if name == "p":
                yield from self._paragraph(child)
            elif name == "tbl":
                yield from self._table(child)
            elif name not in _SKIPPED:
                yield from self.blocks(child)

    def running_texts(self) -> Iterator[str]:
        """The text of each header and footer."""
        for root in self._package.related(self._main, "header", "footer"):
            yield "\n".join(block.text for block in self.blocks(root))

    def _paragraph(self, paragraph: _Element) -> Iterator[Block]:
        aside: list[_Element] = []
        text = self._text(paragraph, aside)
        properties = paragraph.find("{*}pPr")
        if properties is not None:
            text = f"{_edge(properties, 'pageBreakBefore')}{text}{_edge(properties, 'sectPr')}"
        title = " ".join(text.split())
        is_heading = 0 < len(title) <= MAX_HEADING and self._headings.covers(properties)
        yield Block(text, title if is_heading else "")
        for container in aside:
            yield from (block for block in self.blocks(container) if block.text.strip())

    def _pieces(self, node: _Element, aside: list[_Element]) -> Iterator[str]:
        """The text of a paragraph; its text boxes, notes, charts and descriptions are added to `aside`."""
        for child in node:
            name = local(child)
            if name == "t":
                yield child.text or ""
            elif name in _LITERALS:
                yield _LITERALS[name]
            elif name == "br":
                yield BREAK if attribute(child, "type") == "page" else "\n"
            elif name in _ASIDE:
                aside.append(child)
            elif name == "chart":
                aside.extend(self._charts(child))
            elif name in _NOTES:
                if (
                    note := self._notes.get((name.removesuffix("Reference"), attribute(child, "id")))
                ) is not None:
                    aside.append(note)
            elif (
                name == "f"
                and (quotient := fraction(child, lambda part: self._text(part, aside))) is not None
            ):
                yield quotient
            elif name not in _SKIPPED:
                yield from self._pieces(child, aside)

    def _text(self, node: _Element, aside: list[_Element]) -> str:
        return "".join(self._pieces(node, aside))

    def _charts(self, reference: _Element) -> Iterator[_Element]:
        """The chart that an element refers to by its id, if the part exists."""
        link = self._links.get(attribute(reference, "id") or "")
        root = self._package.root(link.part) if link else None
        if root is not None:
            yield root

    def _table(self, table: _Element) -> Iterator[Block]:
        """One block for each row; a table with one column is a frame around paragraphs."""
        rows = [row for row in table.iter("{*}tr") if next(row.iterancestors("{*}tbl")) is table]
        cells = [list(row.iter("{*}tc")) for row in rows]
        if all(len(row) <= 1 for row in cells):
            for cell in table.iterfind(".//{*}tc"):
                yield from self.blocks(cell)
            return
        for name in ("tblCaption", "tblDescription"):
            if caption := _value(table, f"{{*}}tblPr/{{*}}{name}"):
                yield Block(" ".join(caption.split()))
        header = table.find("./{*}tr/{*}trPr/{*}tblHeader") is not None
        yield from table_blocks([self._row(row) for row in rows], header=header)

    def _row(self, row: _Element) -> list[str]:
        texts = []
        for cell in row.iter("{*}tc"):
            if next(cell.iterancestors("{*}tr")) is row:
                texts.append("\n".join(block.text for block in self.blocks(cell)))
                span = _value(cell, "{*}tcPr/{*}gridSpan") or ""
                texts += [""] * (min(int(span), MAX_COLUMNS) - 1 if span.isdecimal() else 0)
        return texts


def _edge(properties: _Element, name: str) -> str:
    """The break before (`pageBreakBefore`) or after (`sectPr`) a paragraph."""
    element = properties.find(f"{{*}}{name}")
    if element is None:
        return ""
    if name == "sectPr":
        off = _value(element, "{*}type") in {"continuous", "nextColumn"}
    else:
        off = attribute(element, "val") in {"0", "false", "off"}
    return "" if off else SOFT_BREAK
