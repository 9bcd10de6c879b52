"""Locates quotes on a page."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_RUN = re.compile(
    r"(?P<broken>(?<=[^\W\d_])[-\u2010\u00ad]\s*\n\s*(?=[^\W\d_]))"
    r"|(?P<marker>(?<=\[)[sS](?=\d))"
    r"|(?P<plain>[A-Za-z0-9]+)|(?P<space>[ \n]+)|(?P<other>.)",
    re.S,
)
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_OPENING_MARKS = frozenset("\"'([{“‘„‚«‹»›「『（【¿¡")
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a page's text."""

    start: int
    end: int


class _Canonical(NamedTuple):
    text: str
    offsets: Sequence[int]


def locate(quote: str, page_text: str) -> Span | None:
    """The first place of `quote` on the page, or None.

    Line breaks, hyphenation at line ends, ligatures, letter case, spacing and punctuation may differ;
    words, numbers, signs and decimal points may not.
    """
    return next(iter(QuoteFinder(page_text).find_all(quote)), None)


class QuoteFinder:
    """Looks for quotes in a text, which is normalised once."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find_all(self, quote: str) -> list[Span]:
        """Every place of `quote`; see `locate` for what may differ."""
        wanted = _canonical(quote).text.strip()
        if not wanted:
            return []
        page = self._canonical
        return [
            _with_outer_marks(quote, self._text, page.offsets[at], page.offsets[at + len(wanted) - 1] + 1)
            for at in _occurrences(wanted, page.text)
            if not (_joined(page.text, at - 1) or _joined(page.text, at + len(wanted) - 1))
        ]

    @cached_property
    def _canonical(self) -> _Canonical:
        return _canonical(self._text)


def _canonical(text: str) -> _Canonical:
    """The text reduced to letters, numbers and single spaces, with each character's offset in `text`."""
    characters: list[str] = []
    offsets: list[int] = []
    for match in _RUN.finditer(text):
        index = match.start()
        if match["plain"]:
            characters.extend(match["plain"].lower())
            offsets.extend(range(index, match.end()))
        elif match["space"]:
            if characters and characters[-1] != " ":
                characters.append(" ")
                offsets.append(index)
        elif match["other"]:
            for character in unicodedata.normalize("NFKC", match["other"]).casefold():
                reduced = _canonical_character(character, text, index)
                if reduced is None or (reduced == " " and (not characters or characters[-1] == " ")):
                    continue
                characters.append(reduced)
                offsets.append(index)
        elif match["marker"]:  # fenced text has `[S 2]` where the page has `[S2]`
            characters.extend("s ")
            offsets.extend((index, index))
    canonical = "".join(characters)
    if gaps := {match.start() for match in _BETWEEN_CJK.finditer(canonical)}:
        offsets = [offset for at, offset in enumerate(offsets) if at not in gaps]
        canonical = _BETWEEN_CJK.sub("", canonical)
    return _Canonical(canonical, offsets)


def _canonical_character(character: str, text: str, index: int) -> str | None:
    if character.isalnum() or character in "%$€£¥+":
        return character
    before = text[index - 1] if index else " "
    after = text[index + 1] if index + 1 < len(text) else " "
    if character in ".,:/" and before.isdigit() and after.isdigit():
        return character
    if character in "-\u2212\u2010\u2011\u2013":
        if after.isdigit() and not before.isalnum():
            return "-"
        return None if before.isalpha() and after.isalpha() else " "
    if character in "\u00ad'\u2019":
        return None
    return character if unicodedata.combining(character) else " "


def _with_outer_marks(quote: str, page_text: str, start: int, end: int) -> Span:
    """The span, including the quote's opening mark and its final marks as far as the page has them."""
    quote = quote.strip()
    opens = start > 0 and quote[0] in _OPENING_MARKS and page_text[start - 1] == quote[0]
    final = next((n for n, mark in enumerate(reversed(quote)) if mark.isalnum() or mark.isspace()), 0)
    for mark in quote[len(quote) - final :]:
        if page_text[end : end + 1] != mark:
            break
        end += 1
    return Span(start - opens, end)


def _occurrences(wanted: str, text: str) -> Iterator[int]:
    position = text.find(wanted)
    while position != -1:
        yield position
        position = text.find(wanted, position + 1)


def _joined(text: str, left: int) -> bool:
    """Whether the characters at `left` and `left + 1` belong to one word or number."""
    if left < 0 or left + 1 >= len(text):
        return False
    one, other = text[left], text[left + 1]
    if re.match(f"[{_CJK}]", one) or re.match(f"[{_CJK}]", other):
        return False
    return ((one.isalnum() or one in ".,-$") and other.isalnum()) or (one.isdigit() and other in ".,%")
