"""DOCX: one unit for each page if the file has page breaks, otherwise for each heading."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, takewhile
from pathlib import Path

from lxml.etree import _Element

from orc_core.extraction.docx_styles import Numbers, Styles, is_on, value
from orc_core.extraction.drawings import chart_lines, description, formula
from orc_core.extraction.looks import symbol
from orc_core.extraction.packages import ABSENT, ADDRESS, Package, attribute, integer, local, with_address
from orc_core.extraction.pages import (
    BREAK,
    SOFT_BREAK,
    Block,
    UnitStream,
    paged_units,
    running_units,
    unreadable,
)
from orc_core.extraction.properties import of_office, pages_when_saved
from orc_core.extraction.tables import ACROSS, repeated, table_blocks

_SKIPPED = frozenset({"pPr", "rPr", "Fallback", "moveFrom", "rt", "sectPr", "tblPr", "trPr", "tcPr"})
_LITERALS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-", "lastRenderedPageBreak": SOFT_BREAK}
_ASIDE = frozenset({"txbxContent", "docPr"})
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"]+)"')
_ENDS_FIELD = "*[local-name()='fldChar' and @*[local-name()='fldCharType']='end']"
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes", "commentReference": "comments"}
MAX_HEADING = 200
MAX_COLUMNS = 63


def read(source: Path, memory_bytes: int) -> UnitStream:
    """Body text with tables, charts, text boxes and notes in place; running headers once at the end."""
    package = Package(source, memory_bytes)
    main = package.main_part("word/document.xml")
    body = package.tree(main).find("{*}body")
    if body is None:
        raise unreadable("corrupt")
    _show_addresses(body)
    document = _Document(package, main)
    pages = paged_units(list(document.blocks(body)))
    said = next(package.related("", "extended-properties"), ABSENT)
    properties = of_office(package, pages_when_saved(said.findtext("{*}Pages")))
    return UnitStream(chain(pages, running_units(document.running_texts())), properties=properties)


class _Document:
    """Turns the elements of a body into blocks, with the document's styles and notes."""

    def __init__(self, package: Package, main: str) -> None:
        self._package = package
        self._main = main
        self._links = package.relations(main)
        self._addresses = package.addresses(main)
        self._styles = Styles(package.related(main, "styles"))
        self._numbers = Numbers(package.related(main, "numbering"), self._styles)
        self._style = ""
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
        """The text of each header and footer, and the names of embedded files."""
        for root in self._package.related(self._main, "header", "footer"):
            yield "\n".join(block.text for block in self.blocks(root))
        yield from self._package.attached(self._main)

    def _paragraph(self, paragraph: _Element) -> Iterator[Block]:
        aside: list[_Element] = []
        properties = paragraph.find("{*}pPr")
        self._style = "" if properties is None else value(properties, "{*}pStyle") or ""
        text = self._text(paragraph, aside)
        if properties is not None:
            number = self._numbers.next(properties, is_empty=not text.strip())
            if number and text.strip():
                text = f"{number} {text.lstrip()}"
            text = f"{_edge(properties, 'pageBreakBefore')}{text}{_edge(properties, 'sectPr')}"
        title = " ".join(text.split())
        is_heading = 0 < len(title) <= MAX_HEADING and self._styles.is_heading(properties)
        yield Block(text, title if is_heading else "")
        for container in aside:
            yield from self._aside(container)

    def _aside(self, container: _Element) -> Iterator[Block]:
        blocks = (block for block in self.blocks(container) if block.text.strip())
        if local(container) != "comment":
            yield from blocks
        elif said := " ".join(block.text for block in blocks):
            author = attribute(container, "author")
            yield Block(f"Comment ({author}): {said}" if author else f"Comment: {said}")

    def _pieces(self, node: _Element, aside: list[_Element]) -> Iterator[str]:
        """The text of a paragraph; its text boxes, notes, charts and descriptions are added to `aside`."""
        for child in node:
            name = local(child)
            if name == "r":
                yield from self._run(child, aside)
            elif name == "hyperlink":
                address = self._addresses.get(attribute(child, "id") or "", "")
                yield with_address(self._text(child, aside), address)
            elif name == "t":
                yield child.text or ""
            elif name in _LITERALS:
                yield _LITERALS[name]
            elif name == "br":
                yield BREAK if attribute(child, "type") == "page" else "\n"
            elif name == "sym":
                yield symbol(attribute(child, "char") or "", attribute(child, "font") or "")
            elif name == "fldSimple":
                found = _HYPERLINK.match(attribute(child, "instr") or "")
                yield with_address(self._text(child, aside), found[1] if found else "")
            elif name == "ffData":
                yield _filled_in(child)
            elif name in _ASIDE:
                aside.append(child)
            elif name in {"chart", "relIds"}:
                aside.extend(self._part(child, "id" if name == "chart" else "dm"))
            elif name in _NOTES:
                note = self._notes.get((name.removesuffix("Reference"), attribute(child, "id")))
                aside += [] if note is None else [note]
            elif name in _SKIPPED:
                continue
            elif (part := formula(child, partial(self._text, aside=aside))) is not None:
                yield part
            else:
                yield from self._pieces(child, aside)

    def _run(self, run: _Element, aside: list[_Element]) -> Iterator[str]:
        """The text of a run; of one that is struck or hidden only the page breaks."""
        look = self._styles.look(run, self._style)
        if look.is_gone:
            for mark in run.iterfind("*"):
                if local(mark) == "lastRenderedPageBreak" or attribute(mark, "type") == "page":
                    yield SOFT_BREAK
            return
        yield look.shown("".join(self._pieces(run, aside)))

    def _text(self, node: _Element, aside: list[_Element]) -> str:
        return "".join(self._pieces(node, aside))

    def _part(self, reference: _Element, name: str) -> Iterator[_Element]:
        """The chart or diagram that an element refers to in this attribute, if the part exists."""
        link = self._links.get(attribute(reference, name) or "")
        root = self._package.root(link.part) if link else None
        if root is not None:
            yield root

    def _table(self, table: _Element) -> Iterator[Block]:
        """One block for each row; a table with one column is a frame around paragraphs."""
        rows = [row for row in table.iter("{*}tr") if next(row.iterancestors("{*}tbl")) is table]
        rows = [
            row
            for row in rows
            if all(row.find(f"{{*}}trPr/{{*}}{name}") is None for name in ("del", "hidden"))
        ]
        cells = [list(row.iter("{*}tc")) for row in rows]
        if all(len(row) <= 1 for row in cells):
            for cell in table.iterfind(".//{*}tc"):
                yield from self.blocks(cell)
            return
        for name in ("tblCaption", "tblDescription"):
            if caption := value(table, f"{{*}}tblPr/{{*}}{name}"):
                yield Block(" ".join(caption.split()))
        is_header = [row.find("{*}trPr/{*}tblHeader") is not None for row in rows]
        yield from table_blocks(list(self._rows(rows)), header=[*is_header, False].index(False))

    def _rows(self, rows: list[_Element]) -> Iterator[list[str]]:
        """The rows. A cell that continues the cell above has its text, merged columns are ACROSS."""
        above: list[str] = []
        for row in rows:
            texts = [""] * _count(row, "{*}trPr/{*}gridBefore", 0)
            for cell in row.iter("{*}tc"):
                if next(cell.iterancestors("{*}tr")) is row:
                    merged = cell.find("{*}tcPr/{*}vMerge")
                    text = "\n".join(block.text for block in self.blocks(cell))
                    if merged is not None and attribute(merged, "val") != "restart" and not text.strip():
                        text = repeated(above[len(texts)]) if len(texts) < len(above) else ""
                    span = _count(cell, "{*}tcPr/{*}gridSpan", 1)
                    texts += [text, *[ACROSS if text.strip() else ""] * (span - 1)]
            above = texts
            yield texts


def _show_addresses(body: _Element) -> None:
    """Write the addresses of links that are fields behind their texts, which are in the runs that follow."""
    for said in body.iter("{*}instrText"):
        link, run = _HYPERLINK.match(said.text or ""), said.getparent()
        if link is None or run is None or not ADDRESS.match(link[1]):
            continue
        runs = takewhile(lambda each: not each.xpath(_ENDS_FIELD), run.itersiblings())
        texts = [text for each in runs for text in each.iter("{*}t")]
        shown = "".join(text.text or "" for text in texts)
        for text in texts[-1:]:
            text.text = (text.text or "") + with_address(shown, link[1]).removeprefix(shown)


def _count(element: _Element, path: str, least: int) -> int:
    return max(min(integer(value(element, path)), MAX_COLUMNS), least)


def _filled_in(field: _Element) -> str:
    """What is chosen in an older form field: `☒`, `☐` or the entry of a list. Text is in the runs behind."""
    box, entries = field.find("{*}checkBox"), field.find("{*}ddList")
    if box is not None:
        states = (found for name in ("checked", "default") for found in box.iterfind(f"{{*}}{name}"))
        return "☒" if any(map(is_on, islice(states, 1))) else "☐"
    if entries is None:
        return ""
    chosen = value(entries, "{*}result") or value(entries, "{*}default") or "0"
    listed = [attribute(entry, "val") or "" for entry in entries.iterfind("{*}listEntry")]
    return "".join(listed[integer(chosen, len(listed)) :][:1])


def _edge(properties: _Element, name: str) -> str:
    """The break before (`pageBreakBefore`) or after (`sectPr`) a paragraph."""
    element = properties.find(f"{{*}}{name}")
    if element is None:
        return ""
    if name == "sectPr":
        off = value(element, "{*}type") in {"continuous", "nextColumn"}
    else:
        off = attribute(element, "val") in {"0", "false", "off"}
    return "" if off else SOFT_BREAK
