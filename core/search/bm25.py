"""BM25 over any units: passages, pages or documents."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

K1 = 1.2
B = 0.75

Counts = Mapping[int, int]
"""How often something occurs, by the number of the unit (passage, page or document) that it occurs in."""

Scores = dict[int, float]


def bm25(occurrences: Iterable[Counts], lengths: Sequence[int]) -> Scores:
    """BM25 of the units with these lengths, from how often each term occurs in each."""
    scores: Scores = defaultdict(float)
    average = sum(lengths) / max(1, len(lengths)) or 1
    for counts in occurrences:
        weight = rarity(len(counts), len(lengths)) * (K1 + 1)
        for unit, count in counts.items():
            scores[unit] += weight * count / (count + K1 * (1 - B + B * lengths[unit] / average))
    return scores


def rarity(having: int, total: int) -> float:
    """BM25's inverse document frequency."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def normalized(scores: Scores, whole: Scores | None = None) -> Scores:
    """Scores as shares of the best one, or of the best of `whole`, of which they are a part."""
    best = max((scores if whole is None else whole).values(), default=0) or 1
    return {unit: score / best for unit, score in scores.items()}
