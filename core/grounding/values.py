"""The numbers, dates and amounts of a text as values, whatever their writing: `1.084,00` is 1084."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from core.grounding.word_lists import ABOUT, ALL_CARDINALS, CARDINALS, OTHER_FORMS
from core.text.normal_forms import normalized
from core.text.numbers import MONTHS, SCALE_VALUES, SCALES

LONGEST_NUMBER = 30
"""Digits and marks of a number; a longer run of digits is a code, and has no value."""
MOST_CALCULATED = 8
"""Numbers of a sentence that are looked for among the results of calculations."""
ROUNDED = 0.005
"""Of a result, that a sentence may round off."""
NUMBER = re.compile(r"\d{1,3}(?: \d{3})+(?![\d])|\d+(?:[.,'’]\d+)*")
_TOKEN = re.compile(rf"{NUMBER.pattern}|[^\W\d_]+|[%~≈]")
_MARK = re.compile(r"[.,'’ ]")
_ROMAN = re.compile(r"(?<![^\W_])[IVX]{1,5}(?![^\W_])")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_TENS = range(20, 91, 10)
_YEARS = range(1800, 2101)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a sentence as it is written, with every value that it can have."""

    written: str
    values: frozenset[float]
    is_about: bool = False


class Values:
    """The values of a text; those of a page are read once, for all sentences about it."""

    def __init__(self, text: str) -> None:
        self._text = normalized("NFKC", text)

    @cached_property
    def all(self) -> frozenset[float]:
        """Every value that the text has in some way of writing and reading it."""
        tokens = _tokens(self._text)
        found = {value for number in _numbers(tokens, ALL_CARDINALS) for value in number.values}
        for token in set(tokens):
            found.update(OTHER_FORMS.get(token, ()))
            if token in MONTHS:
                found.add(float(MONTHS[token]))
            if token[0].isdigit():
                found.update(map(float, filter(_is_short, _MARK.split(token))))
        return frozenset(found | set(map(_roman, set(_ROMAN.findall(self._text)))))

    @cached_property
    def ascending(self) -> Sequence[float]:
        return sorted(self.all)

    def has(self, number: Number) -> bool:
        """Whether a value of the number is here, or one that it rounds, if it says so."""
        if not number.values.isdisjoint(self.all):
            return True
        return number.is_about and any(self.has_near(value, 0.1) for value in number.values)

    def has_near(self, value: float, share: float) -> bool:
        """Whether a value is here that differs by no more than this share."""
        least, most = sorted((value * (1 - share), value * (1 + share)))
        at = bisect_left(self.ascending, least)
        return at < len(self.ascending) and self.ascending[at] <= most


def numbers_of(sentence: str, language: str) -> list[Number]:
    """The numbers that a sentence states, in its order; words only in a language with number words."""
    return list(_numbers(_tokens(normalized("NFKC", sentence)), CARDINALS.get(language, {})))


def missing(sentence: str, language: str, pages: Iterable[Values], units: Values) -> list[str]:
    """The numbers of a sentence that no page has and no calculation with two numbers of the units gives."""
    everywhere = list(pages)
    found = [n for n in numbers_of(sentence, language) if not any(page.has(n) for page in everywhere)]
    calculated = [n.written for n in found[:MOST_CALCULATED] if _is_calculated(n, units)]
    return list(dict.fromkeys(n.written for n in found if n.written not in calculated))


def plain(number: str) -> str:
    """`1,234.5`, `1.234,5` and `1 234,5` as `1234.5`; the point of a date stays."""
    marks = _MARK.findall(number)
    if not marks:
        return number.lstrip("0") or "0"
    *leading, last = _MARK.split(number)
    if len(marks) > 1 and len(set(marks)) == len(marks) - (len(marks) > 2) and marks[-1] not in marks[:-1]:
        return "".join(leading) + "." + last
    if all(len(group) == 3 for group in (*leading[1:], last)) and len(set(marks)) == 1 and leading[0] != "0":
        return number.translate({ord(mark): "" for mark in marks})
    return f"{leading[0]}.{last}" if len(marks) == 1 else number


def _is_short(digits: str) -> bool:
    return len(digits) <= LONGEST_NUMBER


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.casefold())


def _numbers(tokens: Sequence[str], cardinals: Mapping[str, int]) -> Iterator[Number]:
    """The numbers among the words of a text; a scale behind one, and `twenty` before one, belong to it."""
    before = ""
    for token, behind in pairwise((*tokens, "")):
        values = _readings(token, cardinals)
        if values:
            is_about = before in ABOUT or before in "~≈" and before != ""
            if (tens := cardinals.get(before)) in _TENS and max(values) < 10:
                values |= {tens + value for value in values}
            if scale := SCALE_VALUES.get(SCALES.get(behind, "")):
                values |= {value * factor for value in values for factor in (scale, scale / 1e3)}
            written = f"{token} {behind}" if scale else token
            yield Number(written, frozenset(values), is_about)
        before = token


def _readings(token: str, cardinals: Mapping[str, int]) -> set[float]:
    """The values that a token can have: `1,084` is 1084 in English and 1.084 in German."""
    if token in cardinals:
        return {float(cardinals[token])}
    if not token[:1].isdecimal() or not _is_short(token):
        return set()
    parts = _MARK.split(token)
    found = {float("".join(parts))} if len(parts[-1]) == 3 or len(parts) == 1 else set[float]()
    try:
        found.add(float(plain(token)))
    except ValueError:
        found.update(map(float, parts))
    if len(parts) == 2:
        found.add(float(".".join(parts)))
    return found


def _roman(written: str) -> float:
    values = [*map(_ROMAN_VALUES.__getitem__, written), 0]
    return float(sum(-one if one < following else one for one, following in pairwise(values)))


def _is_calculated(number: Number, units: Values) -> bool:
    """Whether a sum, difference, product, ratio or percentage of two values of the units is the number."""
    values = [value for value in number.values if value and int(value) not in _YEARS]
    return any(_is_result(value, units) for value in values)


def _is_result(value: float, units: Values) -> bool:
    return any(
        units.has_near(other, ROUNDED)
        for one in units.all
        if one and one != value
        for other in (
            value - one,
            value + one,
            one - value,
            value / one,
            value * one,
            one / value,
            one * value / 100,
            one * (1 + value / 100),
            one * (1 - value / 100),
        )
        if other > 0
    )
