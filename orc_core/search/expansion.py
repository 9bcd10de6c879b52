"""Scores passages and pages by what a question's expansions look for: terms and kinds of page."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from orc_core.search.bm25 import Counts, Scores, bm25, relative_scores
from orc_core.search.query import Question
from orc_core.search.statistics import ScopeStatistics
from orc_core.search.vocabulary import MIN_KNOWN_PHRASES, PageKind, Phrase
from orc_core.text.headings import RUNNING_SHARE

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
        running = _with_running_title(early, scope)
        for page, terms in early.items():
            if scope.document_of(page) not in running:
                share = 1.0 if terms < TITLE_TERMS else OPENING_SHARE
                fits[page] = max(share, fits.get(page, 0.0))
    return fits


def _with_running_title(pages: Iterable[int], scope: ScopeStatistics) -> set[int]:
    """The documents that have a title on so many pages that it belongs to their running headers."""
    counted = Counter(scope.document_of(page) for page in pages)
    return {
        document
        for document, count in counted.items()
        if count > max(RUNNING_PAGES, scope.page_count(document) * RUNNING_SHARE)
    }
