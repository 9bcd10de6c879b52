"""Locates quotes on a page."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from core.text.normal_forms import normalized

_RUN = re.compile(
    r"(?P<broken>(?<=[^\W\d_])[-\u2010\u00ad][^\S\n]*+\n\s*+(?=[^\W\d_]))"
    r"|(?P<marker>(?<=\[)[sS](?=\d))"
    r"|(?P<plain>[A-Za-z0-9]++(?:[ \n][A-Za-z0-9]++)*+)|(?P<space>[ \n]++)|(?P<other>.)",
    re.S,
)
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_OPENING_MARKS = frozenset("\"'([{“‘„‚«‹»›「『（【¿¡")
_BETWEEN_CJK = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_IS_CJK = re.compile(f"[{_CJK}]").match


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
    return QuoteFinder(page_text).find(quote)


class QuoteFinder:
    """Looks for quotes in a text, which is normalised once."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, quote: str) -> Span | None:
        """The first place of `quote`, or None."""
        return next(self.find_all(quote), None)

    def find_all(self, quote: str) -> Iterator[Span]:
        """Every place of `quote`, each found when it is asked for; see `locate` for what may differ."""
        wanted = _canonical(quote).text.strip()
        if not wanted:
            return
        text, offsets = self._canonical
        opening, final = _outer_marks(quote.strip())
        last = len(wanted) - 1
        for at in _occurrences(wanted, text):
            if not (_joined(text, at - 1) or _joined(text, at + last)):
                yield _with_marks(self._text, offsets[at], offsets[at + last] + 1, opening, final)

    @cached_property
    def _canonical(self) -> _Canonical:
        return _canonical(self._text)


def _canonical(text: str) -> _Canonical:
    """The text reduced to letters, numbers and single spaces, with each character's offset in `text`."""
    characters: list[str] = []
    offsets: list[int] = []
    for match in _RUN.finditer(text):
        index, kind = match.start(), match.lastgroup
        if kind == "plain":
            characters.extend(match[0].lower().replace("\n", " "))
            offsets.extend(range(index, match.end()))
        elif kind == "space":
            if characters and characters[-1] != " ":
                characters.append(" ")
                offsets.append(index)
        elif kind == "other":
            other = match[0]
            folded = other if other.isascii() else normalized("NFKC", other).casefold()
            for character in folded:
                reduced = _canonical_character(character, text, index)
                if reduced is None or (reduced == " " and (not characters or characters[-1] == " ")):
                    continue
                characters.append(reduced)
                offsets.append(index)
        elif kind == "marker":  # fenced text has `[S 2]` where the page has `[S2]`
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


def _outer_marks(quote: str) -> tuple[str, str]:
    """The quote's opening mark, if it has one, and its final marks."""
    opening = quote[0] if quote[0] in _OPENING_MARKS else ""
    final = next((n for n, mark in enumerate(reversed(quote)) if mark.isalnum() or mark.isspace()), 0)
    return opening, quote[len(quote) - final :]


def _with_marks(page_text: str, start: int, end: int, opening: str, final: str) -> Span:
    """The span, including the quote's outer marks as far as the page has them."""
    opens = start > 0 and page_text[start - 1] == opening
    for mark in final:
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
    if not ((one.isalnum() or one in ".,-$") and other.isalnum()) and not (one.isdigit() and other in ".,%"):
        return False
    return not (_IS_CJK(one) or _IS_CJK(other))
