"""The pages that come closest to a question, and the best passage of each."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from core.grounding.claims import has_content
from core.grounding.sources import FencedSource
from core.offline.material import Material, page_of
from core.search.bm25 import Candidate, TextRanking

MOST_CLOSEST = 3
RANK_WEIGHT = 1.0
"""How much the rank that a search gave a page counts, against the page's best quote and its coverage."""


def best_of_pages(ranking: TextRanking, material: Material) -> list[int]:
    """The best candidate of each of the closest pages: by its score, the page's coverage and its rank.

    If there are few such pages, their next best candidates follow.
    """
    candidates = material.candidates
    best: dict[tuple[str, int], int] = {}
    others: list[int] = []
    covered: dict[tuple[str, int], set[str]] = defaultdict(set)
    ranks = _ranks(material.sources)
    # A search finds pages by other words than the question's too.
    for index in ranking.best_first() if ranks else ranking.matching():
        if not has_content(candidates[index].text) or _is_cut(candidates[index]):
            continue
        if best.setdefault(material.page_of(index), index) != index:
            others.append(index)
    for candidate, scored in zip(candidates, ranking.scores, strict=True):
        covered[page_of(material.sources[candidate.source])] |= scored.covered
    top = max((ranking.scores[index].score for index in best.values()), default=0) or 1

    def closeness(page: tuple[str, int]) -> float:
        own = ranking.scores[best[page]].score / top
        return own + ranking.coverage(covered[page]) + RANK_WEIGHT * ranks.get(page, 0.0)

    found = [best[page] for page in sorted(best, key=lambda page: -closeness(page))]
    return [*found, *others][:MOST_CLOSEST]


def _is_cut(candidate: Candidate) -> bool:
    """Whether it begins within a sentence, whose beginning may negate it: then its check would fail."""
    return candidate.is_fragment and candidate.text[0].islower()


def _ranks(sources: Sequence[FencedSource]) -> dict[tuple[str, int], float]:
    """1 for the first page that a search found, 1/2 for the second; none for pages in reading order."""
    pages = [page_of(source) for source in sources]
    if all(before < after or before[0] != after[0] for before, after in pairwise(pages)):
        return {}
    return {page: 1 / rank for rank, page in enumerate(dict.fromkeys(pages), 1)}
