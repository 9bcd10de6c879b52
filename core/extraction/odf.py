"""What OpenDocument files have in common: the package, and text with its tables."""

from collections.abc import Iterator
from pathlib import Path

from lxml.etree import _Element

from core.extraction.errors import unreadable
from core.extraction.packages import Package, attribute, local
from core.extraction.pages import SOFT_BREAK, Block, has_break, render_rows

CONTENT, STYLES = "content.xml", "styles.xml"
MAX_HEADING = 200
MAX_COLUMNS = 63
MAX_SPACES = 1000
_MANIFEST = "META-INF/manifest.xml"
_PARAGRAPHS = frozenset({"p", "h"})
_LITERALS = {"tab": "\t", "line-break": "\n", "soft-page-break": SOFT_BREAK}
_UNSEEN = frozenset(
    {"tracked-changes", "annotation", "annotation-end", "ruby-text", "note-citation", "forms", ""}
)
_ASIDE = frozenset({"note", "frame", "custom-shape", "rect", "g"})
_ROW_GROUPS = frozenset({"table-rows", "table-row-group", "table-header-rows"})


def open_package(source: Path, memory_bytes: int) -> Package:
    """The package. Raises UnreadableDocument where it has a password."""
    package = Package(source, memory_bytes)
    manifest = package.root(_MANIFEST)
    if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
        raise unreadable("encrypted")
    return package


def read_body(package: Package, kind: str) -> _Element:
    """The element below `office:body` that holds a text, spreadsheet or presentation."""
    root = package.root(CONTENT)
    body = None if root is None else root.find(f"{{*}}body/{{*}}{kind}")
    if body is None:
        raise unreadable("corrupt")
    return body


class Edges:
    """Which paragraph styles begin or end a page."""

    def __init__(self, *roots: _Element | None) -> None:
        styles = [style for root in roots if root is not None for style in root.iter("{*}style")]
        self._before = {attribute(style, "name") for style in styles if _breaks(style, "break-before")}
        self._before |= {attribute(style, "name") for style in styles if attribute(style, "master-page-name")}
        self._after = {attribute(style, "name") for style in styles if _breaks(style, "break-after")}

    def around(self, paragraph: _Element, text: str) -> str:
        """The paragraph's text with its page marks."""
        style = attribute(paragraph, "style-name")
        before = SOFT_BREAK if style in self._before else ""
        return f"{before}{text}{SOFT_BREAK if style in self._after else ''}"


def _breaks(style: _Element, edge: str) -> bool:
    properties = style.find("{*}paragraph-properties")
    return properties is not None and attribute(properties, edge) == "page"


def blocks(container: _Element, edges: Edges) -> Iterator[Block]:
    """The paragraphs and table rows of a container; what hangs on a paragraph follows it."""
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
    """The text of a container in lines, without page marks."""
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
    """The text of a paragraph; boxes and notes that hang on it are put `aside`."""
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
    """One block for each row; a table of one column is a frame around paragraphs."""
    certain = table.find("{*}table-header-rows") is not None
    cells = [list(_cells(row)) for row in rows(table)]
    if all(len(row) <= 1 for row in cells):
        for row in cells:
            for cell in row:
                yield from blocks(cell, edges)
        return
    texts = [["\n".join(block.text for block in blocks(cell, edges)) for cell in row] for row in cells]
    for text, line in zip(texts, render_rows(texts, header=certain), strict=True):
        yield Block(f"{SOFT_BREAK if has_break(''.join(text)) else ''}{line}")


def rows(table: _Element) -> Iterator[_Element]:
    """The rows of a table, in whatever groups they stand."""
    for child in table:
        if local(child) == "table-row":
            yield child
        elif local(child) in _ROW_GROUPS:
            yield from rows(child)


def _cells(row: _Element) -> Iterator[_Element]:
    for cell in row.iterfind("{*}*"):
        if local(cell) in {"table-cell", "covered-table-cell"}:
            yield from [cell] * min(repeated(cell, "number-columns-repeated"), MAX_COLUMNS)


def repeated(element: _Element, name: str) -> int:
    """How often the element stands for itself, by the attribute of this name; at least once."""
    value = attribute(element, name) or ""
    return max(int(value), 1) if value.isdecimal() and len(value) < 10 else 1
