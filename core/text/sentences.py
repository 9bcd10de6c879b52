"""Splits page text into quotable pieces: sentences, list items and table rows, with their headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from core.text.numbers import SCALE_ABBREVIATIONS

Kind = Literal["sentence", "item", "row", "heading"]

MAX_HEADING_CHARACTERS = 90
MAX_HEADING_WORDS = 12
HEADING_SHARE = 0.75
"""A heading's line is shorter than this share of the widest line."""
LONGEST_ABOVE = 4000
"""Characters of the headings, and of the lead, that a piece repeats; the last ones if there are more."""
LONGEST_ABBREVIATED = 40
"""Characters before a full stop that can be an abbreviation, an initial or a number."""

_ITEM = re.compile(r"(?:[•●▪◦‣·*–-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+\S")
_ENDED = re.compile(r"[.!?。！？:][\"'”’)\]]*$")
_LABEL = re.compile(r"[A-Z][\w’'/ -]{0,38}:$")
_CELL = re.compile(r"^[-+(]?[$€£¥]?\d[\d.,]*[%)]?$")
_DIGIT = re.compile(r"\d")
_ENDS = tuple(".!?。！？")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof inc ltd co corp no vs etc approx fig figs eq sec dept st al cf "
    "e.g i.e u.s u.k z.b d.h sr sra dra ee".split()
)
_GERMAN_MONTH = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
# A run of marks is entered at its first character only, and never read twice.
_SPACED_BOUNDARY = r"[.!?](?<![.!?].)[.!?]*+[\"'”’)\]]*+\s++(?=[\"'“‘(\[]?[\w•¿¡$])"
_BOUNDARY = re.compile(rf"{_SPACED_BOUNDARY}|[。！？]+[」』）]?")
_ASCII_BOUNDARY = re.compile(_SPACED_BOUNDARY)
"""Without alternatives, text between marks is skipped fast."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One quotable span with white space collapsed. `heading`: the headings above it, outermost first."""

    text: str
    kind: Kind
    heading: str = ""

    @property
    def is_whole(self) -> bool:
        """False for a part of a sentence: it starts in lower case or has no final punctuation."""
        return self.kind != "sentence" or (bool(_ENDED.search(self.text)) and not self.text[0].islower())


def split_pieces(text: str) -> list[Piece]:
    """The pieces of a text in reading order. Sentences can span lines; headings cannot."""
    pieces: list[Piece] = []
    title = heading = lead = ""
    begun = False
    for kind, block in _blocks(text):
        if kind == "heading":
            follows_heading = bool(pieces) and pieces[-1].kind == "heading"
            heading = f"{heading} {block}"[-LONGEST_ABOVE:] if follows_heading else block
            title = title if begun or block.endswith(":") else heading
            pieces.append(Piece(block, kind))
            continue
        begun = True
        lead = lead if kind == "item" else ""
        above = heading if heading.startswith(title) else f"{title} {heading}"
        parts = sentences(block) if kind == "sentence" else [block]
        pieces.extend(Piece(part, kind, f"{above} {lead}".strip()) for part in parts)
        if pieces[-1].kind == "sentence" and pieces[-1].text.endswith(":"):
            lead = pieces[-1].text[-LONGEST_ABOVE:]
    return pieces


def sentences(block: str) -> Iterator[str]:
    """The sentences of one paragraph; abbreviations and initials do not end a sentence."""
    start = 0
    for match in (_ASCII_BOUNDARY if block.isascii() else _BOUNDARY).finditer(block):
        earliest = max(start, match.start() - LONGEST_ABBREVIATED)
        word_start = max(earliest, block.rfind(" ", earliest, match.start()) + 1)
        word = block[word_start : match.start()].lower().lstrip("(\"'“[")
        is_initial = len(word) == 1 and word.isascii() and word.isalpha()
        is_scale = word in SCALE_ABBREVIATIONS and block[earliest:word_start].rstrip()[-1:].isdigit()
        is_numbering = word_start == start and word.isdigit()
        is_day = word.isdigit() and len(word) <= 2 and _GERMAN_MONTH.match(block, match.end()) is not None
        continues = block[match.end() : match.end() + 1].islower()
        is_abbreviated = word in _ABBREVIATIONS or is_initial or is_scale
        if not (continues or is_abbreviated or is_numbering or is_day):
            yield block[start : match.end()].strip()
            start = match.end()
    if rest := block[start:].strip():
        yield rest


def _blocks(text: str) -> Iterator[tuple[Kind, str]]:
    """Lines grouped into paragraphs, list items, table rows and headings, white space collapsed."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    widest = max(map(len, lines), default=0)
    kind: Kind = "sentence"
    gathered: list[str] = []
    # For each line the next line that is not empty, or "".
    next_lines = list(accumulate(lines[:0:-1], lambda found, line: line or found, initial=""))[::-1]
    for line, following in zip(lines, next_lines, strict=False):
        starts = _kind_of(line, following, widest, gathered[-1] if gathered else "")
        if starts is None and line:
            gathered.append(line)
            continue
        if gathered:
            yield kind, " ".join(gathered)
        kind, gathered = starts or "sentence", [line] if line else []
        if kind in ("heading", "row") and gathered:
            yield kind, line
            kind, gathered = "sentence", []
    if gathered:
        yield kind, " ".join(gathered)


def _kind_of(line: str, following: str, widest: int, before: str) -> Kind | None:
    """The kind of block that `line` starts, or None if it continues the previous line."""
    if not line:
        return "sentence"
    if _ITEM.match(line):
        return "item"
    if _is_row(line):
        return "row"
    is_short_item = _ITEM.match(before) is not None and len(before) < widest * HEADING_SHARE
    at_start = not before or before.endswith((*_ENDS, ":")) or is_short_item or _LABEL.match(line)
    if at_start and _is_heading(line, following, widest):
        return "heading"
    return None if before else "sentence"


def _is_row(line: str) -> bool:
    if line.count("|") >= 2:
        return True
    if _DIGIT.search(line) is None:
        return False
    words = line.split()
    cells = sum(map(bool, map(_CELL.match, words)))
    return cells >= 2 and cells >= len(words) * 0.3 and not line.endswith(".")


def _is_heading(line: str, following: str, widest: int) -> bool:
    if not following or len(line) > MAX_HEADING_CHARACTERS or len(line.split()) > MAX_HEADING_WORDS:
        return False
    if line.endswith((":", "?")):
        return True
    if line.endswith((".", "!", ",", ";", "。")) or line[0].islower() or following[0].islower():
        return False
    return line.startswith("#") or _is_row(following) or len(line) < widest * HEADING_SHARE
