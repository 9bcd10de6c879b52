"""Cuts the text of a page into the pieces that can be quoted: sentences, list items, table rows, under headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["sentence", "item", "row", "heading"]

MAX_HEADING_CHARACTERS = 90
MAX_HEADING_WORDS = 12
HEADING_SHARE = 0.75
"""A heading's line is shorter than this share of the widest line."""

_ITEM = re.compile(r"(?:[•●▪◦‣·*–-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+\S")
_LABEL = re.compile(r"[A-Z][\w’'/ -]{0,38}:$")
_CELL = re.compile(r"^[-+(]?[$€£¥]?\d[\d.,]*[%)]?$")
_ENDS = tuple(".!?。！？")
_ABBREVIATIONS = "mr mrs ms dr prof inc ltd co corp no vs etc approx fig figs eq sec dept st al cf e.g i.e u.s u.k z.b d.h".split()
_BOUNDARY = re.compile(
    r"(?P<word>\S*?)(?:[.!?]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[\w•¿¡$])|[。！？]+[」』）]?)", re.UNICODE
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One quotable stretch, white space collapsed. `heading` is what it stands under, outermost first."""

    text: str
    kind: Kind
    heading: str = ""


def split_pieces(text: str) -> list[Piece]:
    """The pieces of a text in reading order. A sentence may run over line ends; a heading may not."""
    pieces: list[Piece] = []
    title = heading = lead = ""
    for kind, block in _blocks(text):
        if kind == "heading":
            follows_heading = bool(pieces) and pieces[-1].kind == "heading"
            heading = f"{heading} {block}" if follows_heading else block
            title = title if any(piece.kind != "heading" for piece in pieces) else heading
            pieces.append(Piece(block, kind))
            continue
        if kind == "sentence":
            lead = ""
        above = heading if heading.startswith(title) else f"{title} {heading}"
        parts = sentences(block) if kind == "sentence" else [block]
        pieces.extend(Piece(part, kind, f"{above} {lead}".strip()) for part in parts)
        if pieces[-1].kind == "sentence" and pieces[-1].text.endswith(":"):
            lead = pieces[-1].text
    return pieces


def sentences(block: str) -> Iterator[str]:
    """The sentences of one paragraph; abbreviations and initials do not end one."""
    start = 0
    for match in _BOUNDARY.finditer(block):
        word = match["word"].lower().lstrip("(\"'“[")
        if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()) or word.isdigit() and match.start() <= start:
            continue
        yield block[start : match.end()].strip()
        start = match.end()
    if rest := block[start:].strip():
        yield rest


def _blocks(text: str) -> Iterator[tuple[Kind, str]]:
    """Lines gathered into paragraphs, list items, table rows and headings, white space collapsed."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    widest = max(map(len, lines), default=0)
    kind: Kind = "sentence"
    gathered: list[str] = []
    for index, line in enumerate(lines):
        following = next((later for later in lines[index + 1 :] if later), "")
        starts = _kind_of(line, following, widest, " ".join(gathered))
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


def _kind_of(line: str, following: str, widest: int, gathered: str) -> Kind | None:
    """What `line` starts, or None where it goes on with what was gathered."""
    if not line:
        return "sentence"
    if _ITEM.match(line):
        return "item"
    if _is_row(line):
        return "row"
    at_start = not gathered or gathered.endswith((*_ENDS, ":")) or bool(_LABEL.match(line))
    if at_start and _is_heading(line, following, widest):
        return "heading"
    return None if gathered else "sentence"


def _is_row(line: str) -> bool:
    if line.count("|") >= 2:
        return True
    words = line.split()
    cells = sum(bool(_CELL.match(word)) for word in words)
    return cells >= 2 and cells >= len(words) * 0.3 and not line.endswith(".")


def _is_heading(line: str, following: str, widest: int) -> bool:
    if not following or len(line) > MAX_HEADING_CHARACTERS or len(line.split()) > MAX_HEADING_WORDS:
        return False
    if line.endswith((":", "?")):
        return True
    if line.endswith((".", "!", ",", ";", "。")) or line[0].islower() or following[0].islower():
        return False
    return line.startswith("#") or len(line) < widest * HEADING_SHARE
