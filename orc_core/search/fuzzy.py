"""Compares words that are nearly the same: misspelled, shortened, or joined."""

from collections import Counter
from collections.abc import Iterable

SHORTEST_REPAIRED = 6
LONG_WORD = 8
SHORTEST_PREFIX = 4
LEAST_SIMILAR = 0.6
LONGEST_COMPARED = 64
"""Letters; longer words are compared as a whole only: the time grows with the square of the length."""


def edits(one: str, other: str, most: int) -> int:
    """The number of letters to change, add, drop or swap; `most + 1` if there are more than `most`."""
    if one == other:
        return 0
    if abs(len(one) - len(other)) > most or len(one) > LONGEST_COMPARED:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        twice_before, before, row = before, row, [i]
        for j, compared in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != compared))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == compared:
                cost = min(cost, twice_before[j - 2] + 1)
            row.append(cost)
        if min(*row, *before) > most:
            return most + 1
    return min(row[-1], most + 1)


def misspelling_of(word: str, terms: Iterable[str]) -> str | None:
    """The term that the word is most likely a misspelling of; None if it is close to none."""
    if len(word) < SHORTEST_REPAIRED:
        return None
    allowed = 1 if len(word) < LONG_WORD else 2
    letters, in_one_spelling = Counter(word), word.replace("z", "s")
    near = (
        (distance, term.replace("z", "s") != in_one_spelling, term)
        for term in terms
        if (distance := _distance(word, letters, term, allowed)) <= allowed
    )
    best = min(near, default=None)
    return best[2] if best else None


def resembles(word: str, term: str) -> bool:
    """Whether one starts with the other, they share most of their letter pairs, or one letter is wrong."""
    shorter, longer = sorted((word, term), key=len)
    if longer.startswith(shorter) and len(shorter) >= min(SHORTEST_PREFIX, len(longer) - 1):
        return True
    if min(len(word), len(term)) < SHORTEST_PREFIX:
        return False
    return _one_edit_apart(shorter, longer) or _shared_pairs(word, term) >= LEAST_SIMILAR


def _one_edit_apart(shorter: str, longer: str) -> bool:
    """Whether `edits` would return 0 or 1, at less cost."""
    if len(longer) - len(shorter) > 1:
        return False
    start = 0
    while start < len(shorter) and shorter[start] == longer[start]:
        start += 1
    one, other = shorter[start:], longer[start:]
    if len(one) < len(other):
        return one == other[1:]
    return one[1:] == other[1:] or (one[1::-1] == other[:2] and one[2:] == other[2:])


def _distance(word: str, letters: Counter[str], term: str, most: int) -> int:
    if len(term) >= SHORTEST_REPAIRED and word.startswith(term):
        return 1  # an ending that the stemmer does not know
    if abs(len(term) - len(word)) > most or (Counter(term) - letters).total() > most:
        return most + 1
    return edits(word, term, most)


def _shared_pairs(one: str, other: str) -> float:
    if max(len(one), len(other)) > LONGEST_COMPARED:
        return 0.0
    if 2 * (min(len(one), len(other)) - 1) < LEAST_SIMILAR * (len(one) + len(other) - 2):
        return 0.0  # the shorter one has too few pairs
    first, second = ([word[i : i + 2] for i in range(len(word) - 1)] for word in (one, other))
    total = len(first) + len(second)
    for pair in first:
        if pair in second:
            second.remove(pair)
    return 2 * (total - len(first) - len(second)) / total
