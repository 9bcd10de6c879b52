"""Headings and introductions of an answer: which ones only lead on to what follows, and state nothing."""

import re

from core.grounding.vocabulary import ALL_NEGATIONS, LEADING_WORDS, PREDICATES, VERBS
from core.text.stop_words import STOP_WORDS

MOST_IN_TITLE = 3
MOST_IN_LEAD = 2
"""Telling words without a verb. More may hide one: `The contract allows smoking:`."""
MOST_BEFORE_VERB = 4
"""Telling words of what breaks off with its verb: `To end the lease, the tenant must:`."""

_NUMBERING = re.compile(r"^\(?(?:\d+|[ivxIVX]+)(?:\.\d+)*[.)]\s*")
_HERE_ARE = re.compile(
    r"(?:here|below|there|these|this|hier|dies|voici|voilà|il y|aquí|estos|estas)\b(?:(?:\s+|')[^\W\d_]+)?",
    re.I,
)
_WORD = re.compile(r"[\u0e00-\u109f\u1780-\u17ff\u3040-\ud7af]{1,2}|[^\W\d_]+(?:['’][^\W\d_]+)*")
"""A script without spaces gives pairs of characters."""
_POINTS_ON = ("follow", "folg", "suivant", "siguiente")
_FUNCTION_WORDS = frozenset[str]().union(*STOP_WORDS.values())


def only_introduces(text: str) -> bool:
    """Whether a heading, or a lead that ends in a colon, says nothing that could be true or false.

    Told by its words alone, and strictly: what has a number, what negates, what says something after its
    verb and what is long states something.
    """
    plain, is_lead = _NUMBERING.sub("", text).strip(), text.endswith(":")
    if plain.endswith("?"):
        return True
    opening = _HERE_ARE.match(plain)
    spoken = [
        word.casefold().replace("’", "'") for word in _WORD.findall(plain[opening.end() if opening else 0 :])
    ]
    telling = [at for at, word in enumerate(spoken) if _tells(word)]
    if any(character.isdigit() for character in plain) and (telling or is_lead):
        return False
    if telling and any(word in ALL_NEGATIONS or word.endswith("n't") for word in spoken):
        return False
    if spoken and spoken[-1].startswith(_POINTS_ON):
        return len(telling) <= MOST_IN_LEAD
    verb = next((at for at, word in enumerate(spoken) if word in VERBS), None)
    if verb is not None:
        return len(telling) <= MOST_BEFORE_VERB and all(at < verb for at in telling)
    if any(spoken[at] in PREDICATES for at in telling[1:]):
        return False
    return len(telling) <= (MOST_IN_LEAD if is_lead else MOST_IN_TITLE)


def _tells(word: str) -> bool:
    return word not in _FUNCTION_WORDS and word not in VERBS and word not in LEADING_WORDS
