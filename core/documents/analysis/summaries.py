"""A text's most central sentences, word for word."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.documents.analysis.vocabulary import WEAK_OPENINGS

SHORTEST, LONGEST = 30, 420
MOST_SIGNS = 0.4
TOO_SIMILAR = 0.5
FIRST_BONUS = 0.3
SAID_ONCE = 0.3
WEAK_FACTOR = 0.7
"""What a sentence is worth that leans on the one before it."""
USUAL_LENGTH = 15
LENGTH_POWER = 0.7
"""Between 0, where the longest sentence is always the most central one, and 1, where length is no matter."""

_WEAK_PHRASES = tuple(
    "In addition|In conclusion|For example|In this case|In this way|Zum Beispiel|Por ejemplo".split("|")
)

_NO_LETTERS = re.compile(r"[\W\d_]+")
_NO_PROSE = re.compile(
    r"[@|]|://|www\.|\bProceedings of\b|arXiv:|\bdoi\b|\bpp\.\s\d|[a-z]\.\d{1,2}\s(?:\d\s)?[A-Z]"
)
"""Addresses, bibliographies, and sentences that a footnote's number has joined."""

Rarity = Callable[[str], float]


@dataclass(frozen=True)
class Candidate:
    """A sentence with its terms; `weight` says how fit it is for a summary whatever it says."""

    text: str
    terms: tuple[str, ...]
    weight: float = 1.0


def central(candidates: Sequence[Candidate], count: int, rarity: Rarity) -> list[str]:
    """The `count` sentences that say most of what all say, in their order, each something of its own."""
    picked: list[int] = []
    for index in _ranked(candidates, rarity):
        if len(picked) == count:
            break
        if all(_likeness(candidates[index], candidates[other]) < TOO_SIMILAR for other in picked):
            picked.append(index)
    return [candidates[index].text for index in sorted(picked)]


def opens_weakly(sentence: str) -> bool:
    """Whether a sentence leans on what comes before it."""
    first = sentence.split(maxsplit=1)[0] if sentence.strip() else ""
    return first.casefold().strip(",;:") in WEAK_OPENINGS or sentence.startswith(_WEAK_PHRASES)


def is_fit(sentence: str) -> bool:
    """Whether a sentence has a length that a summary can use, and is made of words."""
    shortest = SHORTEST if sentence.isascii() else SHORTEST / 2
    if not shortest <= len(sentence) <= LONGEST:
        return False
    others = sum(map(len, _NO_LETTERS.findall(sentence)))
    return others < len(sentence) * MOST_SIGNS and not _NO_PROSE.search(sentence)


def _ranked(candidates: Sequence[Candidate], rarity: Rarity) -> list[int]:
    total = Counter(term for candidate in candidates for term in set(candidate.terms))
    weight = {
        term: math.sqrt(times) * rarity(term) if times > 1 else SAID_ONCE * rarity(term)
        for term, times in total.items()
    }
    scores = [
        (1 + FIRST_BONUS / (1 + place)) * candidate.weight * _centrality(candidate, weight)
        for place, candidate in enumerate(candidates)
    ]
    return sorted(range(len(candidates)), key=lambda index: -scores[index])


def _centrality(candidate: Candidate, weight: dict[str, float]) -> float:
    own = set(candidate.terms)
    return sum(weight[term] for term in own) / math.pow(len(own) + USUAL_LENGTH, LENGTH_POWER)


def _likeness(one: Candidate, other: Candidate) -> float:
    mine, its = set(one.terms), set(other.terms)
    return len(mine & its) / (min(len(mine), len(its)) or 1)
