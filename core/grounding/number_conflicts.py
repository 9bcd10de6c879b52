"""Which numbers of an answer its sources contradict: they speak of the same thing with another one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from core.grounding.evidence import page_sentences
from core.grounding.numbers import Figure, Statement, stems, written_numbers
from core.grounding.sentence_facts import Clause, Token
from core.grounding.sources import Source
from core.text.terms import detect_language, words

READ_CHARACTERS = 200_000
"""Of the sources' pages, looked through sentence by sentence; of what is beyond, only for its numbers."""
MOST_SENTENCES = 200
"""So many are read for a claim, those with most of its words first."""
LANGUAGE_SAMPLE = 1500
BEGINNING = 3
SAME_THING = 0.75
"""A sentence speaks of the same thing if it has this share of the claim's words, besides all its names."""
OF_THE_CLAUSE = 0.4
"""Where that is a single word, it is also this share of the words beside the other number."""
LIGHT = frozenset("get take receiv amount last cost need come total equal make".split())
"""Stems of verbs that a paraphrase changes freely: they tell no two things apart."""


@dataclass(slots=True)
class _Sentence:
    """A sentence of a page that has a number, and the one before it; read once a claim comes near it."""

    text: str
    before: str
    language: str
    folded: str
    reach: str
    _read: Statement | None = None

    @property
    def statement(self) -> Statement:
        if self._read is None:
            self._read = Statement(self.text, self.language)
        return self._read

    @property
    def lent(self) -> frozenset[str]:
        """The words before it, where it leans on them."""
        if not self.statement.leans:
            return frozenset()
        return Statement(self.before, self.language).words


class Contradictions:
    """Holds claims against what the sources say in numbers. The pages are read with the first claim."""

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        pages = {(source.document_id, source.page): source.page_text for source in sources}
        self._pages = [text for text in pages.values() if text]
        self._question = question

    def of(self, claim: str) -> list[str]:
        """A sentence for each number of `claim` that stands neither in a source nor in the question, where
        a source has another one for the same thing. The claim is one that nothing bears out."""
        said = Statement(claim, self._language)
        told = [
            _told(figure, others)
            for clause in said.clauses
            for figure in said.figures_of(clause)
            if not self._stands(figure, said)
            and (others := _instead(figure, clause, said, self._near(said.around(figure))))
        ]
        return list(dict.fromkeys(told))

    @cached_property
    def _language(self) -> str:
        return detect_language(words(" ".join(page[:LANGUAGE_SAMPLE] for page in self._pages[:3])))

    @cached_property
    def _split_at(self) -> int:
        """How many of the pages are looked through."""
        total = 0
        for number, page in enumerate(self._pages):
            total += len(page)
            if total > READ_CHARACTERS:
                return number
        return len(self._pages)

    @cached_property
    def _sentences(self) -> list[_Sentence]:
        return [each for page in self._pages[: self._split_at] for each in _sentences(page, self._language)]

    @cached_property
    def _written(self) -> dict[str, float]:
        """All numbers of the pages that are looked through, by how they are written."""
        return {
            number: value
            for page in self._pages[: self._split_at]
            for number, value in written_numbers(page).items()
        }

    @cached_property
    def _loose(self) -> frozenset[float]:
        """Numbers that are known without what they count: the question's, and those of the other pages."""
        texts = (self._question, *self._pages[self._split_at :])
        return frozenset(value for text in texts for value in written_numbers(text).values())

    def _near(self, around: Sequence[Token]) -> list[_Sentence]:
        """The sentences that may have a good part of these words, by how the words begin."""
        plain = [token.written.casefold() for token in around if token.kind == "word" and token.says]
        beginnings = {word[:BEGINNING] for word in plain}
        counted = [(sum(b in each.reach for b in beginnings), each) for each in self._sentences]
        close = [(count, each) for count, each in counted if 2 * count >= len(beginnings)]
        close.sort(key=lambda pair: -pair[0])
        return [each for _, each in close[:MOST_SENTENCES]]

    def _stands(self, figure: Figure, said: Statement) -> bool:
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


def _told(figure: Figure, others: Sequence[Figure]) -> str:
    has = " and ".join(other.told_beside(figure) for other in others)
    return f"The answer says {figure.told_beside(others[0])}; the source has {has}."


def _instead(figure: Figure, clause: Clause, said: Statement, near: Sequence[_Sentence]) -> list[Figure]:
    """The numbers that a source has in its place: those of the sentence that is closest to the claim."""
    best: list[Figure] = []
    closest = 0.0
    for each in near:
        others = [o for o in each.statement.figures if figure.counts_the_same(o) and not _holds(said, o)]
        close = {other.value: (_closeness(figure, clause, other, each, said), other) for other in others}
        found = [other for closeness, other in close.values() if closeness]
        if found and (top := max(closeness for closeness, _ in close.values())) > closest:
            closest, best = top, found
    return best


def _may_count_the_same(figure: Figure, other: Figure, statement: Statement) -> bool:
    """Whether two equal numbers can mean the same. What one of them counts may stand elsewhere."""
    if figure.fixed and other.fixed:
        return figure.fixed == other.fixed
    if figure.is_year or not (figure.units and other.units) or figure.counts_the_same(other):
        return True
    return figure.units[0] in statement.words


def _holds(said: Statement, other: Figure) -> bool:
    return any(own.may_be(other, roughly=said.is_rough) for own in said.figures)


def _closeness(figure: Figure, clause: Clause, other: Figure, found: _Sentence, said: Statement) -> float:
    """How much of what a claim's number is about the words around another number hold; 0 where that is
    about something else.

    All names, opposites and further numbers must be there.
    """
    statement, lent, around = found.statement, found.lent, said.around(figure)
    wanted, beside = stems(around) - LIGHT or stems(around), stems(statement.around(other))
    in_reach = statement.words | lent
    shared = wanted & in_reach
    leans = bool(lent and figure.units)
    if not (wanted & beside or leans) or clause.negations != statement.clause_of(other).negations:
        return 0.0
    if not _required(around) <= in_reach or not _has_further(figure, clause, said, statement):
        return 0.0
    share = len(shared) / len(wanted)
    is_same = len(shared) > 1 or len(shared) >= OF_THE_CLAUSE * len(beside)
    least = SAME_THING if figure.fixed or figure.units or figure.is_year else 1.0
    return share + len(wanted & beside) if is_same and share >= least else 0.0


def _required(around: Sequence[Token]) -> frozenset[str]:
    """Names and words with an opposite, which make a sentence another one."""
    return frozenset(token.stem for token in around if token.is_name or token.kind == "opposite")


def _has_further(figure: Figure, clause: Clause, said: Statement, statement: Statement) -> bool:
    """Whether the clause's other numbers, but those of the same kind, are those of the sentence."""
    further = [f for f in said.figures_of(clause) if f is not figure and not f.counts_the_same(figure)]
    return all(any(f.may_be(other, roughly=said.is_rough) for other in statement.figures) for f in further)
