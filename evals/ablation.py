"""Measures what each ingredient of the ranking contributes: added one by one, left out one at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evals.corpus import Question
from evals.retrieval import DEPTH, RankedPage
from orc_core.search.postings import DocumentIndex, collect_terms, with_repaired_spelling
from orc_core.search.query import Question as ParsedQuestion
from orc_core.search.query import parse_question
from orc_core.search.ranking import Weights, rank_scope
from orc_core.search.statistics import ScopeStatistics
from orc_core.search.vocabulary import shipped_vocabularies

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
    "named": "names on the first page",
    "several": "a page of each document compared",
    "concepts": "vocabulary: terms",
    "kinds": "vocabulary: kinds of page",
    "measures": "vocabulary: parts of a measure",
}
BASE = "words only, BM25 over pages"
EVERYTHING = "everything"
HITS_PER_PAGE = 10
"""Passages ranked for each page wanted: pages of more passages are rare."""


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


def measure(
    variants: Sequence[Variant], questions: Sequence[Question], documents: Mapping[str, DocumentIndex]
) -> dict[str, Figures]:
    """The figures of each way of ranking on one set of questions, by its name."""
    ranked: dict[str, list[list[RankedPage]]] = {variant.name: [] for variant in variants}
    for question in questions:
        # Every variant needs the same counts: they are made once for each question.
        looked_up = _LookedUp(question, [documents[name] for name in dict.fromkeys(question.files)])
        for variant in variants:
            ranked[variant.name].append(looked_up.rank(variant.weights))
    return {name: score(questions, rankings) for name, rankings in ranked.items()}


class _LookedUp:
    """A question whose words were looked up in its documents."""

    def __init__(self, question: Question, documents: Sequence[DocumentIndex]) -> None:
        self._text = question.question
        self._documents = documents
        self._parsed: dict[bool, ParsedQuestion] = {}
        self._scopes: dict[tuple[bool, bool], ScopeStatistics] = {}

    def rank(self, weights: Weights) -> list[RankedPage]:
        """The best pages by these weights, best first."""
        key = (weights.instructions, weights.spelling)
        if weights.instructions not in self._parsed:
            vocabularies = shipped_vocabularies()
            parsed = parse_question(self._text, vocabularies, without_instructions=weights.instructions)
            self._parsed[weights.instructions] = parsed
        question = self._parsed[weights.instructions]
        if key not in self._scopes:
            terms = collect_terms(question, self._documents)
            terms = with_repaired_spelling(question, terms) if weights.spelling else terms
            self._scopes[key] = ScopeStatistics(terms)
        matches = rank_scope(question, self._scopes[key], DEPTH * HITS_PER_PAGE, weights)
        found = [(self._documents[each.document], each.passage) for each in matches]
        pages = dict.fromkeys((document.name, document.layout.pages[at]) for document, at in found)
        return [RankedPage(file=file, page=page) for file, page in list(pages)[:DEPTH]]


def score(questions: Sequence[Question], rankings: Sequence[Sequence[RankedPage]]) -> Figures:
    """The figures of rankings, one for each question in the same order."""
    return average(score_each(questions, rankings))


def score_each(questions: Sequence[Question], rankings: Sequence[Sequence[RankedPage]]) -> list[Figures]:
    """The figures of each question's ranking."""
    ranks = [_ranks_of_gold(question, pages) for question, pages in zip(questions, rankings, strict=True)]
    return [
        Figures(_share_within(1, found), _share_within(5, found), 1 / min(found, default=math.inf))
        for found in ranks
    ]


def average(figures: Sequence[Figures]) -> Figures:
    """The means of figures; zeros if there are none."""
    count = max(1, len(figures))
    return Figures(
        first=sum(each.first for each in figures) / count,
        among_five=sum(each.among_five for each in figures) / count,
        reciprocal_rank=sum(each.reciprocal_rank for each in figures) / count,
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
