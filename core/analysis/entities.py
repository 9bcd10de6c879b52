"""What a sentence names, and what its spelling and its neighbours say that it is."""

import re
from collections.abc import Iterator, Sequence

from core.analysis.document_context import DocumentContext
from core.analysis.proper_names import PLACES, Token, find_names
from core.analysis.quantities import Mention, find_addresses, find_quantities
from core.analysis.vocabulary import (
    LEGAL_FORMS,
    ORGANIZATION_WORDS,
    PLACE_TYPES,
    ROLE_LEAD_INS,
    ROLES,
    TITLES,
)

_ROLE_AFTER = re.compile(r",\s+((?:[\w’'-]+(?:\s+|(?=[,.;)]|$))){1,8})(?=[,.;)]|$)")
_OFFICES = frozenset(("CEO", "CFO", "COO", "CTO"))


def find_mentions(sentence: str, context: DocumentContext, language: str) -> list[Mention]:
    """Everything that a sentence names, in order and without overlaps."""
    fixed = [*find_addresses(sentence), *find_quantities(sentence)]
    found: list[Mention] = []
    for mention in sorted([*fixed, *_names(sentence, context, language)], key=lambda m: (m.start, -m.end)):
        if not found or mention.start >= found[-1].end:
            found.append(mention)
    return found


def role_of(sentence: str, end: int) -> str | None:
    """The role after a name that ends there: `, chairman and chief executive officer,`."""
    match = _ROLE_AFTER.match(sentence, end)
    if match is None:
        return None
    first = next((word for word in match[1].casefold().split() if word not in ROLE_LEAD_INS), "")
    return match[1].strip() if first in ROLES else None


def _names(sentence: str, context: DocumentContext, language: str) -> Iterator[Mention]:
    for tokens in find_names(sentence, context, language):
        start, end = tokens[0].start, tokens[-1].end
        name = " ".join(sentence[start:end].split())
        yield Mention(start, end, name, _type_of(tokens, name, sentence))


def _type_of(tokens: Sequence[Token], name: str, sentence: str) -> str:
    """person, organization or place where the page says so; else `other`."""
    words = [token.bare for token in tokens]
    first, last, count = words[0], words[-1], len(words)
    if count > 1 and last in LEGAL_FORMS:
        return "organization"
    if name in PLACES:
        return "place"
    if ROLES.isdisjoint(words[1:]) and (
        (first in TITLES and count > 1)
        or _follows_title(tokens[0], sentence)
        or (count in (2, 3) and first not in ROLES and role_of(sentence, tokens[-1].end))
    ):
        return "person"
    if count > 1 and (last in ORGANIZATION_WORDS or _is_institution(tokens)):
        return "organization"
    return "place" if count > 1 and last in PLACE_TYPES else "other"


def _is_institution(tokens: Sequence[Token]) -> bool:
    """`University of ...`, `Universidad de ...`, whatever comes before it."""
    places = [place for place, token in enumerate(tokens) if token.bare in ORGANIZATION_WORDS]
    return bool(places) and any(token.text.islower() for token in tokens[places[0] + 1 :])


def _follows_title(token: Token, sentence: str) -> bool:
    before = sentence[max(0, token.start - 20) : token.start].split()
    return bool(before) and (before[-1] in _OFFICES or before[-1].casefold().rstrip(".") in TITLES)
