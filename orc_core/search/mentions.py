"""Finds out which of several documents a question names, and whether it wants something from each of them."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, pairwise

from orc_core.search.statistics import ScopeStatistics
from orc_core.text.terms import words
from orc_core.text.wording import is_small_talk

OWN_SHARE = 0.9
LONGEST_GAP = 12
"""Words between the names of two documents that a conjunction connects."""

_COMPARES = re.compile(
    r"\b(?:compar\w*|versus|vs|differ\w*|both|respectively|unterschied\w*|vergl\w*|beide\w*|différen\w*"
    r"|deux|diferenci\w*|ambos|ambas|differenz\w*|entrambi)\b",
    re.IGNORECASE,
)
_AND_OR = frozenset("and or und oder et ou y o e".split())
_CONJUNCTIONS = _AND_OR | frozenset("than with als mit que avec con vs versus to".split())

Naming = Mapping[str, frozenset[int]]
"""Words of a question that name documents, and the documents that each of them names."""
Mentions = Sequence[frozenset[str]]
"""For each document: the words of a question that name it and not every other one."""


def compares(text: str) -> bool:
    """Whether a question compares, or asks for what several have or not."""
    return _COMPARES.search(text) is not None


def continues(text: str) -> bool:
    """Whether a question begins with "and" or "or", as the end of another one does."""
    return next(iter(words(text)), "") in _AND_OR


def last_whole(asked: Sequence[str]) -> str:
    """The last of these messages that is neither talk nor the end of the one before it, or nothing."""
    return next((each for each in reversed(asked) if not (continues(each) or is_small_talk(each))), "")


def naming_words(asked: Sequence[str], scope: ScopeStatistics) -> Naming:
    """Words that say which documents are meant, and the documents they name.

    Such a word is on the first page of some documents, and the others hardly use it.
    """
    named = {word: scope.titled(word, OWN_SHARE) for word in asked}
    return {word: documents for word, documents in named.items() if 0 < len(documents) < len(scope.scope)}


def only_names(asked: Sequence[str], naming: Naming, scope: ScopeStatistics) -> frozenset[str]:
    """The naming words that say nothing about a page: on first pages only, or next to such a word."""
    found = {word for word in naming if scope.only_on_first_pages(word)}
    for pair in (*pairwise(asked), *pairwise(reversed(asked))):
        if pair[0] in found and naming.get(pair[1]) == naming[pair[0]]:
            found.add(pair[1])
    return frozenset(found)


def by_document(naming: Naming, count: int) -> Mentions:
    """The naming words of each of `count` documents."""
    return [frozenset(word for word, named in naming.items() if each in named) for each in range(count)]


def documents_meant(text: str, mentions: Mentions) -> frozenset[int]:
    """The documents that a question names separately because it wants something from each of them.

    A document with some of the names of another one is not meant.
    """
    largest = {
        each for each, names in enumerate(mentions) if names and not any(names < other for other in mentions)
    }
    spelled = words(text)
    compared = compares(text)
    meant = set()
    for one, other in combinations(sorted(largest), 2):
        apart = (mentions[one] - mentions[other], mentions[other] - mentions[one])
        if all(apart) and (compared or _connected(spelled, *apart)):
            meant |= {one, other}
    return frozenset(meant)


def _connected(spelled: Sequence[str], one: Collection[str], other: Collection[str]) -> bool:
    """Whether a conjunction is between a word of one side and a word of the other."""
    places = [(at, word in one) for at, word in enumerate(spelled) if word in one or word in other]
    for (start, first), (end, second) in combinations(places, 2):
        if first != second and end - start <= LONGEST_GAP and _CONJUNCTIONS & set(spelled[start + 1 : end]):
            return True
    return False
