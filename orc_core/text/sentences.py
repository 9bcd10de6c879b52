"""Splits page text into quotable pieces: sentences, list items and table rows, with their headings."""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal, NamedTuple

from orc_core.text.numbers import CURRENCIES, SCALE_ABBREVIATIONS
from orc_core.text.terms import is_stop_word

Kind = Literal["sentence", "item", "row", "heading"]

MAX_HEADING_CHARACTERS = 90
MAX_HEADING_WORDS = 12
HEADING_SHARE = 0.75
"""A heading's line is shorter than this share of the widest line."""
FULL_LINE = 0.9
"""A line that the next word would have lengthened to less than this share of its neighbours ends a block."""
FEW_ENDS = 0.1
"""The share of lines that end a sentence, below which each line of a text is a unit."""
MOST_ROW_WORDS = 15
LONGEST_ABOVE = 4000
"""Characters of the headings, and of the lead, that a piece repeats; the last ones if there are more."""
LONGEST_ABBREVIATED = 40
"""Characters before a full stop that can be an abbreviation, an initial or a number."""

_ITEM = re.compile(r"(?:[•●▪◦‣·*–-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+\S")
_NUMBERED = re.compile(r"(\d{1,2})[.)]\s+(?=[^\W\d_])")
_ENDED = re.compile(r"[.!?。！？:][\"'”’)\]]*$")
_LABEL = re.compile(r"[A-Z][\w’'/ -]{0,38}:$")
_LABELLED = re.compile(r"[A-Z][\w’'-]*(?: [\w’'-]+)?: \S")
_FIELD = re.compile(r"[^\W\d_](?:[^\W\d_]|[’'/ -]){0,38}: \S")
"""A line of a form, an invoice or the head of an e-mail: `Due date: 30 May`."""
_CELL = re.compile(r"^[-+(]?[$€£¥]?\d(?:[\d.,]*[%)]?|\d?:\d\d)$")
_CODE = re.compile(r"[A-Z]{1,3}-?\d{1,4}(?=[ :])")
"""What a row of a list of faults, articles or courses begins with: `E24`."""
_ENDS_WITHIN = re.compile(r"[^\W\d_]{3}[.!?] [^\W\d_a-z]")
_YEAR = re.compile(r"(?:19|20)\d\d[.,:]?$")
_DIGIT = re.compile(r"\d")
_COPYRIGHT = "©"
_BEFORE_ORDINAL = frozenset("am der die das dem den des zum vom im beim ab bis jeden jeder jedes".split())
_ENDS = tuple(".!?。！？")
_HEADING_MAY_FOLLOW = (*_ENDS, ":")
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


class Piece(NamedTuple):
    """One quotable span with white space collapsed. `heading`: the headings above it, outermost first."""

    text: str
    kind: Kind
    heading: str = ""

    @property
    def is_whole(self) -> bool:
        """False for a part of a sentence: it starts in lower case or has no final punctuation."""
        if self.kind != "sentence" or _FIELD.match(self.text):
            return True
        return bool(_ENDED.search(self.text)) and not self.text[0].islower()


def split_pieces(text: str) -> list[Piece]:
    """The pieces of a text in reading order. Sentences can span lines; headings cannot."""
    pieces: list[Piece] = []
    title = heading = lead = ""
    begun = False
    for kind, block in _blocks(text):
        if kind == "heading":
            follows_heading = bool(pieces) and pieces[-1].kind == "heading"
            heading = f"{heading} {block}"[-LONGEST_ABOVE:] if follows_heading else block
            title = title if begun or block.endswith(":") or _NUMBERED.match(block) else heading
            pieces.append(Piece(block, kind))
            continue
        begun = True
        lead = lead if kind == "item" else ""
        above = heading if heading.startswith(title) else f"{title} {heading}"
        above = f"{above} {lead}".strip()
        # Most lines of a list are one sentence, which is seen faster than split.
        parts = sentences(block) if kind == "sentence" and _BOUNDARY.search(block) else [block]
        pieces += [Piece(part, kind, above) for part in parts]
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
        is_ordinal = word.isdigit() and len(word) <= 2 and _is_ordinal(block, word_start, match.end())
        continues = block[match.end() : match.end() + 1].islower()
        is_abbreviated = word in _ABBREVIATIONS or is_initial or is_scale
        if not (continues or is_abbreviated or is_numbering or is_ordinal):
            yield block[start : match.end()].strip()
            start = match.end()
    if rest := block[start:].strip():
        yield rest


def _is_ordinal(block: str, start: int, end: int) -> bool:
    """Whether the number before `end` is a German ordinal: `3. Mai`, `im 2. Stock`."""
    before = block[max(0, start - LONGEST_ABBREVIATED) : start].split()
    is_counted = bool(before) and before[-1].lower() in _BEFORE_ORDINAL
    return is_counted or _GERMAN_MONTH.match(block, end) is not None


class _Layout(NamedTuple):
    """The longest line of a text; `is_list`: hardly a line ends a sentence, as on slides and forms."""

    widest: int
    is_list: bool


def _blocks(text: str) -> Iterator[tuple[Kind, str]]:
    """Lines grouped into paragraphs, list items, table rows and headings, white space collapsed."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    written = [line for line in lines if line]
    ended = sum(line.endswith(_ENDS) or _ITEM.match(line) is not None for line in written)
    layout = _Layout(max(map(len, lines), default=0), len(written) > 2 and ended < FEW_ENDS * len(written))
    kind: Kind = "sentence"
    gathered: list[str] = []
    last: tuple[Kind, str] = ("sentence", "")
    # For each line the next line that is not empty, or "".
    next_lines = list(accumulate(lines[:0:-1], lambda found, line: line or found, initial=""))[::-1]
    for line, following in zip(lines, next_lines, strict=False):
        before = (kind, gathered[0]) if gathered else last
        starts = _kind_of(line, following, layout, before, gathered) if line else "sentence"
        if starts is None:
            gathered.append(line)
            continue
        if gathered:
            last = kind, gathered[0]
            yield kind, " ".join(gathered)
        kind, gathered = starts, [line] if line else []
        if kind in ("heading", "row") and gathered:
            last = kind, line
            yield last
            kind, gathered = "sentence", []
    if gathered:
        yield kind, " ".join(gathered)


def _kind_of(
    line: str, following: str, layout: _Layout, before: tuple[Kind, str], gathered: list[str]
) -> Kind | None:
    """The kind of block that `line` starts, or None if it continues the `gathered` lines.

    `before` is the kind and the first line of the block of these, or of the one before if there are none.
    """
    if _ITEM.match(line):
        return "heading" if _is_numbered_heading(line, following, layout.widest, before) else "item"
    if _is_row(line) or (not gathered and _continues_rows(line, following, before[0])):
        return "row"
    above = gathered[-1] if gathered else ""
    if _is_like_a_row(line, following, before):
        return "row"
    is_listed = layout.is_list and before[0] == "heading" and not _is_header(line, following)
    can_be_heading = not is_listed and _is_start(line, above, following, layout)
    if can_be_heading and _is_heading(line, following, layout.widest):
        is_title = not before[1]
        return "sentence" if not is_title and _is_field(line, above, following) else "heading"
    return None if above and not _begins_block(gathered, line, following, layout) else "sentence"


def _is_field(line: str, *neighbours: str) -> bool:
    """Whether it is a field of a form, as at least one of its neighbours is, and no heading with a colon."""
    return _FIELD.match(line) is not None and any(map(_FIELD.match, neighbours))


def _is_start(line: str, above: str, following: str, layout: _Layout) -> bool:
    """Whether a heading can be in this line, below that of `above`."""
    if not above or above.endswith(_HEADING_MAY_FOLLOW) or _COPYRIGHT in above:
        return True
    if (layout.is_list or _FIELD.match(above)) and _is_header(line, following):
        return True
    is_short_item = len(above) < layout.widest * HEADING_SHARE and _ITEM.match(above) is not None
    return is_short_item or _LABEL.match(line) is not None


def _is_header(line: str, following: str) -> bool:
    """Whether it can name the columns of a table that begins below it."""
    return _is_row(following) and _DIGIT.search(line) is None


def _is_numbered_heading(line: str, following: str, widest: int, before: tuple[Kind, str]) -> bool:
    """Whether it is a heading such as `2. Rent`, and not an item of a numbered list."""
    number, after = _NUMBERED.match(line), _NUMBERED.match(following)
    if number is None or after is not None or not line[number.end()].isupper():
        return False
    earlier = _NUMBERED.match(before[1]) if before[0] == "item" else None
    if earlier is not None and int(earlier[1]) == int(number[1]) - 1:
        return False
    return _is_heading(line[number.end() :], following, widest)


def _begins_block(gathered: list[str], line: str, following: str, layout: _Layout) -> bool:
    """Whether a line begins something new: its first word would have fitted above, or it has a label."""
    above = gathered[-1]
    if not (line[0].isupper() or line[0].isdigit()) or above.endswith((",", "-")):
        return False
    last = above.rsplit(maxsplit=1)[-1].lower()
    if is_stop_word(last) or (last in CURRENCIES and line[0].isdigit()):
        return False
    if layout.is_list or _LABELLED.match(line) is not None or _is_field(line, above):
        return True
    if _CODE.match(line) and (_CODE.match(gathered[0]) or _CODE.match(following)):
        return True
    first, *_ = line.split(maxsplit=1)
    longest = max(map(len, [*gathered[-2:], line, following]))
    return len(above) + 1 + len(first) < FULL_LINE * longest


def _is_row(line: str) -> bool:
    if " | " in line or line.count("|") >= 2:
        return True
    if " " not in line or _DIGIT.search(line) is None:
        return False
    words = line.split()
    if (cells := _count_cells(words)) < 2 or line.endswith("."):
        return False
    if cells < 0.3 * len(words) and cells < 0.3 * sum(any(map(str.isalnum, word)) for word in words):
        return False
    return not (line[0].islower() and _ENDS_WITHIN.search(line))


def _continues_rows(line: str, following: str, before: Kind) -> bool:
    """Whether a line with one number belongs to the rows above or below it."""
    if not (before == "row" or _is_row(following)) or line.endswith(_ENDS):
        return False
    if line[0].islower() or line.startswith("#"):
        return False
    if following[:1].islower() and not _is_row(following):
        return False  # the line below ends its sentence
    words = line.split()
    numbers = [word for word in words if not _YEAR.match(word)]
    return len(words) <= MOST_ROW_WORDS and _count_cells(numbers) > 0


def _is_like_a_row(line: str, following: str, before: tuple[Kind, str]) -> bool:
    """Whether a line has words and a number in the same places as the next one, or as the row above it.

    These are rows of a table such as `June 3 Mr. Horvat`, and no headings of what follows.
    """
    places = _places(line)
    if not places or line.endswith(_ENDS):
        return False
    return places in (_places(following), _places(before[1]) if before[0] == "row" else None)


def _places(line: str) -> list[str]:
    """What each word is: a number, or a word with or without a capital; empty if no number is inside."""
    # Most lines have no number, which is seen faster than their words.
    if _DIGIT.search(line) is None or line[0].islower():
        return []
    words = line.split()
    if len(words) > MOST_ROW_WORDS or not any(map(_CELL.match, words[1:-1])):
        return []
    return ["0" if _CELL.match(word) else "A" if word[0].isupper() else "a" for word in words]


def _count_cells(words: list[str]) -> int:
    return sum(map(bool, map(_CELL.match, words)))


def _is_heading(line: str, following: str, widest: int) -> bool:
    if not following or len(line) > MAX_HEADING_CHARACTERS or len(line.split()) > MAX_HEADING_WORDS:
        return False
    if line.endswith((":", "?")):
        return True
    if line.endswith((".", "!", ",", ";", "。")) or line[0].islower() or following[0].islower():
        return False
    is_title = _is_row(following) and not is_stop_word(line.rsplit(maxsplit=1)[-1].lower())
    return line.startswith("#") or is_title or len(line) < widest * HEADING_SHARE
