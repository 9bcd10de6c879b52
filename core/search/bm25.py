"""BM25 (Robertson and Spärck Jones) over numbered units: passages, pages, documents or single sentences."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

K1 = 1.2
B = 0.75
FLOOR = 0.2
"""Weight of a term that every text contains, relative to the rarest one, if weights are floored."""

Counts = Mapping[int, int]
"""Occurrences of a term, by the number of the unit."""

Scores = dict[int, float]


def bm25(occurrences: Iterable[Counts], lengths: Sequence[int]) -> Scores:
    """BM25 of the units with these lengths, from how often each term occurs in each."""
    scores: Scores = defaultdict(float)
    average = average_length(lengths)
    for counts in occurrences:
        weight = idf(len(counts), len(lengths))
        for unit, count in counts.items():
            scores[unit] += weight * saturation(count, lengths[unit] / average)
    return scores


def idf(containing: int, total: int) -> float:
    """The inverse document frequency of a term that `containing` of `total` units contain; above 0."""
    return math.log(1 + (total - containing + 0.5) / (containing + 0.5))


def saturation(count: int, relative_length: float, b: float = B) -> float:
    """BM25's term frequency, below K1 + 1; `relative_length` is the unit's length over the average."""
    return (K1 + 1) * count / (count + K1 * (1 - b + b * relative_length))


def average_length(lengths: Collection[int]) -> float:
    """The mean length of units, 1 if there are none or all are empty."""
    return sum(lengths) / max(1, len(lengths)) or 1.0


def idf_of_terms(terms: Iterable[str], texts: Sequence[Collection[str]]) -> dict[str, float]:
    """The inverse document frequency of each term over texts, each given as its distinct terms."""
    containing = Counter(term for text in texts for term in text)
    return {term: idf(containing[term], len(texts)) for term in terms}


def floored(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights raised by a share of the largest, so that a term that every text contains still counts."""
    least = FLOOR * max(weights.values(), default=0.0)
    return {term: least + weight for term, weight in weights.items()}


def normalized(scores: Scores, whole: Scores | None = None) -> Scores:
    """Scores as shares of the best one, or of the best of `whole`, of which they are a part."""
    best = max((scores if whole is None else whole).values(), default=0) or 1
    return {unit: score / best for unit, score in scores.items()}
