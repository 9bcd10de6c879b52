"""Finds out which of several documents a question means, by their names and the periods they report on."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from orc_core.search.bm25 import idf
from orc_core.search.fuzzy import edits
from orc_core.search.query import Period, find_periods

LONGEST_JOINED = 4
SHORTEST_PREFIX = 4
SHORTEST_TYPO = 6
INITIALS = range(2, 6)

JOINED, PREFIX, INITIALS_MATCH, MISSPELLED, ABBREVIATED = 1.0, 0.8, 0.8, 0.8, 0.5
OTHER_YEAR, FOLLOWING_YEAR, OTHER_QUARTER, PART_OF_YEAR = 0.5, 0.3, 0.3, 0.5

_EXTENSION = re.compile(r"\.\w{1,5}$")
_CHUNK = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+|\d+")
_DATE = re.compile(r"(?:fy|q[1-4])?(?:(?:19|20)\d\d)?(?:q[1-4])?|fy\d\d(?:q[1-4])?|[1-4]q\d\d|\d{5,}")
_WORD = re.compile(r"[^\W_]+(?:['’&][^\W_]+)*")


def score_names(question: str, names: Sequence[str]) -> list[float]:
    """For each file name: from 0 to 1, how well it and no other name fits the question."""
    parts = [name_parts(name) for name in names]
    having = Counter(part for found in parts for part in found)
    asked = _question_names(question)
    weights = {part: _mention(part, asked) * idf(count, len(parts)) for part, count in having.items()}
    scores = [sum(weights[part] for part in found) for found in parts]
    best = max(max(scores, default=0), idf(1, len(parts)))
    return [score / best for score in scores]


def score_periods(asked: Sequence[Period], reported: Sequence[Sequence[Period]]) -> list[float]:
    """For each document, given as the periods it reports on: from 0 to 1, how well they fit those asked."""
    newest = max(asked, default=None)
    weights = {wanted: 1.0 if wanted == newest else OTHER_YEAR for wanted in asked}
    return [
        max(
            [0.0, *(weights[wanted] * _closeness(wanted, period) for wanted in weights for period in periods)]
        )
        for periods in reported
    ]


def reported_periods(name: str, cover: Period | None) -> list[Period]:
    """The periods in a file's name, and the one that its first page names if the name has no other year.

    A name with the quarter in which a year ends does not say whether the year or the quarter is reported.
    """
    named = find_periods(_EXTENSION.sub("", name))
    if cover is None or (named and cover.year not in {period.year for period in named}):
        return named
    return list(dict.fromkeys([*named, cover]))


def name_parts(name: str) -> list[str]:
    """The words of a file name and their parts, in one spelling, without extension, years and quarters."""
    pieces = _CHUNK.findall(_EXTENSION.sub("", name).replace("10-", "10"))
    pieces = [piece for piece in pieces if not _DATE.fullmatch(piece.casefold())]
    found = (part.casefold() for piece in pieces for part in (piece, *_PART.findall(piece)))
    return [part for part in dict.fromkeys(found) if len(part) > 1 and not _DATE.fullmatch(part)]


class _QuestionNames(NamedTuple):
    """A question's capitalised words, its words joined with their neighbours, and its initials."""

    capitalised: list[str]
    joined: frozenset[str]
    initials: str


def joined_words(question: str) -> frozenset[str]:
    """The words of a question, and up to four neighbouring ones joined, as names of files have them."""
    return _question_names(question).joined


def _question_names(question: str) -> _QuestionNames:
    written = _WORD.findall(question)
    bare = (word.casefold().removesuffix("'s").removesuffix("’s") for word in written)
    words = [re.sub(r"[^\w]|_", "", word) for word in bare]
    sizes = range(1, LONGEST_JOINED + 1)
    joined = {"".join(words[start : start + size]) for start in range(len(words)) for size in sizes}
    initials = "".join(word[0].casefold() if word[0].isupper() else " " for word in written)
    capitalised = [word.casefold() for word in written[1:] if word[0].isupper()]
    return _QuestionNames(capitalised, frozenset(joined), initials)


def _mention(part: str, asked: _QuestionNames) -> float:
    """From 0 to 1: how surely a question mentions a part of a name."""
    if part in asked.joined:
        return JOINED
    if len(part) >= SHORTEST_PREFIX and not part.isdigit():
        long = [other for other in asked.joined if len(other) >= SHORTEST_PREFIX]
        if any(part.startswith(other) or other.startswith(part) for other in long):
            return PREFIX
        if len(part) >= SHORTEST_TYPO and any(edits(part, other, 1) <= 1 for other in asked.joined):
            return MISSPELLED
    if len(part) in INITIALS and part in asked.initials:
        return INITIALS_MATCH
    return ABBREVIATED if any(_abbreviates(part, word) for word in asked.capitalised) else 0.0


def _abbreviates(part: str, word: str) -> bool:
    """Whether a part is a short form of a word, as a ticker symbol is: `msft` of microsoft."""
    if len(part) not in INITIALS[1:] or part[0] != word[0] or len(word) <= len(part) + 1:
        return False
    letters = iter(word)
    return all(letter in letters for letter in part)


def _closeness(wanted: Period, period: Period) -> float:
    if wanted.year + 1 == period.year and not wanted.quarter:
        return FOLLOWING_YEAR
    if wanted.year != period.year:
        return 0.0
    if wanted.quarter == period.quarter:
        return 1.0
    return OTHER_QUARTER if wanted.quarter and period.quarter else PART_OF_YEAR
