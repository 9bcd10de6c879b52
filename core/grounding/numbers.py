"""Finds numbers of an answer that its sources contradict."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import accumulate, groupby
from operator import itemgetter

from core.grounding.effort import LONGEST_CHECKED, Effort
from core.grounding.evidence import BEGINNING, LANGUAGE_SAMPLE_CHARACTERS
from core.grounding.figures import Figure, Statement, stems, value_of
from core.grounding.objections import Objection, contradicted
from core.grounding.page_sentences import page_sentences
from core.grounding.quotes import Span
from core.grounding.sentence_facts import negations
from core.grounding.sources import Source
from core.grounding.tokens import TIME_OF_DAY, Clause, Token, plain_number
from core.text.numbers import SPELLED_NUMBERS
from core.text.terms import detect_language, words

MAX_PARSED_CHARACTERS = 200_000
"""Of the sources' pages, parsed sentence by sentence; beyond it only numbers are read."""
MAX_SENTENCES = 200
"""Sentences compared with a claim, those with most of its words first."""
MAX_FIGURES = 60
"""Numbers of a sentence of the answer; one with more is a list, and its numbers are not checked."""
COMPARED_AT_ONCE = 8
"""Comparisons that finding the words next to two numbers takes as long as."""
WORDS_AT_ONCE = 16
"""Words that are looked for in the time of one comparison."""
SAME_SUBJECT = 0.75
"""Share of the claim's words that a sentence about the same subject has, in addition to all its names."""
SHARE_OF_CLAUSE = 0.4
"""If it is a single word, its share of the words next to the other number."""
FILLER_VERBS = frozenset("get take receiv amount last cost need come total equal make".split())
"""Stems of verbs that a paraphrase changes freely."""
_WORD = re.compile(r"[a-z]+")
_DIGITS = re.compile(rf"{TIME_OF_DAY}|\d+(?:[.,'’]\d+)*")
_PARTS = re.compile(r"\d+")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def written_numbers(text: str) -> dict[str, float]:
    """All numbers of a text, by their spelling in lower case, with their values.

    Dates and the like are split into their parts. Scales such as millions, and units, are ignored.
    """
    return dict(_numbers_in(text))


def has_numbers(text: str) -> bool:
    """Whether a text has any of its `written_numbers`."""
    return next(_numbers_in(text), None) is not None


def _numbers_in(text: str) -> Iterator[tuple[str, float]]:
    folded = text.casefold()
    if not folded.isascii():
        folded = folded.translate(_SUPERSCRIPTS)
    for word in set(_WORD.findall(folded)):
        if word in SPELLED_NUMBERS:
            yield word, SPELLED_NUMBERS[word]
    for digits in set(_DIGITS.findall(folded)):
        parts = plain_number(digits).split()
        names = [digits] if len(parts) == 1 else _PARTS.findall(digits)
        for name, value in zip(names, map(value_of, parts), strict=False):
            if value is not None:
                yield name, value


@dataclass
class _Sentence:
    """A sentence of a page that has a number, and the one before it; parsed when a claim is close to it."""

    text: str
    before: str
    language: str
    values: frozenset[float]
    searched: str

    @cached_property
    def statement(self) -> Statement:
        return Statement(self.text, self.language)

    @cached_property
    def context(self) -> frozenset[str]:
        """The words of the sentence before, if this one refers back to it."""
        return Statement(self.before, self.language).words if self.statement.refers_back else frozenset()


class NumberConflicts:
    """Compares numbers of claims with those of the sources; pages are parsed with the first claim.

    Claims with too many numbers, and those after the `effort` was spent, are not compared: `left_out`.
    """

    def __init__(self, sources: Sequence[Source], question: str = "", effort: Effort | None = None) -> None:
        self._effort = effort or Effort()
        pages = {(source.document_id, source.page): source.page_text for source in sources}
        self._pages = [text for text in pages.values() if text]
        self._question = question
        self.left_out: set[str] = set()

    def find(self, claim: str) -> list[Objection]:
        """An objection for each number of an unsupported claim that neither the sources nor the question
        contain, while a source has another number for the same thing."""
        if not self._pages or not has_numbers(claim):
            return []
        said = self._read(claim)
        found = list(dict.fromkeys(self._conflicts_of(said))) if said else []
        if said is None or self._effort.is_spent:
            self.left_out.add(claim)
        return found

    def _read(self, claim: str) -> Statement | None:
        """The claim; None if it has too much to compare."""
        if len(claim) > LONGEST_CHECKED or self._effort.is_spent:
            return None
        said = Statement(claim, self._language)
        return said if len(said.figures) <= MAX_FIGURES else None

    def _conflicts_of(self, said: Statement) -> Iterator[Objection]:
        for figure in said.figures:
            if self._is_in_sources(figure, said):
                continue
            near = self._near(said.around(figure))
            others = _conflicting(figure, said.clause_of(figure), said, near, self._effort)
            if self._effort.is_spent:
                return
            if others:
                written = figure.wording_next_to(others[0])
                found = " and ".join(other.wording_next_to(figure) for other in others)
                yield contradicted(written, found)

    @cached_property
    def _language(self) -> str:
        return detect_language(words(" ".join(page[:LANGUAGE_SAMPLE_CHARACTERS] for page in self._pages[:3])))

    @cached_property
    def _split_at(self) -> int:
        """The number of pages that are parsed."""
        return sum(total <= MAX_PARSED_CHARACTERS for total in accumulate(map(len, self._pages)))

    @cached_property
    def _sentences(self) -> list[_Sentence]:
        return [each for page in self._spans for each in _sentences(*page, self._language)]

    @cached_property
    def _spans(self) -> list[tuple[str, list[Span]]]:
        return [(page, page_sentences(page)) for page in self._pages[: self._split_at]]

    @cached_property
    def _endless(self) -> list[str]:
        """The sentences that are too long to be parsed: lists without marks or lines."""
        found = ((page, span) for page, spans in self._spans for span in spans)
        return [page[s.start : s.end] for page, s in found if s.end - s.start > LONGEST_CHECKED]

    @cached_property
    def _by_value(self) -> list[tuple[float, list[int]]]:
        """The values of the numbers of the parsed pages, ascending, with the sentences that have them."""
        found: dict[float, list[int]] = defaultdict(list)
        for at, each in enumerate(self._sentences):
            for value in each.values:
                found[value].append(at)
        return sorted(found.items())

    @cached_property
    def _loose(self) -> frozenset[float]:
        """Numbers without what they count: those of the question, and of what is not parsed."""
        texts = (self._question, *self._pages[self._split_at :], *self._endless)
        return frozenset(value for text in texts for value in written_numbers(text).values())

    def _near(self, around: Sequence[Token]) -> list[_Sentence]:
        """The sentences that may have a good part of these words, judged by how the words begin."""
        plain = [token.written.casefold() for token in around if token.kind == "word" and token.is_content]
        beginnings = {word[:BEGINNING] for word in plain}
        self._effort.spend(len(beginnings) * len(self._sentences) // WORDS_AT_ONCE)
        counted = ((sum(b in each.searched for b in beginnings), each) for each in self._sentences)
        close = [pair for pair in counted if 2 * pair[0] >= len(beginnings)]
        return [each for _, each in sorted(close, key=lambda pair: -pair[0])[:MAX_SENTENCES]]

    def _is_in_sources(self, figure: Figure, said: Statement) -> bool:
        if figure.value in self._loose:
            return True
        return any(
            figure.may_be(other, roughly=said.is_rough) and _may_count_the_same(figure, other, each.statement)
            for each in self._with_alike(figure, roughly=said.is_rough)
            if self._effort.spend(1 + len(each.statement.figures))
            for other in each.statement.figures
        )

    def _with_alike(self, figure: Figure, *, roughly: bool) -> Iterator[_Sentence]:
        """The sentences with a number that could be this one, in order; thousands may have it."""
        values: set[int] = set()
        for least, most in figure.ranges_alike(roughly=roughly):
            first = bisect_left(self._by_value, least, key=itemgetter(0))
            last = bisect_right(self._by_value, most, key=itemgetter(0))
            values.update(range(first, last))
        places = merge(*(self._by_value[value][1] for value in values))
        return (self._sentences[at] for at, _ in groupby(places))


def _sentences(page: str, spans: Sequence[Span], language: str) -> Iterator[_Sentence]:
    before = ""
    for span in spans:
        sentence = page[span.start : span.end]
        if len(sentence) > LONGEST_CHECKED:
            before = ""
            continue
        if values := frozenset(written_numbers(sentence).values()):
            searched = f"{before.casefold()} {sentence.casefold()}"
            yield _Sentence(sentence, before, language, values, searched)
        before = sentence


def _conflicting(
    figure: Figure, clause: Clause, said: Statement, near: Sequence[_Sentence], effort: Effort
) -> list[Figure]:
    """The numbers that a source has instead: those of the sentence closest to the claim."""
    best: list[Figure] = []
    closest = 0.0
    for each in near:
        alike = [other for other in each.statement.figures if figure.counts_the_same(other)]
        if not effort.spend(1 + len(each.statement.figures) + len(alike) * len(said.figures)):
            return []
        others = [o for o in alike if not any(own.may_be(o, roughly=said.is_rough) for own in said.figures)]
        if not effort.spend(COMPARED_AT_ONCE * len(others)):
            return []
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
    if not wanted:
        return 0.0
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
