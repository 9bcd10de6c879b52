"""The numbers, dates and amounts of a text as values, whatever their writing: `1.084,00` is 1084."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, combinations, permutations
from typing import NamedTuple

from orc_core.grounding.word_lists import ABOUT, ALL_CARDINALS, CARDINALS, OTHER_FORMS
from orc_core.text.normal_forms import normalized
from orc_core.text.numbers import CURRENCIES, MONTHS, SCALE_VALUES, SCALES, Date, dates_of
from orc_core.text.terms import is_stop_word

LONGEST_NUMBER = 30
"""Digits and marks of a number; a longer run of digits is a code, and has no value."""
MOST_CALCULATED = 8
"""Numbers of a sentence that are looked for among the results of calculations."""
MOST_OPERANDS = 40
"""Numbers that a sentence, and the question, may calculate with."""
EXACT = 1e-9
ROUGHLY = 0.1
"""Shares of a value by which another one may differ from it."""
NUMBER = re.compile(r"\d(?:\d{0,2}(?: \d{3})+(?!\d)|\d*(?:[.,'’]\d+)*)")
"""It begins with a single set of characters, as a search for those is several times faster."""
_FIGURE = re.compile(rf"({NUMBER.pattern})(?: ?([^\W\d_]+|%))?")
_TOKEN = re.compile(rf"([^\w%~≈]*+)({NUMBER.pattern}|[^\W\d_]+|[%~≈]|_|\Z)")
"""With what is between it and the one before. Something always follows that, so it is read once."""
_WORD = re.compile(r"[^\W\d_]+")
_MARK = re.compile(r"[.,'’ ]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_OF_YEARS = frozenset("-/\u2010\u2011\u2012\u2013")
"""Between the years of a span: `2018-19`."""
_TENS = frozenset(range(20, 91, 10))
_COMPOUND = re.compile(
    rf"\b({'|'.join(word for word, value in ALL_CARDINALS.items() if value in _TENS)})[- ]([^\W\d_]+)"
)
_PERCENT = {name for name, code in CURRENCIES.items() if code == "%"} | {"per", "por", "pour", "procent"}


class Number(NamedTuple):
    """A number as it is written, and every value that it can have, the usual one first.

    `in_scale`: what a table has for it whose numbers are in thousands or millions. `counted`: the word behind
    it, or the currency before it.
    """

    written: str
    figure: str
    values: Sequence[float]
    in_scale: Sequence[float] = ()
    is_about: bool = False
    is_percent: bool = False
    counted: str = ""

    @property
    def step(self) -> float:
        """Half of a unit of its last figure."""
        *before, last = _MARK.split(self.figure)
        return 10.0 ** -(len(last) if before and len(last) != 3 else 0) / 2


class Values:
    """The values of a text, read when they are first needed; `labels` are numbers that name its parts."""

    def __init__(self, text: str, labels: str = "") -> None:
        self._text = text
        # The 2 of section 2.1 names what that is a part of.
        self._labels = Values(f"{labels}\n{labels.replace('.', ' ')}") if labels else None

    @cached_property
    def all(self) -> frozenset[float]:
        """Every value that the text has in some way of writing and reading it."""
        bare = {(figure, word) for figure, word in self._figures if figure.isdecimal() and word not in SCALES}
        found = {float(figure) for figure, _ in bare if len(figure) <= LONGEST_NUMBER}
        found.update(*chain.from_iterable(_values(*figure) for figure in self._figures - bare))
        # `96 142` can be two columns of a table, too.
        columns = (part for figure, _ in self._figures if " " in figure for part in figure.split(" "))
        found.update(value for part in columns for value in _values(part, "")[0])
        found.update(*(OTHER_FORMS[word] for word in self._words & OTHER_FORMS.keys()))
        return frozenset(found.union(self._spelled))

    @cached_property
    def _wholes(self) -> set[frozenset[float]]:
        """The parts of each date, time or other figure with marks."""
        marked = (figure for figure, _ in self._figures if not figure.isdecimal())
        figures = (_MARK.split(figure) for figure in marked if len(figure) <= LONGEST_NUMBER)
        dates = (filter(None, date) for date in self._dates[0])
        return {frozenset(map(float, parts)) for parts in (*figures, *dates)}

    def parts_in(self, said: set[float]) -> Iterator[float]:
        """The parts of what has no other parts than these: of `7.30` only if both 7 and 30 are said."""
        return chain.from_iterable(filter(said.issuperset, self._wholes))

    @cached_property
    def operands(self) -> list[float]:
        """What can be calculated with: the usual value of each number, but zero."""
        usual = (next(iter(_values(*figure)[0]), 0.0) for figure in self._figures)
        return sorted({*usual, *self._spelled} - {0})

    @cached_property
    def _dates(self) -> "tuple[set[Date], Values]":
        found, rest = dates_of(self._folded)
        return {date for _, readings in found for date in readings}, Values(rest)

    @cached_property
    def _folded(self) -> str:
        return normalized("NFKC", self._text).casefold()

    @cached_property
    def _figures(self) -> set[tuple[str, str]]:
        """The numbers in figures, each with the word behind it."""
        return set(_FIGURE.findall(self._folded))

    @cached_property
    def _counted(self) -> set[str]:
        return {*CURRENCIES, *(word for _, word in self._figures if word and not is_stop_word(word))}

    @cached_property
    def _words(self) -> set[str]:
        return set(_WORD.findall(self._folded))

    @cached_property
    def _spelled(self) -> set[float]:
        values = ALL_CARDINALS
        found = {values[word] for word in self._words & values.keys()}
        if found & _TENS:
            compounds = set(_COMPOUND.findall(self._folded))
            found |= {values[tens] + values[ones] for tens, ones in compounds if ones in values}
        return set(map(float, found))

    @cached_property
    def _ascending(self) -> Sequence[float]:
        return sorted(self.all)

    def have(self, number: Number) -> bool:
        """Whether a value of the number is here, or one that it rounds, if it says so.

        A value in a scale counts if the text names one; a label, unless the text counts what the number does.
        """
        values = [*number.values, *(() if self._words.isdisjoint(SCALES) else number.in_scale)]
        near = (_is_near(self._ascending, value, value * ROUGHLY) for value in values)
        if not self.all.isdisjoint(values) or (number.is_about and any(near)):
            return True
        return bool(self._labels and number.counted not in self._counted and self._labels.have(number))

    def know(self, date: Date) -> bool | None:
        """Whether a date can be here; None if nothing is said of it. See docs/decisions/citations.md."""
        (dates, rest), (year, month, day) = self._dates, date
        if any(all(a == b or not a * b for a, b in zip(date, each, strict=True)) for each in dates):
            return True
        is_named = not day and any(MONTHS.get(word) == month for word in rest._words)
        if is_named or re.search(rf"(?<!\d)0?(?:{day or f'{month}|{year}'})(?!\d)", rest._folded):
            return True
        at = 2 if day else 0
        others = (each for each in dates if each[at])
        is_other = any(each[at] == date[at] or (each[1] == month and day not in rest.all) for each in others)
        return False if is_other else None


def other_dates(sentence: str, everywhere: Sequence[Values]) -> list[str]:
    """The dates of a sentence whose day, month or year is another one wherever the rest of them is."""
    return [
        written
        for written, readings in dates_of(normalized("NFKC", sentence))[0]
        if {values.know(date) for values in everywhere for date in readings} - {None} == {False}
    ]


def missing(sentence: str, language: str, everywhere: Sequence[Values], asked: Values) -> list[str]:
    """The numbers of a sentence that are nowhere, and that no calculation gives which the sentence shows.

    It shows one if both numbers are in it or in what was asked. Two of all numbers of a page would give
    almost any number.
    """
    numbers = list(numbers_of(sentence, language))
    said = {value for number in numbers for value in number.values}
    dates = dates_of(normalized("NFKC", sentence))[0]
    said.update(float(part) for _, readings in dates for date in readings for part in date if part)
    absent = [number for number in numbers if not any(values.have(number) for values in everywhere)]
    parts = {part for values in everywhere for part in values.parts_in(said)} if absent else said
    lacking = [number for number in absent if parts.isdisjoint(number.values)]
    stated = [number.values[0] for number in numbers if number not in lacking]
    operands = [*stated, *asked.operands][:MOST_OPERANDS]
    results = _Results.of(operands) if lacking else None
    calculated = {number.written for number in lacking[:MOST_CALCULATED] if results and results.have(number)}
    return [each for each in dict.fromkeys(number.written for number in lacking) if each not in calculated]


def numbers_of(sentence: str, language: str) -> Iterator[Number]:
    """The numbers that a sentence states, in its order; words only in a language with number words.

    What is said twice between the same words is read once.
    """
    cardinals = CARDINALS.get(language, {})
    gaps, written = zip(("", ""), *_TOKEN.findall(normalized("NFKC", sentence)), ("", ""), strict=True)
    tokens = list(map(str.casefold, written))
    before_each: Iterator[str] = accumulate(tokens, lambda last, each: last if each in CURRENCIES else each)
    contexts = zip(before_each, tokens, gaps[1:], written[1:], gaps[2:], written[2:], strict=False)
    for before, sign, gap, number, space, following in dict.fromkeys(contexts):
        token, behind = number.casefold(), following.casefold()
        tens = cardinals.get(before, 0)
        values, in_scale = _values(token, behind)
        if token in cardinals:
            value = float(cardinals[token])
            values = [tens + value, value] if tens in _TENS and value < 10 else [value]
        if gap in _OF_YEARS and _YEAR.fullmatch(before) and token.isdecimal() and len(token) == 2:
            values = [float(f"{before[:2]}{token}"), *values]
        if values:
            shown = f"{number}{space}{following}" if behind in SCALES else number
            counted = next(filter(CURRENCIES.__contains__, (gap.strip(), sign)), behind * (not space.strip()))
            yield Number(shown, token, values, in_scale, before in ABOUT, behind in _PERCENT, counted)


def plain(number: str) -> str:
    """`1,234.5`, `1.234,5` and `1 234,5` as `1234.5`; a date or a list stays as it is."""
    if number.isdecimal():
        return number.lstrip("0") or "0"
    marks = _MARK.findall(number)
    *leading, last = _MARK.split(number)
    if len(marks) > 1 and marks[-1] not in marks[:-1] and len(set(marks)) == 2:
        return f"{''.join(leading)}.{last}"
    if all(len(group) == 3 for group in (*leading[1:], last)) and len(set(marks)) == 1 and leading[0] != "0":
        return "".join((*leading, last))
    return f"{leading[0]}.{last}" if len(marks) == 1 else number


def _values(figure: str, behind: str) -> tuple[list[float], list[float]]:
    """The values that figures can have, the usual one first: `1,084` is 1084 or 1.084, by language.

    `behind` can be a scale. The second list has the values in the scale of a table: `1,084` in millions for
    `1.1 billion`.
    """
    if not figure[:1].isdecimal() or len(figure) > LONGEST_NUMBER:
        return [], []
    if figure.isdecimal():
        found = [float(figure)]
    else:
        parts, usual = _MARK.split(figure), plain(figure)
        found = [float(usual)] if usual.replace(".", "", 1).isdecimal() else [*map(float, parts)]
        found += [float(".".join(parts))] if len(parts) == 2 else []
        found += [float("".join(parts))] if len(parts[-1]) == 3 else []
    factor = SCALE_VALUES.get(SCALES.get(behind, ""))
    if not factor:
        return found, []
    factors = [1.0, *(factor / less for less in (1e3, 1e6) if factor > less)]
    # A letter can be a unit, too: `1.25 m`.
    values = [value * factor for value in found] + (found if len(behind) == 1 else [])
    return values, [value * each for each in factors for value in found]


class _Results(NamedTuple):
    """What two of some numbers give, and the sums of several in a row, in ascending order."""

    exact: Sequence[float]
    ratios: Sequence[float]

    @classmethod
    def of(cls, operands: Sequence[float]) -> "_Results":
        pairs = list(permutations(operands, 2))
        sums = list(accumulate(operands, initial=0.0))
        exact = [end - start for start, end in combinations(sums, 2)]
        for one, other in pairs:
            exact += (one + other, one - other, one * other, one * other / 100)
        return cls(sorted(exact), sorted(one / other for one, other in pairs if other))

    def have(self, number: Number) -> bool:
        """Whether a value of the number is a sum, difference, product, ratio or percentage."""
        return any(self._give(value, number) for value in number.values if value)

    def _give(self, value: float, number: Number) -> bool:
        if number.is_percent:
            wanted = (value / 100, 1 + value / 100, 1 - value / 100)
            return any(_is_near(self.ratios, each, number.step / 100) for each in wanted)
        least = EXACT if value.is_integer() else number.step
        return _is_near(self.exact, value, EXACT * value) or _is_near(self.ratios, value, least)


def _is_near(ascending: Sequence[float], value: float, by: float) -> bool:
    at = bisect_left(ascending, value - by)
    return at < len(ascending) and ascending[at] <= value + by
