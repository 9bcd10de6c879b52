"""Reads the numbers of sentences, and finds numbers of an answer that its sources contradict."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from core.grounding.evidence import BEGINNING, LANGUAGE_SAMPLE_CHARACTERS, page_sentences
from core.grounding.sentence_facts import Clause, Token, clauses, negations, tokenize
from core.grounding.sources import Source
from core.text.numbers import CURRENCIES, SCALE_VALUES, SCALES, SPELLED_NUMBERS
from core.text.terms import detect_language, has_digit, words

ROUGH = 0.1
"""How far off a number may be, as a share of the true one, if a sentence says `about`."""
MAX_PARSED_CHARACTERS = 200_000
"""Of the sources' pages, parsed sentence by sentence; beyond it only numbers are read."""
MAX_SENTENCES = 200
"""Sentences compared with a claim, those with most of its words first."""
SAME_SUBJECT = 0.75
"""Share of the claim's words that a sentence about the same subject has, in addition to all its names."""
SHARE_OF_CLAUSE = 0.4
"""If it is a single word, its share of the words next to the other number."""
FILLER_VERBS = frozenset("get take receiv amount last cost need come total equal make".split())
"""Stems of verbs that a paraphrase changes freely."""
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

    def is_like(self, value: float, *, roughly: bool) -> bool:
        """Whether a number with this value, possibly in thousands or millions, could be this one."""
        tolerance = 1.2 * max(self.half, abs(self.value) * (ROUGH if roughly else 0))
        offs = (abs(self.value - value * factor) for factor in (1.0, *SCALE_VALUES.values()))
        return any(off <= tolerance for off in offs) or math.isclose(self.value, value * self.scale)

    def may_be(self, other: "Figure", *, roughly: bool) -> bool:
        """Whether this number equals the other one, exactly or rounded. A table may be in millions."""
        tolerance = self.half if other.half < self.half else 0.0
        off = abs(self.value - other.value)
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
        self.words = stems(tokens)
        self.has_names = any(token.is_name for token in tokens[1:])
        self.refers_back = bool(tokens) and not tokens[0].stem and not self.has_names
        self.is_rough = any(token.written.casefold() in _ROUGHLY for token in tokens)

    def figures_of(self, clause: Clause) -> list[Figure]:
        return [f for f in self.figures if any(f.token is token for token in clause)]

    def around(self, figure: Figure) -> list[Token]:
        """The other words of its clause, without what it counts; if there are none, those of the sentence."""
        whole = [token for clause in self.clauses for token in clause]
        for tokens in (self.clause_of(figure), whole):
            others = [token for token in tokens if token is not figure.counted]
            if stems(others):
                return others
        return []

    def clause_of(self, figure: Figure) -> Clause:
        return next(c for c in self.clauses if any(figure.token is token for token in c))


def written_numbers(text: str) -> dict[str, float]:
    """All numbers of a text, by their spelling in lower case, with their values.

    Dates and the like are split into their parts. Scales such as millions, and units, are ignored.
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
    """The stems of content words, without numbers."""
    return frozenset(token.stem for token in tokens if token.is_content and token.kind != "number")


def _figures(tokens: list[Token]) -> Iterator[Figure]:
    for at, token in enumerate(tokens):
        if token.kind != "number" or (at > 0 and tokens[at - 1].written.casefold() in _LABELS):
            continue
        is_written = token.written.casefold() in SPELLED_NUMBERS or has_digit(token.written)
        if is_written and (value := _value(token.stem)) is not None:
            yield _figure(tokens, at, value)


def _figure(tokens: list[Token], at: int, value: float) -> Figure:
    token = tokens[at]
    factor = next((SCALE_VALUES[unit] for unit in token.near if unit in SCALE_VALUES), 1.0)
    decimals = len(token.stem.partition(".")[2])
    fixed = _FIXED.intersection(token.near)
    units = tuple(unit for unit in token.near if unit not in _FIXED and unit not in SCALE_VALUES)
    is_year = not fixed and token.stem.isdigit() and int(value) in _YEARS
    is_year = is_year and (not units or token.after in _DURING)
    before = tokens[at - 1].written if at else ""
    currency = [before] if CURRENCIES.get(before.casefold(), "none") in token.near else []
    has_symbol = any(sign in token.written for sign in "$€£¥%")
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


def _value(stem: str) -> float | None:
    try:
        return float(stem)
    except ValueError:
        return None


@dataclass
class _Sentence:
    """A sentence of a page that has a number, and the one before it; parsed when a claim is close to it."""

    text: str
    before: str
    language: str
    folded: str
    searched: str

    @cached_property
    def statement(self) -> Statement:
        return Statement(self.text, self.language)

    @cached_property
    def context(self) -> frozenset[str]:
        """The words of the sentence before, if this one refers back to it."""
        return Statement(self.before, self.language).words if self.statement.refers_back else frozenset()


class NumberConflicts:
    """Compares numbers of claims with those of the sources; pages are parsed with the first claim."""

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        pages = {(source.document_id, source.page): source.page_text for source in sources}
        self._pages = [text for text in pages.values() if text]
        self._question = question

    def find(self, claim: str) -> list[str]:
        """A message for each number of an unsupported claim that no source contains, nor the question, while
        a source has another number for the same thing."""
        said = Statement(claim, self._language)
        conflicts = [
            f"The answer says {figure.wording_next_to(others[0])}; the source has "
            f"{' and '.join(other.wording_next_to(figure) for other in others)}."
            for clause in said.clauses
            for figure in said.figures_of(clause)
            if not self._is_in_sources(figure, said)
            and (others := _conflicting(figure, clause, said, self._near(said.around(figure))))
        ]
        return list(dict.fromkeys(conflicts))

    @cached_property
    def _language(self) -> str:
        return detect_language(words(" ".join(page[:LANGUAGE_SAMPLE_CHARACTERS] for page in self._pages[:3])))

    @cached_property
    def _split_at(self) -> int:
        """The number of pages that are parsed."""
        return sum(total <= MAX_PARSED_CHARACTERS for total in accumulate(map(len, self._pages)))

    @cached_property
    def _sentences(self) -> list[_Sentence]:
        return [each for page in self._pages[: self._split_at] for each in _sentences(page, self._language)]

    @cached_property
    def _written(self) -> dict[str, float]:
        """All numbers of the parsed pages, by their spelling."""
        parsed = map(written_numbers, self._pages[: self._split_at])
        return {number: value for written in parsed for number, value in written.items()}

    @cached_property
    def _loose(self) -> frozenset[float]:
        """Numbers without what they count: those of the question and of the pages that are not parsed."""
        texts = (self._question, *self._pages[self._split_at :])
        return frozenset(value for text in texts for value in written_numbers(text).values())

    def _near(self, around: Sequence[Token]) -> list[_Sentence]:
        """The sentences that may have a good part of these words, judged by how the words begin."""
        plain = [token.written.casefold() for token in around if token.kind == "word" and token.is_content]
        beginnings = {word[:BEGINNING] for word in plain}
        counted = ((sum(b in each.searched for b in beginnings), each) for each in self._sentences)
        close = [pair for pair in counted if 2 * pair[0] >= len(beginnings)]
        return [each for _, each in sorted(close, key=lambda pair: -pair[0])[:MAX_SENTENCES]]

    def _is_in_sources(self, figure: Figure, said: Statement) -> bool:
        if figure.value in self._loose:
            return True
        alike = [n for n, value in self._written.items() if figure.is_like(value, roughly=said.is_rough)]
        return any(
            figure.may_be(other, roughly=said.is_rough) and _may_count_the_same(figure, other, each.statement)
            for each in self._sentences
            if any(number in each.folded for number in alike)
            for other in each.statement.figures
        )


def _sentences(page: str, language: str) -> Iterator[_Sentence]:
    before = ""
    for span in page_sentences(page):
        sentence = page[span.start : span.end]
        if written_numbers(sentence):
            folded = sentence.casefold()
            yield _Sentence(sentence, before, language, folded, f"{before.casefold()} {folded}")
        before = sentence


def _conflicting(figure: Figure, clause: Clause, said: Statement, near: Sequence[_Sentence]) -> list[Figure]:
    """The numbers that a source has instead: those of the sentence closest to the claim."""
    best: list[Figure] = []
    closest = 0.0
    for each in near:
        alike = [other for other in each.statement.figures if figure.counts_the_same(other)]
        others = [o for o in alike if not any(own.may_be(o, roughly=said.is_rough) for own in said.figures)]
        close = {other.value: (_closeness(figure, clause, other, each, said), other) for other in others}
        found = [other for closeness, other in close.values() if closeness]
        if found and (top := max(closeness for closeness, _ in close.values())) > closest:
            closest, best = top, found
    return best


def _may_count_the_same(figure: Figure, other: Figure, statement: Statement) -> bool:
    """Whether two equal numbers can mean the same; the unit of one may be elsewhere in its sentence."""
    if figure.fixed and other.fixed:
        return figure.fixed == other.fixed
    if figure.is_year or not (figure.units and other.units) or figure.counts_the_same(other):
        return True
    return figure.units[0] in statement.words


def _closeness(figure: Figure, clause: Clause, other: Figure, found: _Sentence, said: Statement) -> float:
    """The share of the words around a claim's number that another sentence has; 0 if its subject differs.

    All names, opposites and other numbers of the clause must be in the sentence.
    """
    statement, context, around = found.statement, found.context, said.around(figure)
    wanted, neighbours = stems(around) - FILLER_VERBS or stems(around), stems(statement.around(other))
    available = statement.words | context
    shared = wanted & available
    refers_back = bool(context and figure.units)
    same_negations = negations(clause) == negations(statement.clause_of(other))
    if not (wanted & neighbours or refers_back) or not same_negations:
        return 0.0
    required = {token.stem for token in around if token.is_name or token.kind == "opposite"}
    if not required <= available or not _has_other_numbers(figure, clause, said, statement):
        return 0.0
    share = len(shared) / len(wanted)
    is_same = len(shared) > 1 or len(shared) >= SHARE_OF_CLAUSE * len(neighbours)
    least = SAME_SUBJECT if figure.fixed or figure.units or figure.is_year else 1.0
    return share + len(wanted & neighbours) if is_same and share >= least else 0.0


def _has_other_numbers(figure: Figure, clause: Clause, said: Statement, statement: Statement) -> bool:
    """Whether the sentence has the clause's other numbers, except those of the same kind."""
    others = [f for f in said.figures_of(clause) if f is not figure and not f.counts_the_same(figure)]
    return all(any(f.may_be(other, roughly=said.is_rough) for other in statement.figures) for f in others)
