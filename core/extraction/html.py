"""HTML: one unit for each heading."""

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag

from core.extraction.pages import Block, UnitStream, by_heading, render_rows
from core.extraction.text import load

_UNSEEN = ["script", "style", "noscript", "template", "svg", "title"]
_INLINE = frozenset(
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_SPACE = re.compile(r"\s+")


def read(source: Path) -> UnitStream:
    """One unit for each heading; text before the first is labelled with the page's title."""
    return UnitStream(by_heading(*parse(load(source))))


def to_text(markup: str) -> str:
    """All text of a page, in one piece."""
    blocks, _ = parse(markup)
    return "\n".join(block.text for block in blocks)


def parse(markup: str) -> tuple[Iterator[Block], str]:
    """The blocks of a page, and its title."""
    soup = BeautifulSoup(f"{markup}\n", "html.parser")  # one line without markup could be taken for a URL
    title = soup.title.get_text() if soup.title else ""
    for unseen in soup(_UNSEEN):
        unseen.extract()
    for table in soup("table"):
        if table.find("table") is None:  # otherwise it is layout
            first = table.find("tr")
            header = first is not None and first.find("th") is not None and first.find("td") is None
            rows = ([cell.get_text(" ") for cell in row(["td", "th"])] for row in table("tr"))
            lines = "\n".join(filter(None, render_rows(rows, header=header)))
            table.replace_with(soup.new_tag("pre", string=lines))
    return _blocks(soup), " ".join(title.split())


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
