"""Plain text and Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path

from core.documents.extraction.encoding import decode
from core.documents.extraction.rejections import unreadable
from core.documents.extraction.text import count_letters
from core.documents.extraction.units import Block, Reading, Unit, by_heading, fit

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_UNDERLINED = re.compile(r" {0,3}[^\s|>\-#].*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_text(source: Path) -> Reading:
    """Pages where the file has form feeds, otherwise parts of a citable size."""
    text = load(source)
    return Reading(part for page in text.split("\f") for part in fit(Unit(page)))


def read_markdown(source: Path) -> Reading:
    """One unit for each heading; the text stays as written."""
    return Reading(by_heading(_blocks(load(source).replace("\f", "\n").splitlines())))


def load(source: Path) -> str:
    """The file's text with plain line ends. Raises UnreadableDocument where no letter is in it."""
    text = decode(source.read_bytes()).replace("\0", "")
    if not count_letters(text):
        raise unreadable("empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _blocks(lines: list[str]) -> Iterator[Block]:
    """The lines as written; `#` inside a code fence is no heading."""
    fence = ""
    previous = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        heading = "" if fence else _heading(previous, line, following)
        yield Block(line, heading)
        previous = line


def _heading(previous: str, line: str, following: str) -> str:
    if marked := _HEADING.fullmatch(line):
        return marked[1]
    underlined = _UNDERLINED.fullmatch(line) and _UNDERLINE.fullmatch(following) and not previous.strip()
    return line.strip() if underlined else ""
