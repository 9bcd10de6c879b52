"""How well pages fit the kinds of page that answer a question: by title, body and share of figures."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from core.search.bm25 import Scores
from core.search.scope_table import Phrase, ScopeTable
from core.search.vocabulary.lexicon import Kind

TITLE_TERMS = 20
OPENING_TERMS = 60
OPENING_SHARE = 0.6
HEADED_SHARE = 0.8
ENOUGH_LINES = 7
FULL_FIGURES = 0.25
TITLE_WEIGHT = 0.5
LEAST_FIT = .5


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


def _score_kind(kind: Kind, table: ScopeTable, documents: Collection[int]) -> Scores:
    return _raise_best(_fit(kind, table, documents), table) if kind.lines else _fit(kind, table, documents)


def _raise_best(scores: Scores, table: ScopeTable) -> Scores:
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
    lines = Counter(page for phrase in kind.lines for page in table.openings(phrase, documents))
    enough = min(ENOUGH_LINES, len(kind.lines))
    scores = {}
    for page in titled.keys() | lines.keys():
        title, body = titled.get(page, 0.0), min(1.0, lines[page] / enough) if enough else 1.0
        score = TITLE_WEIGHT * title + (1 - TITLE_WEIGHT) * body if enough else title
        scores[page] = score * (
            min(1.0, figure_share(table, page, 1) / FULL_FIGURES) if kind.figures else 1.0
        )
    return scores


def _headed(titles: Sequence[Phrase], table: ScopeTable, documents: Collection[int]) -> Scores:
    return {page: HEADED_SHARE for title in titles for page in table.headed_pages(title, documents)}


def _opened(titles: Sequence[Phrase], table: ScopeTable, documents: Collection[int]) -> Scores:
    opened: Scores = {}
    for title in titles:
        for page, terms in table.openings(title, documents).items():
            share = 1.0 if terms < TITLE_TERMS else OPENING_SHARE if terms < OPENING_TERMS else 0.0
            opened[page] = max(share, opened.get(page, 0.0))
    return opened
