"""How well pages fit the kinds of page that answer a question: by title, body and share of figures."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from core.search.bm25 import Scores
from core.search.domains.lexicon import Kind
from core.search.statistics import Phrase, ScopeTable
from core.text.headings import RUNNING_SHARE

TITLE_TERMS = 20
OPENING_TERMS = 60
OPENING_SHARE = 0.6
HEADED_SHARE = 0.8
ENOUGH_LINES = 9
RUNNING_PAGES = 8
FULL_FIGURES = 0.25
TITLE_WEIGHT = 0.5
LEAST_FIT = 0.5
"""A page has to fit so well to be taken for the one of its kind."""


def score_kinds(kinds: Sequence[Kind], table: ScopeTable, documents: Collection[int]) -> Scores:
    """For each page of these documents: from 0 to 1, how well it fits the kind that it fits best."""
    return merge_best(_score_kind(kind, table, documents) for kind in kinds)


def merge_best(parts: Iterable[Scores]) -> Scores:
    """For each page the best of its scores."""
    best: Scores = {}
    for part in parts:
        for page, score in part.items():
            best[page] = max(score, best.get(page, 0.0))
    return best


def figure_share(table: ScopeTable, page: int, full_page: int) -> float:
    """The share of a page's terms that have a digit: high where there are tables of figures."""
    return table.page_digits[page] / max(full_page, table.page_lengths[page])


def tabular(table: ScopeTable, page: int) -> float:
    """From 0 to 1: how much of a page is figures, 1 for statements and other tables of them."""
    return min(1.0, figure_share(table, page, 1) / FULL_FIGURES)


def _score_kind(kind: Kind, table: ScopeTable, documents: Collection[int]) -> Scores:
    """The fit of pages, the best one of a document being 1 even where its title is a picture or its own."""
    scores = _fit(kind, table, documents)
    if not kind.lines:
        return scores
    best: dict[int, float] = defaultdict(lambda: LEAST_FIT)
    for page, score in scores.items():
        document = table.document_of(page)
        best[document] = max(best[document], score)
    return {page: score / best[table.document_of(page)] for page, score in scores.items()}


def _fit(kind: Kind, table: ScopeTable, documents: Collection[int]) -> Scores:
    titled = _opened(kind.titles, table, documents)
    if kind.aside:
        # What continues under a heading is of its kind, but not what comes after a table of contents.
        titled = {page: share for page, share in titled.items() if share == 1.0}
    else:
        titled = merge_best([titled, _headed(kind.titles, table, documents)])
    if not kind.lines:
        return titled
    lines = Counter(page for phrase in kind.lines for page in table.openings(phrase, documents))
    enough = min(ENOUGH_LINES, len(kind.lines))
    scores = {}
    for page in titled.keys() | lines.keys():
        score = TITLE_WEIGHT * titled.get(page, 0.0) + (1 - TITLE_WEIGHT) * min(1.0, lines[page] / enough)
        scores[page] = score * (tabular(table, page) if kind.figures else 1.0)
    return scores


def _headed(titles: Sequence[Phrase], table: ScopeTable, documents: Collection[int]) -> Scores:
    return {page: HEADED_SHARE for title in titles for page in table.headed_pages(title, documents)}


def _opened(titles: Sequence[Phrase], table: ScopeTable, documents: Collection[int]) -> Scores:
    opened: Scores = {}
    for title in titles:
        early = {page: at for page, at in table.openings(title, documents).items() if at < OPENING_TERMS}
        running = _running(early, table)
        for page, terms in early.items():
            if table.document_of(page) not in running:
                share = 1.0 if terms < TITLE_TERMS else OPENING_SHARE
                opened[page] = max(share, opened.get(page, 0.0))
    return opened


def _running(pages: Iterable[int], table: ScopeTable) -> set[int]:
    """The documents on so many pages of which a title stands that it is in their running headers."""
    counted = Counter(table.document_of(page) for page in pages)
    return {
        document
        for document, count in counted.items()
        if count > max(RUNNING_PAGES, table.page_count(document) * RUNNING_SHARE)
    }
