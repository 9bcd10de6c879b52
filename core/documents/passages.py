"""Pages cut into passages: a few sentences each, with exact offsets, never across a page."""

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence

from core.documents.models import Page, Passage
from core.documents.table_rows import header_above
from core.text.headings import JOINT, Trail, below, path, telling_headings

LONGEST = 1200
SHORTEST_SHARE = 2 / 3
SCRAP_SHARE = 1 / 3

_CUTS = (
    re.compile(r"\n[ \t\r]*\n"),
    re.compile(r"[.!?…][\"'”’)\]]*[ \t\r]*\n|[。！？]"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[^\sa-z])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)


def split_pages(document_id: str, pages: Sequence[Page]) -> list[Passage]:
    """The passages of a document in reading order; no text but blanks is left out.

    A passage without a heading of its own above it on its page continues under those before. One that
    starts inside a table has the table's header as its innermost heading.
    """
    passages: list[Passage] = []
    trail: Trail = ()
    label = ""
    for page, headings in zip(pages, telling_headings(pages), strict=True):
        if page.label != label:
            trail, label = (), page.label
        ahead = deque(headings)
        for start, end in _spans(page.text, {heading.start for heading in headings}):
            while ahead and ahead[0].start <= start:
                trail = below(trail, ahead.popleft())
            names = [path(trail, page.label), header_above(page.text, start)]
            passages.append(
                Passage(
                    document_id=document_id,
                    page=page.number,
                    start=start,
                    end=end,
                    text=page.text[start:end],
                    heading=JOINT.join(filter(None, names)),
                )
            )
        for heading in ahead:
            trail = below(trail, heading)
    return passages


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
