"""Ranks the passages of several documents by a question; all statistics are those of these documents."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from orc_core.search.bm25 import Counts, Scores, bm25, relative_scores
from orc_core.search.document_match import reported_periods, score_names, score_periods
from orc_core.search.mentions import by_document, documents_meant, naming_words, only_names
from orc_core.search.postings import (
    DocumentIndex,
    collect_terms,
    with_repaired_spelling,
    with_similar_words,
)
from orc_core.search.query import Question
from orc_core.search.statistics import ScopeStatistics
from orc_core.search.vocabulary import MIN_KNOWN_PHRASES, PageKind, Phrase
from orc_core.text.headings import RUNNING_SHARE
from orc_core.text.terms import has_digit

FULL_PAGE_TERMS = 30
NAME_SHARE = 0.3
"""The weight of words that only say which document is meant, so that its first page does not come first."""
TITLE_TERMS = 20
TOP_TERMS = 60
OPENING_SHARE = 0.6
HEADED_SHARE = 0.8
ENOUGH_LINES = 9
RUNNING_PAGES = 8
FULL_FIGURES = 0.25
TITLE_WEIGHT = 0.5
PROSE = 0.5
"""Factor for the score of a page without figures if figures are looked for."""
MIN_FIT = 0.5
"""The fit from which a page counts as one of its kind."""


# Why not FTS5, and what each ingredient is worth: docs/decisions/search.md.
@dataclass(frozen=True)
class Weights:
    """The weight of each ingredient of a page's score, the question's own words being 1; 0 leaves it out.

    `instructions` removes instructions on how to answer from the question, `spelling` repairs its words;
    `named` is the weight of words that only say which document is meant. `several`: if a question compares
    documents, each is ranked as if it were alone.
    """

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
    named: float = 0.6
    several: bool = True
    instructions: bool = True
    spelling: bool = True


DEFAULT_WEIGHTS = Weights()


class Match(NamedTuple):
    """A passage that matches: the index of its document, its own index in it, and its score."""

    document: int
    passage: int
    score: float


def rank_passages(
    question: Question,
    documents: Sequence[DocumentIndex],
    top_k: int,
    weights: Weights = DEFAULT_WEIGHTS,
    *,
    widened: bool = False,
) -> list[Match]:
    """The best matching passages, best first; their distinct pages in this order rank the pages.

    `widened` also takes words that resemble those of the question.
    """
    terms = collect_terms(question, documents)
    if widened:
        terms = with_similar_words(question, terms)
    elif weights.spelling:
        terms = with_repaired_spelling(question, terms)
    return rank_scope(question, ScopeStatistics(terms), top_k, weights)


def rank_scope(
    question: Question, scope: ScopeStatistics, top_k: int, weights: Weights = DEFAULT_WEIGHTS
) -> list[Match]:
    """As `rank_passages`, over documents in which the question's words were looked up."""
    return _Ranking(question, scope, weights).best(top_k)


class _Ranking:
    """The scores of all pages and passages of a scope."""

    def __init__(self, question: Question, scope: ScopeStatistics, weights: Weights) -> None:
        self._question = question
        self._scope = scope
        self._weights = weights
        self._expanded = score_expansions(question, scope)
        if not weights.measures:
            self._expanded = self._expanded._replace(measures=frozenset())
        years = {str(period.year) for period in question.periods}  # these have a separate score
        named = [word for word in question.words if word not in years] if weights.named else []
        self._naming = naming_words(named, scope) if len(scope.scope) > 1 else {}
        names = only_names(question.words, self._naming, scope)
        about_pages = [word for word in question.words if word not in names]
        self._words = about_pages if scope.count_words(about_pages) else question.words
        self._by_name = scope.count_words(sorted(names)) if self._words is about_pages else []
        # The words that have to be looked for as they are.
        self._literal = [word for word in self._words if word not in self._expanded.measures]
        self._by_word = scope.count_words(self._literal)
        # Pages whose number, table or section the question names.
        pages, numbers = self._question.pages, self._scope.page_numbers
        scores: Scores = {page: 1.0 for page, number in enumerate(numbers) if number in pages}
        for place in self._question.places:
            for page, score in relative_scores(self._by_page(self._scope.count([[place]]))).items():
                scores[page] = max(score, scores.get(page, 0.0))
        self._places = scores

    def best(self, top_k: int) -> list[Match]:
        """The best passages; of equally good ones, the first in the scope."""
        pages = self._lift(self._score_pages())
        own = self._score_passages()
        pointed_at = self._places.keys() | {p for p, fit in self._expanded.kinds.items() if fit >= MIN_FIT}
        on_these = (passage for passage, page in enumerate(self._scope.page_of) if page in pointed_at)
        page_of, weight = self._scope.page_of, self._weights.passage
        scored = (
            (-(pages[page_of[passage]] + weight * own.get(passage, 0.0)), passage)
            for passage in own.keys() | set(on_these)
        )
        return [
            Match(*self._scope.locate(passage), -negated)
            for negated, passage in heapq.nsmallest(top_k, scored)
        ]

    def _lift(self, pages: Scores) -> Scores:
        """The scores, with those of documents that the question compares raised to the same best one."""
        mentions = by_document(self._naming, len(self._scope.scope))
        meant = documents_meant(self._question.text, mentions) if self._weights.several else frozenset()
        if not meant:
            return pages
        best: dict[int, float] = {}
        for page, score in pages.items():
            document = self._scope.document_of(page)
            best[document] = max(score, best.get(document, score))
        top = max((best[document] for document in meant if document in best), default=0.0)
        raised = {document: top - best[document] for document in meant if document in best}
        return {page: score + raised.get(self._scope.document_of(page), 0.0) for page, score in pages.items()}

    def _score_pages(self) -> Scores:
        """A score for every page that matches the question."""
        weights, expanded, scope = self._weights, self._expanded, self._scope
        headings = scope.count_headings(self._words)
        parts = (
            (1.0, self._score_text()),
            (weights.headings, relative_scores(bm25(headings, [1] * len(scope.page_lengths)))),
            (NAME_SHARE, relative_scores(self._by_page(self._by_name))),
            (weights.concepts, expanded.concept_pages(scope)),
            (weights.places, self._places),
            (weights.kinds + (weights.measures if expanded.measures else 0.0), expanded.kinds),
            (-weights.kinds, expanded.asides),
        )
        found = [(weight, part) for weight, part in parts if part]
        documents = self._score_documents()
        figures = weights.figures if self._question.is_numeric or expanded.is_numeric else 0.0
        scores: Scores = dict.fromkeys(chain(*(part for _, part in found)), 0.0)
        for weight, part in found:
            for page, score in part.items():
                scores[page] += weight * score
        for page in scores:
            scores[page] += documents[scope.document_of(page)]
            scores[page] += figures * figure_share(scope, page, FULL_PAGE_TERMS)
        return scores

    def _score_passages(self) -> Scores:
        """Passages by the question's words, and by the concepts of its expansions."""
        lengths = self._scope.passage_lengths
        scores: Scores = defaultdict(float, relative_scores(bm25(self._by_word, lengths)))
        for passage, score in relative_scores(bm25(self._expanded.concepts, lengths)).items():
            scores[passage] += self._weights.concepts * score
        found = relative_scores(scores)
        return {**dict.fromkeys(chain(*self._by_name), 0.0), **found}

    def _score_text(self) -> Scores:
        """Pages by the question's words and by neighbouring pairs of them.

        Words that an expansion replaces are left out; the others count as much as they would with them.
        """
        words = self._words
        scores = self._weigh(self._literal, self._by_word)
        if self._literal == words:
            return relative_scores(scores)
        return relative_scores(scores, self._weigh(words, self._scope.count_words(words)))

    def _weigh(self, words: Sequence[str], by_word: Sequence[Counts]) -> Scores:
        scores = self._by_page(by_word)
        if self._weights.pairs:
            pairs = self._scope.count([pair] for pair in pairwise(words))
            for page, score in self._by_page(pairs).items():
                scores[page] += self._weights.pairs * score
        return scores

    def _by_page(self, counts: Sequence[Counts]) -> Scores:
        return bm25(self._scope.by_page(counts), self._scope.page_lengths)

    def _score_documents(self) -> list[float]:
        """Documents by how well their name, period and first page fit the question."""
        documents = [terms.document for terms in self._scope.scope]
        if len(documents) < 2:
            return [0.0] * len(documents)
        words = [word for word in self._question.words if not has_digit(word)]
        covers = relative_scores(bm25(self._scope.count_openings(words), [1] * len(documents)))
        names = score_names(self._question.text, [document.name for document in documents])
        reported = [reported_periods(document.name, document.period) for document in documents]
        periods = score_periods(self._question.periods, reported)
        named = relative_scores(
            bm25([dict.fromkeys(of, 1) for of in self._naming.values()], [1] * len(documents))
        )
        weights = self._weights
        return [
            weights.covers * covers.get(index, 0.0)
            + weights.named * named.get(index, 0.0)
            + weights.names * name
            + weights.periods * period
            for index, (name, period) in enumerate(zip(names, periods, strict=True))
        ]


class ExpansionScores(NamedTuple):
    """The results of a question's expansions in the documents that use the vocabulary of their field.

    `concepts` are counts by passage, `kinds` the fit of pages to the kinds looked for, `asides` the fit to
    kinds that only lead to other pages; `measures` are words of the question that the concepts and kinds
    stand for; `is_numeric`: the kinds looked for are mostly figures.
    """

    concepts: list[Counts]
    kinds: Scores
    asides: Scores
    measures: frozenset[str]
    is_numeric: bool

    def concept_pages(self, scope: ScopeStatistics) -> Scores:
        """Pages by the concepts; if figures are looked for, prose counts less."""
        scores = relative_scores(bm25(scope.by_page(self.concepts), scope.page_lengths))
        if not self.is_numeric:
            return scores
        return {p: score * (PROSE + (1 - PROSE) * tabular(scope, p)) for p, score in scores.items()}


def score_expansions(question: Question, scope: ScopeStatistics) -> ExpansionScores:
    """Look for what the expansions add to a question."""
    concepts: list[Counts] = []
    kinds: list[Scores] = []
    asides: list[Scores] = []
    measures: frozenset[str] = frozenset()
    is_numeric = False
    for expansion in question.expansions:
        if documents := scope.documents_with(expansion.known_by, MIN_KNOWN_PHRASES):
            concepts += scope.count(expansion.concepts, documents)
            kinds.append(score_kinds(expansion.kinds, scope, documents))
            asides.append(score_kinds(expansion.asides, scope, documents))
            measures |= expansion.measures
            is_numeric = is_numeric or any(kind.figures for kind in expansion.kinds)
    return ExpansionScores(concepts, merge_best(kinds), merge_best(asides), measures, is_numeric)


def score_kinds(kinds: Sequence[PageKind], scope: ScopeStatistics, documents: Collection[int]) -> Scores:
    """For each page of these documents: from 0 to 1, how well it fits the kind that it fits best."""
    return merge_best(_score_kind(kind, scope, documents) for kind in kinds)


def merge_best(parts: Iterable[Scores]) -> Scores:
    """For each page the best of its scores."""
    best: Scores = {}
    for part in parts:
        for page, score in part.items():
            best[page] = max(score, best.get(page, 0.0))
    return best


def figure_share(scope: ScopeStatistics, page: int, full_page: int) -> float:
    """The share of a page's terms that have a digit: high on pages with tables of figures."""
    return scope.page_digits[page] / max(full_page, scope.page_lengths[page])


def tabular(scope: ScopeStatistics, page: int) -> float:
    """From 0 to 1: how much of a page is figures, 1 for statements and other tables of them."""
    return min(1.0, figure_share(scope, page, 1) / FULL_FIGURES)


def _score_kind(kind: PageKind, scope: ScopeStatistics, documents: Collection[int]) -> Scores:
    """The fit of pages; the best page of a document gets 1, since its title may be a picture or unusual."""
    scores = _fit(kind, scope, documents)
    if not kind.lines:
        return scores
    best: dict[int, float] = defaultdict(lambda: MIN_FIT)
    for page, score in scores.items():
        document = scope.document_of(page)
        best[document] = max(best[document], score)
    return {page: score / best[scope.document_of(page)] for page, score in scores.items()}


def _fit(kind: PageKind, scope: ScopeStatistics, documents: Collection[int]) -> Scores:
    titled = _by_opening(kind.titles, scope, documents)
    if kind.aside:
        # Text that continues under a heading is of its kind, but not text after a table of contents.
        titled = {page: share for page, share in titled.items() if share == 1.0}
    else:
        headed = (scope.headed_pages(title, documents) for title in kind.titles)
        titled = merge_best([titled, *(dict.fromkeys(pages, HEADED_SHARE) for pages in headed)])
    if not kind.lines:
        return titled
    lines = Counter(page for phrase in kind.lines for page in scope.first_offsets(phrase, documents))
    enough = min(ENOUGH_LINES, len(kind.lines))
    scores = {}
    for page in titled.keys() | lines.keys():
        score = TITLE_WEIGHT * titled.get(page, 0.0) + (1 - TITLE_WEIGHT) * min(1.0, lines[page] / enough)
        scores[page] = score * (tabular(scope, page) if kind.figures else 1.0)
    return scores


def _by_opening(titles: Sequence[Phrase], scope: ScopeStatistics, documents: Collection[int]) -> Scores:
    fits: Scores = {}
    for title in titles:
        early = {page: at for page, at in scope.first_offsets(title, documents).items() if at < TOP_TERMS}
        # The documents that have a title on so many pages that it belongs to their running headers.
        counted = Counter(scope.document_of(page) for page in early)
        running = {
            document
            for document, count in counted.items()
            if count > max(RUNNING_PAGES, scope.page_count(document) * RUNNING_SHARE)
        }
        for page, terms in early.items():
            if scope.document_of(page) not in running:
                share = 1.0 if terms < TITLE_TERMS else OPENING_SHARE
                fits[page] = max(share, fits.get(page, 0.0))
    return fits
