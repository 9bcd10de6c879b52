"""Pages cut into passages: a few sentences each, with exact offsets, never across a page."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from core.documents.models import Page, Passage

LONGEST = 1200
SHORTEST_SHARE = 2 / 3
SCRAP_SHARE = 1 / 3
HEADING_CHARACTERS = 80
HEADING_WORDS = 12
RUNNING_SHARE = 1 / 8
RUNNING_PAGES = 3

_CUTS = (
    re.compile(r"\n[ \t\r]*\n"),
    re.compile(r"[.!?…][\"'”’)\]]*[ \t\r]*\n|[。！？]"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[^\sa-z])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)
_DIGITS = re.compile(r"\d+")
_LINE = re.compile(r"[^\r\n]+")
_MARKED_HEADING = re.compile(r"#{1,6}\s+\S|(?:\d{1,2}\.)*\d{1,2}\.?\s+[^\W\d_]|[A-Z]\.\d")
_SENTENCE_END = (".", ",", ";", "!", "-", "。", "、", "，")


class Heading(NamedTuple):
    """A line that looks like a heading, and where on the page it starts."""

    start: int
    text: str


def split_pages(document_id: str, pages: Sequence[Page]) -> list[Passage]:
    """The passages of a document in reading order; no text but blanks is left out.

    A passage without a heading of its own above it on its page continues under the one before.
    """
    passages: list[Passage] = []
    inherited = ""
    for page, headings in zip(pages, _telling_headings(pages), strict=True):
        starts = [heading.start for heading in headings]
        for start, end in _spans(page.text, set(starts)):
            above = bisect_right(starts, start)
            passages.append(
                Passage(
                    document_id=document_id,
                    page=page.number,
                    start=start,
                    end=end,
                    text=page.text[start:end],
                    heading=page.label or (headings[above - 1].text if above else inherited),
                )
            )
        inherited = headings[-1].text if headings else inherited
    return passages


def _telling_headings(pages: Sequence[Page]) -> list[list[Heading]]:
    """Each page's headings without those that, but for digits, are on many pages: running headers."""
    found = [find_headings(page.text) for page in pages]
    pages_with = Counter(kind for headings in found for kind in {_masked(heading) for heading in headings})
    most = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    return [[heading for heading in headings if pages_with[_masked(heading)] <= most] for headings in found]


def _masked(heading: Heading) -> str:
    return _DIGITS.sub("0", heading.text)


def find_headings(text: str) -> list[Heading]:
    """The lines of a text that look like headings, in order."""
    return [
        Heading(match.start() + len(line) - len(line.lstrip()), line.strip().lstrip("# "))
        for match in _LINE.finditer(text)
        if _looks_like_heading((line := match[0]).strip())
    ]


def _looks_like_heading(line: str) -> bool:
    if not 3 <= len(line) <= HEADING_CHARACTERS or line.endswith(_SENTENCE_END):
        return False
    parts = line.split()
    letters = sum(map(str.isalpha, line))
    if len(parts) > HEADING_WORDS or letters < 3 or letters < len(line.replace(" ", "")) / 2:
        return False
    if _MARKED_HEADING.match(line):
        return True
    weighty = [part for part in parts if len(part) > 3]
    return not line[0].islower() and bool(weighty) and not any(part[0].islower() for part in weighty)


def _spans(text: str, heading_starts: set[int]) -> Iterator[tuple[int, int]]:
    """Non-blank stretches of up to LONGEST characters that together hold all of the text."""
    start, stop = 0, len(text.rstrip())
    while (start := _skip_blanks(text, start, stop)) < stop:
        end = _keep_heading_with_text(text, start, _cut(text, start, stop), stop, heading_starts)
        yield start, start + len(text[start:end].rstrip())
        start = end


def _skip_blanks(text: str, start: int, stop: int) -> int:
    while start < stop and text[start].isspace():
        start += 1
    return start


def _cut(text: str, start: int, stop: int) -> int:
    """Where the passage from `start` ends: late, at the best kind of boundary, leaving no scrap behind."""
    left = stop - start
    if left <= LONGEST:
        return stop
    even = left // math.ceil(left / LONGEST)
    earliest = start + int(even * SHORTEST_SHARE)
    latest = min(start + LONGEST, stop - int(even * SCRAP_SHARE))
    for boundary in _CUTS:
        if ends := [match.end() for match in boundary.finditer(text, earliest, latest)]:
            return ends[-1]
    return latest


def _keep_heading_with_text(text: str, start: int, end: int, stop: int, heading_starts: set[int]) -> int:
    """`end`, or the start of the heading lines that would be left alone before it."""
    earliest = start + LONGEST // 3
    kept = end
    while kept < stop:
        line = _skip_blanks(text, _last_line_start(text, start, kept), kept)
        if line not in heading_starts:
            return kept
        if line <= earliest:
            return end
        kept = line
    return kept


def _last_line_start(text: str, start: int, end: int) -> int:
    body = text[start:end].rstrip()
    return start + max(body.rfind("\n"), body.rfind("\r")) + 1
