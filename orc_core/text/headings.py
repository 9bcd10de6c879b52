"""Finds headings in page text, and the headings above a position."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from orc_core.models import Page

LONGEST_HEADING = 80
LONGEST_TITLE = 160
"""Titles of parts and items may be longer than other headings."""
MOST_WORDS = 12
RUNNING_SHARE = 1 / 8
RUNNING_PAGES = 3
MOST_HEAD_LINES, FIRST_WORDS = 3, 3
PATH_LEVELS = 3
JOINT = " > "
CELL_MARK = " | "

PART, ITEM, NUMBERED, CAPITALS, NOTE, OTHER = 1, 2, 3, 4, 5, 6

_DIGITS = re.compile(r"\d+")
_LINE = re.compile(r"[^\r\n]+")
_MARKED_HEADING = re.compile(r"#{1,6}\s+\S|(?:\d{1,2}\.)*\d{1,2}\.?\s+[^\W\d_]|[A-Z]\.\d")
_SENTENCE_END = (".", ",", ";", "!", "-", "。", "、", "，")
_MARKS = re.compile(r"#{1,6}(?=\s)")
_NUMBERING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*|[A-Z](?:\.\d{1,2})+)(?=[.\s])")
_AMOUNT_LAST = re.compile(r"\s[$€£(]*\d{1,3}(?:[.,]\d{3})+\)?$")
_NAMED_LEVELS = (
    (
        re.compile(
            r"(?:part|teil|partie|parte|chapter|kapitel|chapitre|capítulo|capitolo)\s+[\divx]+\b", re.I
        ),
        PART,
    ),
    (re.compile(r"(?:item|section|abschnitt|article|artikel)\s+\d", re.I), ITEM),
    (re.compile(r"(?:note|anmerkung|nota|appendix|anhang|annex\w*|exhibit)\s+[\da-z]{1,3}\b", re.I), NOTE),
)


class Heading(NamedTuple):
    """A line that looks like a heading, its start in the text, and its level (1 is outermost)."""

    start: int
    text: str
    level: int


Trail = tuple[Heading, ...]
"""A heading and its parent headings, outermost first."""


def find_headings(text: str) -> list[Heading]:
    """The lines of a text that look like headings, in order."""
    return [
        Heading(
            match.start() + len(line) - len(line.lstrip()), line.strip().lstrip("# "), _level(line.strip())
        )
        for match in _LINE.finditer(text)
        if _looks_like_heading((line := match[0]).strip())
    ]


def distinctive_headings(pages: Sequence[Page]) -> list[list[Heading]]:
    """The headings of each page without running headers, which repeat on many pages except for digits."""
    found = [find_headings(page.text) for page in pages]
    pages_with = Counter(
        kind for headings in found for kind in {_masked(heading.text) for heading in headings}
    )
    most = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    return [
        [heading for heading in headings if pages_with[_masked(heading.text)] <= most] for headings in found
    ]


def ends_of_running_heads(pages: Sequence[Page]) -> list[int]:
    """Where the lines at the top of each page end that begin like those at the top of many pages.

    What follows the name of a book in them is often that of the chapter.
    """
    tops = [list(islice(_LINE.finditer(page.text), MOST_HEAD_LINES)) for page in pages]
    pages_with = Counter(kind for top in tops for kind in {_beginning(line[0]) for line in top})
    most = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    running = (takewhile(lambda line: pages_with[_beginning(line[0])] > most, top) for top in tops)
    return [max((line.end() for line in each), default=0) for each in running]


def below(trail: Trail, heading: Heading) -> Trail:
    """The trail below this heading."""
    return (*(above for above in trail if above.level < heading.level), heading)


def path(trail: Trail, label: str) -> str:
    """The innermost headings of a trail, after the label of the page."""
    names = [heading.text for heading in trail if heading.text != label]
    kept = PATH_LEVELS - 1 if label else PATH_LEVELS
    return JOINT.join([*([label] if label else []), *names[-kept:]])


def _beginning(line: str) -> str:
    return _masked(" ".join(line.split()[:FIRST_WORDS]))


def _masked(line: str) -> str:
    return _DIGITS.sub("0", line)


def _level(line: str) -> int:
    if marks := _MARKS.match(line):
        return len(marks[0])
    for pattern, level in _NAMED_LEVELS:
        if pattern.match(line):
            return level
    if numbering := _NUMBERING.match(line):
        return min(NUMBERED + numbering[0].count("."), OTHER)
    return CAPITALS if line.isupper() else OTHER


def _looks_like_heading(line: str) -> bool:
    if len(line) <= LONGEST_TITLE and line.isupper() and _level(line) in (PART, ITEM, NOTE):
        return True
    if not 3 <= len(line) <= LONGEST_HEADING or line.endswith(_SENTENCE_END):
        return False
    # What most lines fail, and takes least time, comes first.
    parts = line.split()
    if len(parts) > MOST_WORDS or not (_is_capitalised(parts) or _MARKED_HEADING.match(line)):
        return False
    letters = sum(map(str.isalpha, line))
    if letters < 3 or letters < len(line.replace(" ", "")) / 2:
        return False
    return CELL_MARK not in line and _AMOUNT_LAST.search(line) is None


def _is_capitalised(parts: Sequence[str]) -> bool:
    """Whether the first word, and each word that is not short, begins with no small letter."""
    if parts[0][0].islower():
        return False
    weighty = [part for part in parts if len(part) > 3]
    return bool(weighty) and not any(part[0].islower() for part in weighty)
