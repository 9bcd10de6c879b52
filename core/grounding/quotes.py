"""Locates quotes on a page."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from core.grounding.signs import (
    BEHIND_NUMBER,
    DASHES,
    LOSS,
    SIGN_BEFORE_CODE,
    is_bullet,
    is_currency,
    is_sign,
    is_unit_mark,
    one_spelling,
)
from core.text.normal_forms import normalized
from core.text.numbers import CURRENCY_SIGNS

_RUN = re.compile(
    r"(?P<broken>(?<=[^\W\d_])[-\u2010\u00ad][^\S\n]*+\n\s*+(?=[^\W\d_]))"
    r"|(?P<marker>(?<=\[)[sS](?=\d))"
    rf"|(?P<loss>{LOSS})"
    r"|(?P<plain>(?>[A-Za-z0-9]++(?:[ \n][A-Za-z0-9]++)*))|(?P<space>[ \n]++)|(?P<other>.)",
    re.S,
)
_MINUS, _DASH = "-", "\u2013"
_NUMBER_BEHIND_DASH = re.compile(
    rf"\s{{1,3}}[{CURRENCY_SIGNS}]?\d{{1,9}}(?:[.,]\d{{1,9}})?(?P<degrees>\s?°)?"
)
_LONGEST_INDENT = 20
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
    words, numbers, decimal points and signs may not. A number in brackets is negative, as in accounts.
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
    """The text reduced to letters, numbers, signs and single spaces, each with its offset in `text`."""
    characters: list[str] = []
    offsets: list[int] = []
    for match in _RUN.finditer(text):
        index, kind = match.start(), match.lastgroup
        if kind == "plain":
            characters.extend(match[0].lower().replace("\n", " "))
            offsets.extend(range(index, match.end()))
        elif kind == "space":
            _append(" ", index, characters, offsets)
        elif kind == "other":
            other = match[0]
            if BEHIND_NUMBER.match(text, index):
                _append(" ", index, characters, offsets)
            folded = other if other.isascii() else normalized("NFKC", other).casefold()
            for character in folded:
                reduced = _canonical_character(character, text, index)
                if reduced is not None:
                    _append(reduced, index, characters, offsets)
        elif kind == "loss":
            _append(_MINUS, index, characters, offsets)
        elif kind == "marker":  # fenced text has `[S 2]` where the page has `[S2]`
            characters.extend("s ")
            offsets.extend((index, index))
    canonical = "".join(characters)
    if gaps := {match.start() for match in _BETWEEN_CJK.finditer(canonical)}:
        offsets = [offset for at, offset in enumerate(offsets) if at not in gaps]
        canonical = _BETWEEN_CJK.sub("", canonical)
    return _Canonical(canonical, offsets)


def _append(character: str, index: int, characters: list[str], offsets: list[int]) -> None:
    """Add a character with the spaces that it has in every text: one before a sign, none after it."""
    last = characters[-1] if characters else " "
    if character == " ":
        if last == " " or _goes_before(last):
            return
    elif is_unit_mark(character) or character == _DASH:
        if last == " " and characters[-2:-1] and characters[-2].isdigit():
            del characters[-1], offsets[-1]
    elif _goes_before(character) and last != " " and not _goes_before(last):
        characters.append(" ")
        offsets.append(index)
    characters.append(character)
    offsets.append(index)


def _goes_before(character: str) -> bool:
    """Whether a canonical character is a sign before a number or word."""
    return character in (_MINUS, _DASH) or is_sign(character)


def _canonical_character(character: str, text: str, index: int) -> str | None:
    if character.isalnum() or is_unit_mark(character) or is_currency(character):
        return character
    before = text[index - 1] if index else " "
    after = text[index + 1] if index + 1 < len(text) else " "
    if character in ".,:/" and before.isdigit() and after.isdigit():
        return character
    if character in DASHES:
        return _canonical_dash(character, text, index, before, after)
    if character in "\u00ad'\u2019":
        return None
    if is_sign(character):
        following = text[index + 1 : index + 3].lstrip()[:1]
        is_list_mark = is_bullet(character, following) and _begins_line(text, index)
        return " " if is_list_mark else one_spelling(character)
    return character if unicodedata.combining(character) else " "


def _canonical_dash(character: str, text: str, index: int, before: str, after: str) -> str | None:
    """A minus, a dash between or before numbers, a space, or None between the parts of a word."""
    if after.isdigit() or is_currency(after):
        if not before.isalnum():
            return _MINUS
        return _DASH if before.isdigit() else " "
    if SIGN_BEFORE_CODE.match(text, index):
        return _MINUS
    if number := _NUMBER_BEHIND_DASH.match(text, index + 1):
        if character == "\u2212" or text[max(0, index - 2) : index].rstrip()[-1:] in ("(", "|"):
            return _MINUS
        return " " if _begins_line(text, index) and not number["degrees"] else _DASH
    return None if before.isalpha() and after.isalpha() else " "


def _begins_line(text: str, index: int) -> bool:
    """Whether only spaces are before a character in its line."""
    start = max(0, index - _LONGEST_INDENT)
    _, line_break, indent = text[start:index].rpartition("\n")
    return not indent.strip() and (bool(line_break) or not start)


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
    if _IS_CJK(one) or _IS_CJK(other):
        return False
    if _goes_before(one) or is_currency(one):
        return other.isdigit() or is_currency(other) or (one == _MINUS and other.isalpha())
    if one.isdigit() and (other in (".", ",", _DASH) or is_unit_mark(other) or is_currency(other)):
        return True
    return (one.isalnum() or one in ".,") and (other.isalnum() or other == "$")
