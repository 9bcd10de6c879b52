"""What each ingredient of the ranking gives: added one after another, and left out one at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.infra.sqlite import Database
from core.search.ranking import Weights
from core.storage.sqlite.passages import SqlitePassageIndex
from evals.corpus import Question
from evals.retrieval import DEPTH, RankedPage, rank

INGREDIENTS = {
    "pairs": "words that stand together",
    "passage": "the page's best passage",
    "headings": "headings",
    "instructions": "question without instructions",
    "spelling": "spelling repaired",
    "figures": "figures where a number is asked",
    "places": "pages, tables, sections by number",
    "covers": "words of the document's opening",
    "names": "file names",
    "periods": "years and quarters",
    "concepts": "vocabulary: terms",
    "kinds": "vocabulary: kinds of page",
    "measures": "vocabulary: what measures are computed from",
}
BASE = "words only, BM25 over pages"
EVERYTHING = "everything"


@dataclass(frozen=True)
class Figures:
    """The shares of the needed pages that are first and among five, and the mean reciprocal rank.

    Averages over questions; of pages that are alternatives one is needed.
    """

    first: float
    among_five: float
    reciprocal_rank: float


@dataclass(frozen=True)
class Variant:
    """A way of ranking and what to call it."""

    name: str
    weights: Weights


def additions() -> list[Variant]:
    """From the words alone to everything, one ingredient more each time."""
    variants = [Variant(BASE, _without(*INGREDIENTS))]
    left_out = list(INGREDIENTS)
    for key, name in INGREDIENTS.items():
        left_out.remove(key)
        variants.append(Variant(f"+ {name}", _without(*left_out)))
    return variants


def removals() -> list[Variant]:
    """Everything, and everything but one ingredient."""
    single = [Variant(f"- {name}", _without(key)) for key, name in INGREDIENTS.items()]
    return [Variant(EVERYTHING, Weights()), *single]


async def measure(database: Database, weights: Weights, questions: Sequence[Question]) -> Figures:
    """The figures of one way of ranking on one set of questions."""
    index = SqlitePassageIndex(database, weights=weights)
    return score(questions, [await rank(index, question, DEPTH) for question in questions])


def score(questions: Sequence[Question], rankings: Sequence[Sequence[RankedPage]]) -> Figures:
    """The figures of rankings, one for each question in the same order."""
    ranks = [_ranks_of_gold(question, pages) for question, pages in zip(questions, rankings, strict=True)]
    count = max(1, len(ranks))
    return Figures(
        first=sum(_share_within(1, found) for found in ranks) / count,
        among_five=sum(_share_within(5, found) for found in ranks) / count,
        reciprocal_rank=sum(1 / min(found) for found in ranks if found) / count,
    )


def _ranks_of_gold(question: Question, pages: Sequence[RankedPage]) -> list[float]:
    """The rank of the best alternative of each page that is needed; infinity where none is ranked."""
    places = {(page["file"], page["page"]): place for place, page in reversed(list(enumerate(pages, 1)))}
    ranks: dict[int, float] = {}
    for number, gold in enumerate(question.gold):
        group = -1 - number if gold.group is None else gold.group
        place = places.get((gold.file, gold.page), math.inf)
        ranks[group] = min(place, ranks.get(group, math.inf))
    return list(ranks.values())


def _share_within(rank: int, found: Sequence[float]) -> float:
    return sum(place <= rank for place in found) / max(1, len(found))


def _without(*ingredients: str) -> Weights:
    off: dict[str, float] = dict.fromkeys(ingredients, 0)
    return replace(Weights(), **off)  # type: ignore[arg-type]
