"""What a sentence says of what it names: relations that a pattern finds for sure."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from core.analysis.entities import role_of
from core.analysis.models import Relation
from core.analysis.quantities import Mention
from core.analysis.vocabulary import ACTIVE_VERBS, ARTICLES, CONDITIONS, HELPERS, PASSIVE_VERBS
from core.grounding.vocabulary import ALL_NEGATIONS

REFERS_TO = "refers to"
ABBREVIATED_AS = "abbreviated as"
DEFINED_AS = "defined as"
HOLDS_ROLE = "holds the role of"
LONGEST_EVIDENCE = 500
LONGEST_GAP = 60
NAMES = frozenset({"person", "organization", "place", "product", "term", "other"})

_WORD = re.compile(r"[^\W\d_]+")
_PREPOSITION = re.compile(
    r"\b(?:of|in|from|with|by|to|at|for|under|von|bei|mit|aus|de|del|en|con|du|des|di|y|et)\s+(?:the\s+)?$",
    re.I,
)


def _alternatives(verbs: dict[str, str]) -> str:
    return "|".join(sorted(("|".join(verbs.values())).split("|"), key=len, reverse=True)).replace(" ", r"\s")


def _types(verbs: dict[str, str]) -> dict[str, str]:
    return {wording: kind for kind, wordings in verbs.items() for wording in wordings.split("|")}


_CLAUSE = r"(?:that|which|who|what|how|of|to|in|on|for|with|from|by|and|or|dass|zu|von|que|de|di|y|et)\b"
"""What follows one of these is not the object itself."""
_LEAD_IN = rf"(?:\s(?:{'|'.join(HELPERS)})){{0,2}}"
_OBJECT = rf"(?:\s(?:{'|'.join(ARTICLES)}))?(?:\s(?!{_CLAUSE})[^\W\d_-]+(?:-[^\W\d_]+)*)??"
_ACTIVE = re.compile(rf"{_LEAD_IN}\s(?P<verb>{_alternatives(ACTIVE_VERBS)})(?P<object>{_OBJECT})\s", re.I)
_PASSIVE = re.compile(rf"{_LEAD_IN}\s(?P<verb>{_alternatives(PASSIVE_VERBS)})(?P<object>{_OBJECT})\s", re.I)
_ACTIVE_TYPES, _PASSIVE_TYPES = _types(ACTIVE_VERBS), _types(PASSIVE_VERBS)


def find_statements(sentence: str, mentions: Sequence[Mention]) -> Iterator[Relation]:
    """The relations between two things that a sentence names, where it states and does not deny them."""
    for mention in mentions:
        if mention.type == "person" and (role := role_of(sentence, mention.end)):
            yield Relation(
                source=mention.name, type=HOLDS_ROLE, target=role, evidence=excerpt(sentence, mention.start)
            )
    if sentence.rstrip().endswith("?"):
        return
    for one, other in pairwise(mentions):
        gap = sentence[one.end : other.start]
        if one.type not in NAMES or not 3 <= len(gap) <= LONGEST_GAP or not _is_stated(sentence, one, other):
            continue
        if relation := _between(one, gap, other):
            source, kind, target = relation
            yield Relation(source=source, type=kind, target=target, evidence=excerpt(sentence, one.start))


def excerpt(sentence: str, at: int) -> str:
    """The sentence, or what stands around one place in it where it is too long; cut between words."""
    if len(sentence) <= LONGEST_EVIDENCE:
        return sentence
    start = max(0, at - LONGEST_EVIDENCE // 3)
    start = sentence.rfind(" ", 0, start) + 1 if start else 0
    end = sentence.rfind(" ", start, start + LONGEST_EVIDENCE)
    return sentence[start : end if end > at else start + LONGEST_EVIDENCE]


def _is_stated(sentence: str, one: Mention, other: Mention) -> bool:
    """Whether nothing before or between denies or conditions it, and both stand for themselves."""
    said = {word.casefold() for word in _WORD.findall(sentence[: other.start])}
    if said & ALL_NEGATIONS or said & set(CONDITIONS):
        return False
    return not _PREPOSITION.search(sentence, 0, one.start) and sentence[other.end : other.end + 1] not in (
        "’",
        "'",
    )


def _between(one: Mention, gap: str, other: Mention) -> tuple[str, str, str] | None:
    for pattern, types, is_passive in ((_PASSIVE, _PASSIVE_TYPES, True), (_ACTIVE, _ACTIVE_TYPES, False)):
        if match := pattern.fullmatch(gap):
            kind = (
                types[" ".join(match["verb"].split())]
                if match["verb"] in types
                else types.get(match["verb"].lower())
            )
            if kind is None or not _fits(kind, other):
                return None
            target = other.name
            return (target, kind, one.name) if is_passive else (one.name, kind, target)
    return None


def _fits(kind: str, target: Mention) -> bool:
    """Only what costs something costs an amount, and only amounts are costs."""
    if kind == "costs":
        return target.type == "amount"
    return target.type in NAMES or target.type == "topic"
