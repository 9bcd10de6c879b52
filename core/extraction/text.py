"""Plain text and Markdown."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from core.extraction.encoding import decode
from core.extraction.errors import unreadable
from core.extraction.pages import Block, Reading, Unit, by_heading, count_letters, fit, pack, render_rows

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


_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
_MAX_FIELD = 2**31 - 1


def read_csv(source: Path) -> Reading:
    """The rows, in parts of a citable size."""
    csv.field_size_limit(_MAX_FIELD)
    lines = load(source).split("\n")
    rows = csv.reader(_with_ends(lines), delimiter=_delimiter(lines[:_SAMPLE_ROWS]))
    return Reading(pack(filter(None, render_rows(rows))))


def _with_ends(lines: list[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _delimiter(sample: list[str]) -> str:
    """The delimiter that cuts most rows into the same number of columns, two or more."""
    best, best_score = ",", 0
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(_with_ends(sample), delimiter=delimiter) if row]
        common = max(set(widths), key=widths.count, default=1)
        score = widths.count(common) if common > 1 else 0
        if score > best_score:
            best, best_score = delimiter, score
    return best
