"""Numbers as sentences state them: their value, how exact it is, and what it counts."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.grounding.sentence_facts import Clause, Token, clauses, read
from core.text.numbers import CURRENCIES, SCALE_VALUES, SCALES, SPELLED_NUMBERS
from core.text.terms import words

ROUGH = 0.1
"""How far off a number may be, as a share of the true one, where a sentence says `about`."""
_FIXED = frozenset(CURRENCIES.values())
_YEARS = range(1900, 2100)
_NUMBERING = re.compile(
    r"^[\s#*•–-]*(?:\(?\d{1,3}(?:\.\d{1,3})*[.)](?=\s)|\d{1,3}(?:\.\d{1,3})+(?=\s+[A-Z]))|\(\d{1,2}\)(?=\s+\w)"
)
_WORD = re.compile(r"[a-z]+")
_DIGITS = re.compile(r"\d+(?:[.,'’]\d+)*")
_PARTS = re.compile(r"\d+")
_LABELS = frozenset(
    "page pages section sections article articles art clause paragraph para chapter part table figure fig"
    " step item annex appendix schedule version no number nr seite abschnitt artikel absatz kapitel tabelle"
    " abbildung anlage schritt ziffer annexe étape tableau artículo página sección capítulo tabla".split()
)
_DURING = frozenset("in since until from by im seit bis en depuis desde".split())
_ROUGHLY = frozenset(
    "about around roughly nearly almost approximately some circa ca rund etwa ungefähr fast environ presque"
    " unos casi ongeveer bijna".split()
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a sentence. `half` is half of what its last digit is worth, `scale` that of its million.

    `fixed` are its currency or percent sign, `units` the words after it; `counted` is the first of those.
    """

    value: float
    half: float
    scale: float
    fixed: frozenset[str]
    units: tuple[str, ...]
    is_year: bool
    written: tuple[str, ...]
    token: Token
    counted: Token | None

    def counts_the_same(self, other: "Figure") -> bool:
        """Whether both are amounts of one kind: days and days, years and years, euros and euros."""
        if self.is_year or other.is_year or self.fixed or other.fixed:
            return (self.is_year, self.fixed) == (other.is_year, other.fixed)
        if not self.units or not other.units:
            return self.units == other.units
        return self.units[0] in other.units or other.units[0] in self.units

    def told_beside(self, other: "Figure") -> str:
        """The number as its sentence has it, with no more words after it than make clear what both count."""
        alike = [at for at, unit in enumerate(self.units, 1) if unit in other.units]
        beyond = len(self.units) - alike[-1] if alike and not self.fixed else 0
        return " ".join(self.written[: len(self.written) - beyond])

    def is_like(self, value: float, *, roughly: bool) -> bool:
        """Whether a number of this value, in whatever millions, could be this one."""
        tolerance = max(self.half, abs(self.value) * (ROUGH if roughly else 0))
        return any(
            abs(self.value - value * worth) <= tolerance * 1.2 for worth in (1.0, *SCALE_VALUES.values())
        ) or (math.isclose(self.value, value * self.scale))

    def may_be(self, other: "Figure", *, roughly: bool) -> bool:
        """Whether this number is the other one, or that one rounded. A table may be in millions."""
        tolerance = self.half if other.half < self.half else 0.0
        off = abs(self.value - other.value)
        is_same = off <= max(tolerance, (ROUGH if roughly else 1e-9) * abs(other.value))
        return is_same or (other.scale == 1 and math.isclose(self.value, other.value * self.scale))


class Statement:
    """A sentence as its numbers are compared, those of a list's numbering left out.

    `leans`: it begins like `It has` and has no names, so that it may speak of what was said before.
    """

    def __init__(self, sentence: str, language: str) -> None:
        tokens = read(_NUMBERING.sub(" ", sentence), language)
        self.clauses = clauses(tokens)
        self.figures = list(_figures(tokens))
        self.words = stems(tokens)
        self.has_names = any(token.is_name for token in tokens[1:])
        self.leans = bool(tokens) and not tokens[0].stem and not self.has_names
        self.is_rough = any(token.written.casefold() in _ROUGHLY for token in tokens)

    def figures_of(self, clause: Clause) -> list[Figure]:
        return [f for f in self.figures if any(f.token is token for token in clause.tokens)]

    def around(self, figure: Figure) -> list[Token]:
        """The words of its clause beside what it counts; those of the sentence, where that says no more."""
        whole = [token for clause in self.clauses for token in clause.tokens]
        for tokens in (self.clause_of(figure).tokens, whole):
            beside = [token for token in tokens if token is not figure.counted]
            if stems(beside):
                return beside
        return []

    def clause_of(self, figure: Figure) -> Clause:
        return next(c for c in self.clauses if any(figure.token is token for token in c.tokens))


def written_numbers(text: str) -> dict[str, float]:
    """All numbers of a text, as they are written in lower case, with their values.

    Of dates and the like it has the parts, one by one. Nothing is known here of millions and units.
    """
    folded = text.casefold()
    found = {word: SPELLED_NUMBERS[word] for word in set(_WORD.findall(folded)) if word in SPELLED_NUMBERS}
    for digits in set(_DIGITS.findall(folded)):
        parts = " ".join(words(digits)).split()
        names = [digits] if len(parts) == 1 else _PARTS.findall(digits)
        values = map(_value, parts)
        found |= {name: value for name, value in zip(names, values, strict=False) if value is not None}
    return found


def stems(tokens: Iterable[Token]) -> frozenset[str]:
    """What words say, numbers left out."""
    return frozenset(token.stem for token in tokens if token.says and token.kind != "number")


def _figures(tokens: list[Token]) -> Iterator[Figure]:
    for at, token in enumerate(tokens):
        is_spelled = token.written.casefold() in SPELLED_NUMBERS
        if token.kind != "number" or not (is_spelled or _has_digit(token)):
            continue
        before = tokens[at - 1] if at else None
        value = _value(token.stem)
        if value is not None and not (before and before.written.casefold() in _LABELS):
            yield _figure(tokens, at, value)


def _figure(tokens: list[Token], at: int, value: float) -> Figure:
    token = tokens[at]
    worth = next((SCALE_VALUES[unit] for unit in token.near if unit in SCALE_VALUES), 1.0)
    decimals = len(token.stem.partition(".")[2])
    fixed = _FIXED.intersection(token.near)
    units = tuple(unit for unit in token.near if unit not in _FIXED and unit not in SCALE_VALUES)
    is_year = not fixed and token.stem.isdigit() and int(value) in _YEARS
    is_year = is_year and (not units or token.after in _DURING)
    following = [] if is_year else _following(tokens, at, amounts=bool(fixed))
    return Figure(
        value=value * worth,
        half=0.5 * 10.0**-decimals * worth,
        scale=worth,
        fixed=fixed,
        units=() if is_year else units,
        is_year=is_year,
        written=(*_currency_before(tokens, at), token.written, *(each.written for each in following)),
        token=token,
        counted=None if is_year or fixed or not units else following[-len(units)],
    )


def _following(tokens: list[Token], at: int, *, amounts: bool) -> list[Token]:
    """What is written after a number and belongs to it: scale and currency, else what it counts."""
    number = tokens[at]
    near = len(number.near) - len(_currency_before(tokens, at)) - _has_symbol(number)
    following = tokens[at + 1 : at + 1 + near]
    if not amounts:
        return following
    return [token for token in following if token.written.casefold() in (*SCALES, *CURRENCIES)]


def _currency_before(tokens: list[Token], at: int) -> list[str]:
    before = tokens[at - 1].written if at else ""
    return [before] if CURRENCIES.get(before.casefold(), "none") in tokens[at].near else []


def _has_symbol(token: Token) -> bool:
    return any(sign in token.written for sign in "$€£¥%")


def _has_digit(token: Token) -> bool:
    return any(character.isdigit() for character in token.written)


def _value(stem: str) -> float | None:
    try:
        return float(stem)
    except ValueError:
        return None
