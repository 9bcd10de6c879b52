"""Which of several documents a question means, by their file names and the periods they report on."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from core.search.bm25 import idf
from core.search.fuzzy import edits
from core.search.query import Period, find_periods

LONGEST_JOINED = 4
SHORTEST_PREFIX = 4
SHORTEST_TYPO = 6
INITIALS = range(2, 6)

JOINED, PREFIX, INITIALED, MISSPELLED, ABBREVIATED = 1.0, 0.8, 0.8, 0.8, 0.5
OTHER_YEAR, FOLLOWING_YEAR, OTHER_QUARTER, PART_OF_YEAR = 0.5, 0.3, 0.3, 0.5

_EXTENSION = re.compile(r"\.\w{1,5}$")
_CHUNK = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+|\d+")
_DATE = re.compile(r"(?:fy|q[1-4])?(?:(?:19|20)\d\d)?(?:q[1-4])?|fy\d\d(?:q[1-4])?|[1-4]q\d\d|\d{5,}")
_WORD = re.compile(r"[^\W_]+(?:['’&][^\W_]+)*")


class Identity(NamedTuple):
    """What a document is called, and the period that its cover page names."""

    name: str
    period: Period | None


def score_names(question: str, documents: Sequence[Identity]) -> list[float]:
    """From 0 to 1 for each document: how well its file's name fits the question, and it alone."""
    parts = [name_parts(document.name) for document in documents]
    having = Counter(part for found in parts for part in found)
    spoken = _spoken(question)
    worth = {part: _named(part, spoken) * idf(count, len(parts)) for part, count in having.items()}
    scores = [sum(worth[part] for part in found) for found in parts]
    best = max(max(scores, default=0), idf(1, len(parts)))
    return [score / best for score in scores]


def score_periods(asked: Sequence[Period], documents: Sequence[Identity]) -> list[float]:
    """From 0 to 1 for each document: how well its period fits those asked about."""
    return [_fit(asked, document) for document in documents]


def name_parts(name: str) -> list[str]:
    """The words of a file's name and their parts, in one spelling; no extension, years or quarters."""
    chunks = _CHUNK.findall(_EXTENSION.sub("", name).replace("10-", "10"))
    chunks = [chunk for chunk in chunks if not _DATE.fullmatch(chunk.casefold())]
    found = (part.casefold() for chunk in chunks for part in (chunk, *_PART.findall(chunk)))
    return [part for part in dict.fromkeys(found) if len(part) > 1 and not _DATE.fullmatch(part)]


class _Spoken(NamedTuple):
    """A question's capitalised words, its words joined with their neighbours, and runs of initials."""

    capitalised: list[str]
    joined: frozenset[str]
    initials: str


def _spoken(question: str) -> _Spoken:
    written = _WORD.findall(question)
    words = [
        re.sub(r"[^\w]|_", "", word.casefold().removesuffix("'s").removesuffix("’s")) for word in written
    ]
    joined = {
        "".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(start + LONGEST_JOINED, len(words)) + 1)
    }
    initials = "".join(word[0].casefold() if word[0].isupper() else " " for word in written)
    capitalised = [word.casefold() for word in written[1:] if word[0].isupper()]
    return _Spoken(capitalised, frozenset(joined), initials)


def _named(part: str, spoken: _Spoken) -> float:
    """How surely a part of a name is spoken of."""
    if part in spoken.joined:
        return JOINED
    if len(part) >= SHORTEST_PREFIX and not part.isdigit():
        starts = [
            other for other in spoken.joined if len(other) >= SHORTEST_PREFIX and _share_start(part, other)
        ]
        if starts:
            return PREFIX
        if len(part) >= SHORTEST_TYPO and any(edits(part, other, 1) <= 1 for other in spoken.joined):
            return MISSPELLED
    if len(part) in INITIALS and part in spoken.initials:
        return INITIALED
    return ABBREVIATED if any(_abbreviates(part, word) for word in spoken.capitalised) else 0.0


def _abbreviates(part: str, word: str) -> bool:
    """Whether a part without vowels to spare is a ticker-like short form of a word: `msft` of microsoft."""
    if len(part) not in INITIALS[1:] or part[0] != word[0] or len(word) <= len(part) + 1:
        return False
    letters = iter(word)
    return all(letter in letters for letter in part)


def _share_start(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _fit(asked: Sequence[Period], document: Identity) -> float:
    cover = [] if document.period is None else [document.period]
    periods = find_periods(_EXTENSION.sub("", document.name)) or cover
    newest = max(asked, default=None)
    return max(
        (
            _closeness(wanted, period) * (1 if wanted == newest else OTHER_YEAR)
            for wanted in asked
            for period in periods
        ),
        default=0.0,
    )


def _closeness(wanted: Period, period: Period) -> float:
    if wanted.year + 1 == period.year and not wanted.quarter:
        return FOLLOWING_YEAR
    if wanted.year != period.year:
        return 0.0
    if wanted.quarter == period.quarter:
        return 1.0
    if wanted.quarter and period.quarter:
        return OTHER_QUARTER
    return PART_OF_YEAR
