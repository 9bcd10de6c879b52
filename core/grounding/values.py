"""The numbers, dates and amounts of a text as values, whatever their writing: `1.084,00` is 1084."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations

from core.grounding.word_lists import ABOUT, ALL_CARDINALS, CARDINALS, OTHER_FORMS
from core.text.normal_forms import normalized
from core.text.numbers import CURRENCIES, MONTHS, SCALE_VALUES, SCALES

LONGEST_NUMBER = 30
"""Digits and marks of a number; a longer run of digits is a code, and has no value."""
MOST_CALCULATED = 8
"""Numbers of a sentence that are looked for among the results of calculations."""
MOST_OPERANDS = 40
"""Values of the units; two of more than these give almost any number."""
EXACT = 1e-9
ROUGHLY = 0.1
"""Shares of a value by which another one may differ from it."""
NUMBER = re.compile(r"\d{1,3}(?: \d{3})+(?![\d])|\d+(?:[.,'’]\d+)*")
_TOKEN = re.compile(rf"{NUMBER.pattern}|[^\W\d_]+|[%~≈]")
_MARK = re.compile(r"[.,'’ ]")
_ROMAN = re.compile(r"(?<![^\W_])[IVX]{1,5}(?![^\W_])")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_TENS = range(20, 91, 10)
_PERCENT = {name for name, code in CURRENCIES.items() if code == "%"} | {"per", "por", "pour", "procent"}


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written, with every value that it can have, and the first of them to come to mind."""

    written: str
    values: frozenset[float]
    value: float
    is_about: bool = False
    is_percent: bool = False

    @property
    def decimals(self) -> int:
        """Figures behind its last mark."""
        *before, last = _MARK.split(self.written.split(" ")[0])
        return len(last) if before and len(last) != 3 else 0


class Values:
    """The values of a text; those of a page are read once, for all sentences about it."""

    def __init__(self, text: str) -> None:
        self._text = normalized("NFKC", text)

    @cached_property
    def _tokens(self) -> list[str]:
        return _tokens(self._text)

    @cached_property
    def _numbers(self) -> list[Number]:
        return list(_numbers(self._tokens, ALL_CARDINALS))

    @cached_property
    def operands(self) -> list[float]:
        """What can be calculated with: a value of each number, but zero."""
        return sorted({number.value for number in self._numbers} - {0})

    @cached_property
    def all(self) -> frozenset[float]:
        """Every value that the text has in some way of writing and reading it."""
        tokens = self._tokens
        found = {value for number in self._numbers for value in number.values}
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
        return number.is_about and any(self.has_near(value, ROUGHLY) for value in number.values)

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
            scale = SCALE_VALUES.get(SCALES.get(behind, ""), 1)
            tens = cardinals.get(before, 0)
            if tens in _TENS and values[0] < 10:
                values = [tens + values[0], *values]
            yield Number(
                written=token if scale == 1 else f"{token} {behind}",
                values=frozenset(value * factor for value in values for factor in _factors(scale)),
                value=values[0] * scale,
                is_about=before in ABOUT,
                is_percent=behind in _PERCENT,
            )
        if token not in CURRENCIES:
            before = token


def _factors(scale: float) -> set[float]:
    """A table may have `1,084` in thousands or millions where a sentence has `1.1 billion`."""
    return {scale, 1} | {scale / less for less in (1e3, 1e6) if scale >= less}


def _readings(token: str, cardinals: Mapping[str, int]) -> list[float]:
    """The values that a token can have, the usual one first: `1,084` is 1084 or 1.084, by language."""
    if token in cardinals:
        return [float(cardinals[token])]
    if not token[:1].isdecimal() or not _is_short(token):
        return []
    parts = _MARK.split(token)
    usual = plain(token)
    found = [float(usual)] if usual.count(".") < 2 and not set(usual) & set(",'’ ") else [*map(float, parts)]
    found.extend([float(".".join(parts))] if len(parts) == 2 else [])
    return found + ([float("".join(parts))] if len(parts[-1]) == 3 else [])


def _roman(written: str) -> float:
    values = [*map(_ROMAN_VALUES.__getitem__, written), 0]
    return float(sum(-one if one < following else one for one, following in pairwise(values)))


def _is_calculated(number: Number, units: Values) -> bool:
    """Whether it is a sum, difference, product, ratio or percentage of two values of the units."""
    operands = units.operands
    if len(operands) > MOST_OPERANDS:
        return False
    return any(_is_result(value, number, operands) for value in number.values if value)


def _is_result(value: float, number: Number, operands: Sequence[float]) -> bool:
    pairs = list(permutations(operands, 2))
    if number.is_percent:
        step = 10.0**-number.decimals / 200
        wanted = (value / 100, 1 + value / 100, 1 - value / 100)
        return any(abs(one / other - each) <= step for one, other in pairs for each in wanted)
    step = 10.0**-number.decimals / 2
    return any(
        min(abs(one + other - value), abs(one - other - value), abs(one * other - value)) <= EXACT * value
        or abs(one / other - value) <= step
        for one, other in pairs
    )
