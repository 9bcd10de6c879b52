"""Finds words that were copied from a text in that text again."""

import re
from typing import NamedTuple

_GAP = re.compile(r"(?<=[^\W\d_])[-\u2010]\s{0,9}\n\s{0,9}(?=[^\W\d_])|\u00ad|(\s+)")
"""What a copy may write otherwise: a hyphen at the end of a line, and white space."""


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


class QuoteFinder:
    """Looks for quotes in a text, which is folded once."""

    def __init__(self, text: str) -> None:
        self._folded, self._offsets = _folded(text)

    def find(self, quote: str) -> Span | None:
        """The first place of the quote in whole words; its white space, line ends and case may differ."""
        wanted = _folded(quote)[0].strip()
        if not wanted:
            return None
        pattern = rf"(?<![A-Za-z0-9]){re.escape(wanted)}(?![A-Za-z0-9])"
        found = re.search(pattern, self._folded, re.I)
        return Span(self._offsets[found.start()], self._offsets[found.end() - 1] + 1) if found else None


def locate(quote: str, text: str) -> Span | None:
    """The first place of a quote in a text, or None; see QuoteFinder."""
    return QuoteFinder(text).find(quote)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text with single spaces and whole words, and the offset of each of its characters."""
    parts: list[str] = []
    offsets: list[int] = []
    end = 0
    for gap in _GAP.finditer(text):
        parts += text[end : gap.start()], " " if gap[1] else ""
        offsets += range(end, gap.start() + bool(gap[1]))
        end = gap.end()
    return "".join([*parts, text[end:]]), [*offsets, *range(end, len(text))]
