"""Scores passages by what they have of a question; all statistics are those of the scope alone."""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.search.bm25 import Counts, Scores, bm25, normalized
from core.search.document_match import score_names, score_periods
from core.search.domains.lexicon import LEAST_KNOWN
from core.search.page_kinds import LEAST_FIT, figure_share, merge_best, score_kinds, tabular
from core.search.query import Question
from core.search.statistics import Evidence, ScopeTable
from core.text.terms import has_digit

FULL_PAGE_TERMS = 30
PROSE = 0.5
"""What a page without figures keeps of its score where figures are looked for."""


@dataclass(frozen=True)
class Weights:
    """What each ingredient of a page's score counts, the question's own words being 1; 0 leaves it out."""

    pairs: float = 0.4
    passage: float = 0.3
    headings: float = 0.15
    figures: float = 0.6
    covers: float = 0.15
    names: float = 0.5
    periods: float = 0.8
    concepts: float = 0.9
    kinds: float = 0.6
    measures: float = 0.6
    places: float = 0.8
    cleaned: bool = True
    repaired: bool = True


class Match(NamedTuple):
    """A passage that has something of the question: its document's and its own index, and its score."""

    document: int
    passage: int
    score: float


class Meant(NamedTuple):
    """What the vocabularies make of a question, in the documents that speak their language.

    `concepts` are counts by passage, `kinds` the fit of pages, `asides` that of pages that only lead to
    others; `figures`: the kinds asked for are mostly figures; `measures` are words of the question that the
    concepts and kinds stand for.
    """

    concepts: list[Counts]
    kinds: Scores
    asides: Scores
    figures: bool
    measures: frozenset[str]

    def unmeasured(self, said: Sequence[str]) -> list[str]:
        """The words that have to be looked for as they are."""
        return [word for word in said if word not in self.measures]


def rank_passages(question: Question, scope: Sequence[Evidence], top_k: int, weights: Weights) -> list[Match]:
    """The best matching passages, best first; their distinct pages in this order rank the pages."""
    table = ScopeTable(scope)
    meant = find_meant(question, table, weights)
    by_word = table.count_words(meant.unmeasured(question.words))
    places = score_places(question, table)
    pages = score_pages(question, table, by_word, meant, places, weights)
    own = score_passages(table, by_word, meant, weights)
    pointed_at = places.keys() | {page for page, fit in meant.kinds.items() if fit >= LEAST_FIT}
    there = (passage for passage, page in enumerate(table.page_of) if page in pointed_at)
    scores = {
        passage: pages[table.page_of[passage]] + weights.passage * own.get(passage, 0.0)
        for passage in own.keys() | set(there)
    }
    best = heapq.nsmallest(top_k, scores, key=lambda passage: (-scores[passage], passage))
    return [Match(*table.locate(passage), scores[passage]) for passage in best]


def find_meant(question: Question, table: ScopeTable, weights: Weights) -> Meant:
    """Look for what the vocabularies add to a question."""
    concepts: list[Counts] = []
    kinds: list[Scores] = []
    asides: list[Scores] = []
    figures = False
    measures: frozenset[str] = frozenset()
    for vocabulary, meaning in question.meanings:
        if fluent := table.fluent(vocabulary.known_by, LEAST_KNOWN):
            concepts += table.count_concepts(meaning.concepts, fluent)
            kinds.append(score_kinds(meaning.kinds, table, fluent))
            asides.append(score_kinds(meaning.asides, table, fluent))
            measures |= meaning.measures if weights.measures else frozenset()
            figures = figures or any(kind.figures for kind in meaning.kinds)
    return Meant(concepts, merge_best(kinds), merge_best(asides), figures, measures)


def score_pages(
    question: Question,
    table: ScopeTable,
    by_word: Sequence[Counts],
    meant: Meant,
    places: Scores,
    weights: Weights,
) -> Scores:
    """A score for every page that has something of the question."""
    kinds = weights.kinds + (weights.measures if meant.measures else 0.0)
    parts = (
        (1.0, score_text(question, table, by_word, meant, weights)),
        (weights.headings, score_headings(question, table)),
        (weights.concepts, score_concepts(table, meant)),
        (weights.places, places),
        (kinds, meant.kinds),
        (-weights.kinds, meant.asides),
    )
    documents = score_documents(question, table, weights)
    figures = weights.figures if question.numeric or meant.figures else 0.0
    scores: Scores = {}
    for page in set().union(*(part for _, part in parts)):
        scores[page] = sum(weight * part.get(page, 0.0) for weight, part in parts)
        scores[page] += documents[table.document_of(page)]
        scores[page] += figures * figure_share(table, page, FULL_PAGE_TERMS)
    return scores


def score_concepts(table: ScopeTable, meant: Meant) -> Scores:
    """Pages by what the vocabularies look for; where that is figures, prose about them counts less."""
    scores = normalized(bm25(table.by_page(meant.concepts), table.page_lengths))
    if not meant.figures:
        return scores
    return {page: score * (PROSE + (1 - PROSE) * tabular(table, page)) for page, score in scores.items()}


def score_passages(table: ScopeTable, by_word: Sequence[Counts], meant: Meant, weights: Weights) -> Scores:
    """Passages by the question's words, and by what the vocabularies add to them."""
    scores: Scores = defaultdict(float, normalized(bm25(by_word, table.passage_lengths)))
    for passage, score in normalized(bm25(meant.concepts, table.passage_lengths)).items():
        scores[passage] += weights.concepts * score
    return normalized(scores)


def score_text(
    question: Question, table: ScopeTable, by_word: Sequence[Counts], meant: Meant, weights: Weights
) -> Scores:
    """Pages by the question's words, and by those of them that stand together.

    Without the words of measures; the others count no more than they would beside them.
    """
    said = meant.unmeasured(question.words)
    scores = _weigh(said, table, by_word, weights)
    if said == question.words:
        return normalized(scores)
    return normalized(scores, _weigh(question.words, table, table.count_words(question.words), weights))


def _weigh(said: Sequence[str], table: ScopeTable, by_word: Sequence[Counts], weights: Weights) -> Scores:
    scores = bm25(table.by_page(by_word), table.page_lengths)
    if weights.pairs:
        for page, score in bm25(table.by_page(table.count_pairs(said)), table.page_lengths).items():
            scores[page] += weights.pairs * score
    return scores


def score_headings(question: Question, table: ScopeTable) -> Scores:
    """Pages by the question's words in their headings."""
    return normalized(bm25(table.count_headings(question.words), [1] * len(table.page_lengths)))


def score_places(question: Question, table: ScopeTable) -> Scores:
    """Pages that the question points at: by their number, or by the table or section that is on them."""
    scores: Scores = {page: 1.0 for page, number in enumerate(table.page_numbers) if number in question.pages}
    for place in question.places:
        for page, score in normalized(
            bm25(table.by_page(table.count_concepts([[place]])), table.page_lengths)
        ).items():
            scores[page] = max(score, scores.get(page, 0.0))
    return scores


def score_documents(question: Question, table: ScopeTable, weights: Weights) -> list[float]:
    """Documents by how well their name, period and first page tell them apart as the one meant."""
    identities = [evidence.identity for evidence in table.scope]
    if len(identities) < 2:
        return [0.0] * len(identities)
    said = [word for word in question.words if not has_digit(word)]
    covers = normalized(bm25(table.count_openings(said), [1] * len(identities)))
    names = score_names(question.text, identities)
    periods = score_periods(question.periods, identities)
    return [
        weights.covers * covers.get(document, 0.0) + weights.names * name + weights.periods * period
        for document, (name, period) in enumerate(zip(names, periods, strict=True))
    ]
