"""Splits pages into passages for search, each under its headings and table header."""

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence

from orc_core.models import Page, Passage
from orc_core.text.headings import JOINT, Trail, below, distinctive_headings, ends_of_running_heads, path

LONGEST_HEADER = 160
LEAST_FIGURES = 0.15
MOST_ROWS_BACK = 80
MOST_LINES_BACK = 4
MOST_READ = 2000
"""Characters of a line that decide whether it is a row: some files have all of their text in one line."""

# A run of signs is entered at its first character only: the time would grow with the cube of its length.
_FIGURE = re.compile(r"(?<![\w.])(?:(?<![$€£(+-])[$€£(+-]++)?\d[\d.,]*[%)]*(?![\w.])")
_COLUMN_NAME = re.compile(
    r"\bQ[1-4](?:\s(?:FY)?\d{2,4})?\b|\bFY\s?\d{2,4}\b|\b[1-4]Q\d\d\b|\b(?:19|20)\d\d\b|%"
)
_CELLS = re.compile(r"\s+\|\s+|\t+|\s{3,}")


def is_row(line: str) -> bool:
    """Whether a line looks like a row of a table: a name and several figures, or several cells."""
    line = line[:MOST_READ]
    figures = len(_FIGURE.findall(line))
    if figures >= 2 and figures >= LEAST_FIGURES * len(line.split()):
        return True
    return figures >= 1 and _CELLS.search(line.strip()) is not None


def is_column_header(line: str) -> bool:
    """Whether a line looks like one that names columns: years, quarters, or cells without figures."""
    line = line.strip()
    if not line or len(line) > LONGEST_HEADER or line.endswith("."):
        return False
    if len(_COLUMN_NAME.findall(line)) >= 2:
        return _FIGURE.search(_COLUMN_NAME.sub("", line)) is None
    cells = _CELLS.split(line)
    return len(cells) >= 3 and not any(_FIGURE.search(cell) for cell in cells)


def header_above(text: str, start: int) -> str:
    """The header of the table that has a row at this position; empty if there is no table.

    Too many lines without a row end the search: they separate the position from an earlier table.
    """
    line_end = text.find("\n", start)
    if not is_row(text[start : line_end if line_end >= 0 else None]):
        return ""
    since_row = 0
    for line in _lines_before(text, start):
        if is_column_header(line):
            return line.strip()
        since_row = 0 if is_row(line) else since_row + 1
        if since_row > MOST_LINES_BACK:
            break
    return ""


def _lines_before(text: str, start: int) -> Iterator[str]:
    """The lines above a position, nearest first, up to the length of a table."""
    end = start
    for _ in range(MOST_ROWS_BACK):
        if end <= 0:
            return
        begin = text.rfind("\n", 0, end - 1) + 1
        yield text[begin:end]
        end = begin


LONGEST = 1200
_COUNTS = re.compile(r"(?!(?:19|20)\d\d\Z)(?:[A-Z]{1,2}-)?\d{1,5}|[ivxlcdm]{1,8}|[IVXLCDM]{1,8}")
"""The number that is printed on a page; a sheet can have the name of a year."""
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
    """The passages of a document in reading order; only white space is left out.

    A passage without a heading above it on its page keeps the headings of the previous page. One that
    starts inside a table has the table's header as its innermost heading. One that starts with the running
    head of its page has the heading below that. A label that only counts pages is no heading.
    """
    passages: list[Passage] = []
    trail: Trail = ()
    label = ""
    heads = ends_of_running_heads(pages)
    for page, headings, head in zip(pages, distinctive_headings(pages), heads, strict=True):
        title = "" if _COUNTS.fullmatch(page.label) else page.label
        if title != label:
            trail, label = (), title
        ahead = deque(heading for heading in headings if heading.start >= head)
        for start, end in _spans(page.text, {heading.start for heading in headings}):
            begins = _skip_blanks(page.text, max(start, head), end)
            while ahead and ahead[0].start <= begins:
                trail = below(trail, ahead.popleft())
            names = [path(trail, title), header_above(page.text, start)]
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
    """Non-blank spans of up to LONGEST characters that together cover the text."""
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
    """The end of the passage from `start`: late, at the best boundary, without leaving a scrap."""
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
    """`end`, or the start of the heading lines that would otherwise end the passage."""
    earliest = start + LONGEST // 3
    kept = end
    while kept < stop:
        body = text[start:kept].rstrip()
        line = _skip_blanks(text, start + max(body.rfind("\n"), body.rfind("\r")) + 1, kept)
        if line not in heading_starts:
            return kept
        if line <= earliest:
            return end
        kept = line
    return kept
