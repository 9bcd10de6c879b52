"""Pages of text: cleaning, cutting into units of a citable size, and page breaks."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from orc_core.errors import UnreadableDocument

REASONS = {
    "encrypted": "The file is protected by a password. Save a copy without the password and upload that.",
    "corrupt": "The file is damaged and cannot be read. Open it in the program that made it, "
    "save it again and upload the new copy.",
    "empty": "The file is empty. Check that the right file was chosen, and upload it again.",
    "too_slow": "The file took too long to read. Split it into smaller files and upload those.",
    "too_much_memory": "The file needs more memory to read than one file may have. "
    "Split it into smaller files and upload those.",
    "too_large": "The file holds more text than one document may have. "
    "Split it into smaller files and upload those.",
}


def unreadable(code: str) -> UnreadableDocument:
    return UnreadableDocument(REASONS[code], code=code)


_LINE_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_NOISE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
_GARBAGE = re.compile("[\ufffd\ue000-\uf8ff]")
_LETTER = re.compile(r"[^\W_]")


def clean(text: str) -> str:
    """The text without control characters, surrogates, soft hyphens and trailing spaces.

    The result is "" if no letter or digit is left, or if most characters are unmapped glyphs.
    """
    text = _NOISE.sub("", _LINE_ENDS.sub("\n", text.replace("\r\n", "\n")))
    garbage = 0 if text.isascii() else len(_GARBAGE.findall(text))
    if not _LETTER.search(text) or (garbage and count_letters(text) <= garbage):
        return ""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def count_letters(text: str) -> int:
    return len(_LETTER.findall(text))


UNIT_CHARACTERS = 6000
LONGEST_PAGE = 20_000
"""Characters of a page of a PDF, or of a slide; longer pages are split."""


class Unit(NamedTuple):
    """The text of one page, slide, sheet or section, before it is cleaned.

    `boxes` has the positions of the words of the cleaned text, see word_boxes.py; b"" if unknown. A unit that
    `follows` is counted after all others of the file.
    """

    text: str
    label: str = ""
    boxes: bytes = b""
    follows: bool = False


class Block(NamedTuple):
    """A paragraph or a table. A block with a `heading` starts a section of that name."""

    text: str
    heading: str = ""


class UnitStream(NamedTuple):
    """The result of a reader: the units, their number (0 if unknown), and what the file says of itself."""

    units: Iterator[Unit]
    total: int = 0
    properties: str = ""


def by_heading(blocks: Iterable[Block], label: str = "") -> Iterator[Unit]:
    """One unit for each heading with its text; a heading without text is joined to the next."""
    lines: list[str] = []
    has_body = False
    for block in blocks:
        if block.heading:
            if has_body:
                yield from fit(Unit("\n".join(lines), label))
                lines, has_body = [], False
            label = block.heading
        elif count_letters(block.text):
            has_body = True
        lines.append(block.text)
    if "".join(lines).strip():
        yield from fit(Unit("\n".join(lines), label))


def fit(unit: Unit, limit: int = UNIT_CHARACTERS) -> Iterator[Unit]:
    """The unit in parts of at most `limit` characters, cut between paragraphs if possible."""
    start = 0
    while len(unit.text) - start > limit:
        end = start + limit
        for mark in ("\n\n", "\n", " "):
            if (at := unit.text.rfind(mark, start + limit // 2, end)) > 0:
                end = at + len(mark)
                break
        yield Unit(unit.text[start:end], unit.label)
        start = end
    yield Unit(unit.text[start:], unit.label)


def numbered_pages(units: Iterable[Unit], first: int = 1) -> Iterator[Unit]:
    """The pages of a file that numbers them, from page `first`, each of at most LONGEST_PAGE characters.

    What exceeds that follows the last page, without boxes: every page keeps its number.
    """
    number = first - 1
    for unit in units:
        number += not unit.follows
        if len(unit.text) <= LONGEST_PAGE:
            yield unit
            continue
        page, *rest = (part._replace(follows=unit.follows) for part in fit(unit, LONGEST_PAGE))
        yield page
        label = f"{unit.label or f'Page {number}'} (continued)"
        yield from (part._replace(label=label, follows=True) for part in rest)


def pack(lines: Iterable[str], label: str = "") -> Iterator[Unit]:
    """Units of whole lines; only a line longer than a unit is cut."""
    held: list[str] = []
    size = 0
    for line in lines:
        if held and size + len(line) > UNIT_CHARACTERS:
            yield from fit(Unit("\n".join(held), label))
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield from fit(Unit("\n".join(held), label))


BREAK = "\f"
SOFT_BREAK = "\v"
"""Ends a page, unless the page is empty: programs also write one after each hard break."""

_ANY_BREAK = re.compile("([\f\v])")


def running_units(texts: Iterable[str]) -> Iterator[Unit]:
    """The distinct lines of headers and footers that contain letters; no unit if there are none."""
    lines = dict.fromkeys(line.strip() for text in texts for line in text.splitlines())
    if worded := [line for line in lines if any(map(str.isalpha, line))]:
        yield from fit(Unit("\n".join(worded), "Headers and footers"))


def paged_units(blocks: list[Block]) -> Iterator[Unit]:
    """The pages of blocks whose text contains breaks."""
    # The blocks of each page. A break inside a paragraph splits it into two.
    pages: list[list[Block]] = [[]]
    for block in blocks:
        for piece in _ANY_BREAK.split(block.text):
            if piece == BREAK or (piece == SOFT_BREAK and pages[-1]):
                pages.append([])
            elif piece.strip():
                pages[-1].append(Block(piece, block.heading))
    if len(pages) > 1 and not pages[-1]:
        pages.pop()
    has_soft_breaks = any(SOFT_BREAK in block.text for block in blocks)
    limit = UNIT_CHARACTERS * 2 if has_soft_breaks else UNIT_CHARACTERS
    return by_heading(pages[0]) if len(pages) == 1 else _paged(pages, limit)


def _paged(pages: list[list[Block]], limit: int) -> Iterator[Unit]:
    """One unit for each page; a page that is too long to be real is cut at its headings."""
    label = ""
    for page in pages:
        text = "\n".join(block.text for block in page)
        headings = [block.heading for block in page if block.heading]
        if len(text) > limit:
            yield from by_heading(page, label)
        else:
            yield Unit(text, headings[0] if headings else label)
        label = headings[-1] if headings else label
