"""Measures what each ingredient of the ranking contributes: added one by one, left out one at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.infra.sqlite import Database
from core.search.ranking import Weights
from core.storage.sqlite.passages import SqlitePassageIndex
from evals.corpus import Question
from evals.retrieval import DEPTH, RankedPage, rank

INGREDIENTS = {
    "pairs": "neighbouring words",
    "passage": "the page's best passage",
    "headings": "headings",
    "instructions": "instructions removed",
    "spelling": "repaired spelling",
    "figures": "figures if a number is asked for",
    "places": "numbered pages, tables, sections",
    "covers": "words of the first page",
    "names": "file names",
    "periods": "years and quarters",
    "concepts": "vocabulary: terms",
    "kinds": "vocabulary: kinds of page",
    "measures": "vocabulary: parts of a measure",
}
BASE = "words only, BM25 over pages"
EVERYTHING = "everything"


@dataclass(frozen=True)
class Figures:
    """The shares of the needed pages that are first, or among the first five, and the mean reciprocal rank.

    Averages over questions; of alternative pages one is needed.
    """

    first: float
    among_five: float
    reciprocal_rank: float


@dataclass(frozen=True)
class Variant:
    """A name and the weights of a way of ranking."""

    name: str
    weights: Weights


def additions() -> list[Variant]:
    """From the words alone to everything, with one more ingredient each time."""
    variants = [Variant(BASE, _without(*INGREDIENTS))]
    left_out = list(INGREDIENTS)
    for key, name in INGREDIENTS.items():
        left_out.remove(key)
        variants.append(Variant(f"+ {name}", _without(*left_out)))
    return variants


def removals() -> list[Variant]:
    """Everything, then everything without one of the ingredients."""
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
    """The rank of the best alternative of each needed page; infinity if none is ranked."""
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
