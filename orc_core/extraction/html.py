"""HTML: one unit for each heading."""

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag

from orc_core.extraction.pages import Block, UnitStream, by_heading
from orc_core.extraction.properties import sentence_of
from orc_core.extraction.raised import lowered, raised
from orc_core.extraction.tables import Cell, grid, render_rows, span
from orc_core.extraction.text import load

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "title", "s", "strike", "del"})
_INLINE = frozenset(
    "a abbr b bdi bdo big cite code data dfn em font i ins kbd label mark q samp small span "
    "strong sub sup time tt u var wbr".split()
)
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_STRIKING = re.compile(r"(?:^|;)\s*text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_TICKS = frozenset({"checkbox", "radio"})
_TYPED = frozenset({"", "text", "number", "date", "time", "email", "tel", "url", "search", "month", "week"})
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
MAX_RAISED = 40
_SPACE = re.compile(r"\s+")
_AUTHOR = re.compile(r"author\Z", re.IGNORECASE)


def read(source: Path) -> UnitStream:
    """One unit for each heading; text before the first is labelled with the page's title."""
    blocks, title, author = parse(load(source))
    return UnitStream(by_heading(blocks, title), properties=sentence_of(title, author))


def to_text(markup: str) -> str:
    """All text of a page, in one piece."""
    blocks, *_ = parse(markup)
    return "\n".join(block.text for block in blocks)


def parse(markup: str) -> tuple[Iterator[Block], str, str]:
    """The blocks of a page, its title and its author."""
    soup = BeautifulSoup(f"{markup}\n", "html.parser")  # one line without markup could be taken for a URL
    title = soup.title.get_text() if soup.title else ""
    author = soup.find("meta", attrs={"name": _AUTHOR})
    for element in soup.find_all(_is_unseen):
        element.extract()
    for element in soup(["sup", "sub"]):
        _mark_raised(element)
    for element in soup(["input", "select"]):
        element.replace_with(_filled_in(element))
    for table in soup("table"):
        if table.find("table") is None:  # otherwise it is layout
            lines = "\n".join(filter(None, render_rows(grid(_rows(table)), header=_count_headers(table))))
            table.replace_with(soup.new_tag("pre", string=lines))
    said = str(author.get("content") or "") if isinstance(author, Tag) else ""
    return _blocks(soup), " ".join(title.split()), said


def _is_unseen(element: Tag) -> bool:
    """Whether people do not see the element, or see it struck."""
    style = str(element.get("style") or "")
    is_hidden = element.has_attr("hidden") or _HIDING.search(style) or _STRIKING.search(style)
    return element.name in _UNSEEN or bool(is_hidden)


def _mark_raised(element: Tag) -> None:
    """Write the figures of a raised or lowered element as Unicode has them."""
    change = raised if element.name == "sup" else lowered
    if len(text := element.get_text()) <= MAX_RAISED and (changed := change(text.strip())) != text.strip():
        element.string = changed


def _filled_in(element: Tag) -> str:
    """What is chosen in a form: `☒`, `☐`, a text, or the selected option."""
    if element.name == "select":
        options = element("option")
        chosen = [option for option in options if option.has_attr("selected")] or options[:1]
        return ", ".join(option.get_text(" ").strip() for option in chosen)
    kind = str(element.get("type") or "").lower()
    if kind in _TICKS:
        return "☒" if element.has_attr("checked") else "☐"
    return str(element.get("value") or "") if kind in _TYPED else ""


def _rows(table: Tag) -> Iterator[list[Cell]]:
    for row in table("tr"):
        yield [
            Cell(cell.get_text(" "), span(cell.get("colspan")), span(cell.get("rowspan")))
            for cell in row(["td", "th"])
        ]


def _count_headers(table: Tag) -> int:
    """The number of rows at the top that have names of columns only."""
    rows = table("tr")
    return next((at for at, row in enumerate(rows) if row.find("th") is None or row.find("td")), len(rows))


def _blocks(soup: BeautifulSoup) -> Iterator[Block]:
    """The text, one block for each run inside the same block-level element."""
    pieces: list[str] = []
    current: Tag | None = soup
    for node in soup.descendants:
        if isinstance(node, Tag) and node.name == "br":
            pieces.append("\n")
        if not isinstance(node, NavigableString) or isinstance(node, PreformattedString):
            continue
        block = node.parent
        while block is not None and block.name in _INLINE:
            block = block.parent
        if block is not current:
            yield from _block(pieces, current)
            pieces, current = [], block
        preformatted = block is not None and block.name == "pre"
        pieces.append(str(node) if preformatted else _SPACE.sub(" ", node))
    yield from _block(pieces, current)


def _block(pieces: list[str], element: Tag | None) -> Iterator[Block]:
    text = "".join(pieces).strip()
    if text:
        is_heading = element is not None and element.name in _HEADINGS
        yield Block(text, " ".join(text.split()) if is_heading else "")
