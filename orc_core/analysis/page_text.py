"""A page's text for analysis: without headers and footers, and as much as can be read."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from orc_core.models import Page

LONGEST_READ = 40_000
"""Characters of one page that are analysed: some files have all of their text on one page."""
EDGE_LINES = 3
RUNNING_PAGES = 3
RUNNING_SHARE = 1 / 8

_SENTENCE_ENDS = (".", "!", "?", "。")
_DIGITS = re.compile(r"\d+")
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s{0,3}\n\s{0,3}(?=[^\W\d_])")


def text_of(page: Page, running: Collection[str] = ()) -> str:
    """The text of a page without its `running` lines, if others are left; broken words are joined."""
    lines = page.text[:LONGEST_READ].splitlines()
    edge = edges(lines)
    kept = [line for i, line in enumerate(lines) if i not in edge or masked(line) not in running]
    # Pages that are all alike, such as forms, have nothing but running lines.
    return _LINE_END_HYPHEN.sub("", "\n".join(kept if any(map(str.strip, kept)) else lines))


def edges(lines: Sequence[str]) -> set[int]:
    """The indexes of the first and the last lines that are not empty."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return {*filled[:EDGE_LINES], *filled[-EDGE_LINES:]}


def find_running(pages: Sequence[Page]) -> frozenset[str]:
    """The lines, digits masked, that occur at the edges of so many pages that they are headers or footers."""
    found: Counter[str] = Counter()
    for page in pages:
        lines = page.text[:LONGEST_READ].splitlines()
        found.update({masked(lines[index]) for index in edges(lines)})
    most = max(RUNNING_PAGES, len(pages) * RUNNING_SHARE)
    return frozenset(line for line, times in found.items() if times > most)


def masked(line: str) -> str:
    """A line as it is compared between pages: without its digits, which differ in headers and footers."""
    plain = " ".join(line.split())
    return plain if plain.endswith(_SENTENCE_ENDS) else _DIGITS.sub("0", plain)
