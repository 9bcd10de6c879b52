"""Whether a question is about other contexts than the focus: decided by code, from the names that it has."""

import re
from collections import Counter
from collections.abc import Sequence

from orc.contexts.turn_scope import TurnScope
from orc_core.text.terms import STOP_WORDS, words

_STOPPED = frozenset[str]().union(*STOP_WORDS.values())
_COMPARES = re.compile(
    r"\b(?:compar\w+|versus|vs|as opposed to|differ\w*|unlike|vergl\w+|gegenüber|unterschied\w*)\b",
    re.IGNORECASE,
)


def names_other_context(question: str, scope: TurnScope) -> bool:
    """Whether the question names a context outside of the focus, or compares with one.

    Two words of a name are enough, or one that no other name has; for a comparison any word is.
    """
    near = [_name_words(place.name) for place in scope.places if place.near]
    far_ids = {place.id for place in scope.places if not place.near}
    names = {place.id: place.name for place in scope.places if not place.near}
    names |= {ref.id: ref.name for ref in [*scope.active, *scope.historical] if ref.id in far_ids}
    far = [_name_words(name) for name in names.values()]
    asked = set(_folded(question))
    common = Counter(word for name in [*near, *far] for word in name)
    of_focus = set[str]().union(*near)
    compares = _COMPARES.search(question) is not None
    return any(_is_named(name & asked, name, common, of_focus, compares=compares) for name in far)


def _is_named(
    hits: set[str], name: set[str], common: Counter[str], of_focus: set[str], *, compares: bool
) -> bool:
    if not hits - of_focus:
        return False
    return compares or len(hits) >= min(2, len(name)) or any(common[word] == 1 for word in hits)


def _name_words(name: str) -> set[str]:
    return set(_folded(name)) - _STOPPED


def _folded(text: str) -> Sequence[str]:
    return [word.casefold() for word in words(text)]
