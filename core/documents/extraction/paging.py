"""Pages of a text document: where the file says that they end, otherwise its headings."""

import re
from collections.abc import Iterator

from core.documents.extraction.units import UNIT_CHARACTERS, Block, Unit, by_heading

BREAK = "\f"
SOFT_BREAK = "\v"
"""A page ended here unless it has no text yet: programs also write one after each hard break."""

_ANY_BREAK = re.compile("([\f\v])")


def has_break(text: str) -> bool:
    """Whether a page ends in this text."""
    return _ANY_BREAK.search(text) is not None


def paged_units(blocks: list[Block], running: list[str]) -> Iterator[Unit]:
    """The pages of blocks whose text holds the marks above; running headers come once, at the end."""
    pages = _pages(blocks)
    limit = UNIT_CHARACTERS
    if any(SOFT_BREAK in block.text for block in blocks):
        limit *= 2
    if len(pages) == 1:
        yield from by_heading(pages[0])
    else:
        yield from _paged(pages, limit)
    if running:
        yield Unit("\n".join(running), "Headers and footers")


def _paged(pages: list[list[Block]], limit: int) -> Iterator[Unit]:
    """A unit for each page; one that cannot be a real page is cut at its headings."""
    label = ""
    for page in pages:
        text = "\n".join(block.text for block in page)
        headings = [block.heading for block in page if block.heading]
        if len(text) > limit:
            yield from by_heading(page, label)
        else:
            yield Unit(text, headings[0] if headings else label)
        label = headings[-1] if headings else label


def _pages(blocks: list[Block]) -> list[list[Block]]:
    """The blocks of each page. Cutting a page mark out of a paragraph leaves a paragraph on each side."""
    pages: list[list[Block]] = [[]]
    for block in blocks:
        for piece in _ANY_BREAK.split(block.text):
            if piece == BREAK or (piece == SOFT_BREAK and pages[-1]):
                pages.append([])
            elif piece.strip():
                pages[-1].append(Block(piece, block.heading))
    if len(pages) > 1 and not pages[-1]:
        pages.pop()
    return pages
