"""Reads the numbers of a sentence, with their units and the words around them."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.grounding.sentence_facts import clauses
from core.grounding.signs import IN_BRACKETS
from core.grounding.tokens import Clause, Token, tokenize
from core.text.numbers import CURRENCIES, CURRENCY_SIGNS, SCALE_VALUES, SCALES, SPELLED_NUMBERS
from core.text.terms import has_digit

ROUGH = 0.1
"""How far off a number may be, as a share of the true one, if a sentence says `about`."""
CLOSE = 1e-9
_LARGEST_SCALE = max(SCALE_VALUES.values())
_FIXED = frozenset(CURRENCIES.values())
_YEARS = range(1900, 2100)
_NUMBERING = re.compile(
    r"^[\s#*•–-]*(?:\(?\d{1,3}(?:\.\d{1,3})*[.)](?=\s)|\d{1,3}(?:\.\d{1,3})+(?=\s+[A-Z]))|\(\d{1,2}\)(?=\s+\w)"
)
_HAS_SYMBOL = re.compile(f"[%‰{CURRENCY_SIGNS}]")
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
    """One number of a sentence. `half` is half the value of its last digit, `scale` that of its `million`.

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

    def wording_next_to(self, other: "Figure") -> str:
        """The number as it is written, with no more words after it than show what both count."""
        alike = [at for at, unit in enumerate(self.units, 1) if unit in other.units]
        beyond = len(self.units) - alike[-1] if alike and not self.fixed else 0
        return " ".join(self.written[: len(self.written) - beyond])

    def ranges_alike(self, *, roughly: bool) -> Iterator[tuple[float, float]]:
        """The values that a number could have, possibly in thousands or millions, to be this one."""
        tolerance = 1.2 * max(self.half, abs(self.value) * (ROUGH if roughly else 0))
        size = abs(self.value)  # texts are searched for digits, without signs
        tolerance = max(tolerance, size * CLOSE)
        for factor in {1.0, self.scale, *SCALE_VALUES.values()}:
            yield (size - tolerance) / factor, (size + tolerance) / factor

    def may_be(self, other: "Figure", *, roughly: bool) -> bool:
        """Whether this number equals the other one, exactly or rounded. A table may be in millions."""
        tolerance = self.half if other.half < self.half else 0.0
        off = abs(self.value - other.value)
        if {self.token.sign, other.token.sign}.intersection(IN_BRACKETS):
            off = min(off, abs(abs(self.value) - abs(other.value)))
        is_same = off <= max(tolerance, (ROUGH if roughly else 1e-9) * abs(other.value))
        return is_same or (other.scale == 1 and math.isclose(self.value, other.value * self.scale))


class Statement:
    """A parsed sentence and its numbers, without the numbering of a list.

    `refers_back`: it begins like `It has` and has no names, so it may be about the sentence before.
    """

    def __init__(self, sentence: str, language: str) -> None:
        tokens = tokenize(_NUMBERING.sub(" ", sentence), language)
        self.clauses = clauses(tokens)
        self.figures = list(_figures(tokens))
        self._clause_of = {id(token): clause for clause in self.clauses for token in clause}
        self._around: dict[int, list[Token]] = {}
        self.words = stems(tokens)
        self.has_names = any(token.is_name for token in tokens[1:])
        self.refers_back = bool(tokens) and not tokens[0].stem and not self.has_names
        self.is_rough = any(token.written.casefold() in _ROUGHLY for token in tokens)

    def figures_of(self, clause: Clause) -> list[Figure]:
        return [figure for figure in self.figures if self.clause_of(figure) is clause]

    def around(self, figure: Figure) -> list[Token]:
        """The other words of its clause, without what it counts; if there are none, those of the sentence."""
        if (key := id(figure.token)) not in self._around:
            self._around[key] = self._others(figure)
        return self._around[key]

    def _others(self, figure: Figure) -> list[Token]:
        others = [token for token in self.clause_of(figure) if token is not figure.counted]
        if not stems(others):
            whole = (token for clause in self.clauses for token in clause)
            others = [token for token in whole if token is not figure.counted]
        return others if stems(others) else []

    def clause_of(self, figure: Figure) -> Clause:
        return self._clause_of[id(figure.token)]


def stems(tokens: Iterable[Token]) -> frozenset[str]:
    """The stems of content words, without numbers."""
    return frozenset(token.stem for token in tokens if token.is_content and token.kind != "number")


def _figures(tokens: Sequence[Token]) -> Iterator[Figure]:
    for at, token in enumerate(tokens):
        if token.kind != "number" or (at > 0 and tokens[at - 1].written.casefold() in _LABELS):
            continue
        is_written = token.written.casefold() in SPELLED_NUMBERS or has_digit(token.written)
        if is_written and (value := value_of(token.stem)) is not None:
            yield _figure(tokens, at, -value if token.sign == "minus" else value)


def _figure(tokens: Sequence[Token], at: int, value: float) -> Figure:
    token = tokens[at]
    factor = math.prod(SCALE_VALUES[unit] for unit in token.near if unit in SCALE_VALUES)
    decimals = max(len(token.stem.partition(".")[2]) + token.zeros - ("." not in token.stem), 0)
    fixed = _FIXED.intersection(token.near)
    units = tuple(unit for unit in token.near if unit not in _FIXED and unit not in SCALE_VALUES)
    is_year = not (fixed or token.sign == "minus") and token.stem.isdigit() and int(value) in _YEARS
    is_year = is_year and (not units or token.after in _DURING)
    before = tokens[at - 1].written if at else ""
    currency = [before] if CURRENCIES.get(before.casefold(), "none") in token.near else []
    has_symbol = _HAS_SYMBOL.search(token.written) is not None
    # What belongs to the number: scale and currency, else what it counts.
    following = tokens[at + 1 : at + 1 + len(token.near) - len(currency) - has_symbol]
    if is_year:
        following = []
    elif fixed:
        following = [each for each in following if each.written.casefold() in (*SCALES, *CURRENCIES)]
    return Figure(
        value=value * factor,
        half=0.5 * 10.0**-decimals * factor,
        scale=factor,
        fixed=fixed,
        units=() if is_year else units,
        is_year=is_year,
        written=(*currency, token.written, *(each.written for each in following)),
        token=token,
        counted=None if is_year or fixed or not units else following[-len(units)],
    )


def value_of(stem: str) -> float | None:
    """The value of a number; None if it is none, or too large: a float holds no 309 digits."""
    try:
        value = float(stem)
    except ValueError:
        return None
    return value if math.isfinite(value * _LARGEST_SCALE) else None
