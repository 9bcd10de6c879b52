"""Picks the pieces of a text that answer a question: words, stems and rarity, no model."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from core.text.terms import detect_language, has_digit, question_words, stems, words

K1, B = 1.2, 0.6
PAIR_WEIGHT = 0.5
HEADING_WEIGHT = 0.6
DOCUMENT_WEIGHT = 0.25
FIRST_SOURCE_BONUS = 0.2
DEFINITION_BONUS = 0.4
NUMBER_BONUS = 0.2
COMMON_SHARE = 0.2
"""What a term counts for in coverage even where every candidate has it, against the rarest one."""
FRAGMENT_FACTOR = 0.7
"""For what was cut out of a sentence."""

_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:much|many|long|old|often)|what (?:percent|number|amount)|when)\b", re.I
)
_ASKS_DEFINITION = re.compile(r"\s*(?:what|who) (?:is|are|was|were)\s+(?:an? |the )?([^?,]+)", re.I)
_ONLY_KANA = re.compile("[\u3040-\u309f]+$")
_DULL = frozenset(
    "also find get given go happen help just know let list make many me mean mention most much must my need "
    "only other page part please provide regarding same say see show some such take tell too use used using "
    "various want".split()
)

Terms = frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something quotable. `place` counts its source from 0, best source first; `document` is a file name."""

    text: str
    heading: str = ""
    document: str = ""
    place: int = 0
    is_fragment: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """How well a candidate answers. `terms` are its own; `covered` are the question's, with its heading's.

    `paired`: two neighbouring terms of the question stand together in it or in its heading.
    """

    score: float
    paired: bool
    terms: Terms
    covered: Terms
    document_terms: Terms


class Question:
    """What is asked, as comparable terms."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.language = detect_language(words(text))
        asked = question_words(text)
        telling = [word for word in asked if word not in _DULL and not _ONLY_KANA.match(word)]
        in_order = self._stems(telling) or self._stems(asked)
        self.terms = tuple(dict.fromkeys(in_order))
        self.tells = bool(self._stems(telling))
        self.pairs = frozenset(pairwise(in_order))
        self.asks_number = _ASKS_NUMBER.search(text) is not None
        defined = _ASKS_DEFINITION.match(text)
        self.defined = self.terms_of(defined[1]) if defined else []

    def terms_of(self, text: str) -> list[str]:
        """The terms of a text, cut as the question's are, in order and with repetitions."""
        return self._stems(words(text))

    def _stems(self, spelled: list[str]) -> list[str]:
        return [stem for stem in stems(spelled, self.language) if stem]


class Ranking:
    """Candidates scored against a question, each at its index in `scored`; rarity is taken over them all."""

    def __init__(self, question: Question, candidates: Sequence[Candidate]) -> None:
        self.question = question
        bodies = [question.terms_of(candidate.text) for candidate in candidates]
        headings = {text: question.terms_of(text) for text in {candidate.heading for candidate in candidates}}
        names = {
            name: frozenset(question.terms_of(_spoken(name))) for name in {c.document for c in candidates}
        }
        above = [headings[candidate.heading] for candidate in candidates]
        self.rarity = _rarity(
            question.terms, [{*one, *other} for one, other in zip(above, bodies, strict=True)]
        )
        self._average = sum(map(len, bodies)) / max(1, len(bodies)) or 1.0
        self.scored = [
            self._scored(candidate, body, heading, names[candidate.document])
            for candidate, body, heading in zip(candidates, bodies, above, strict=True)
        ]

    def coverage(self, terms: Iterable[str]) -> float:
        """The share of the question that these terms make up, rare ones counting for more."""
        least = COMMON_SHARE * max(self.rarity.values(), default=0.0)
        weights = {term: least + rarity for term, rarity in self.rarity.items()}
        return sum(weights.get(term, 0.0) for term in set(terms)) / (sum(weights.values()) or 1.0)

    def _scored(self, candidate: Candidate, body: list[str], above: list[str], name: Terms) -> Scored:
        counts, heading = Counter(body), frozenset(above)
        norm = K1 * (1 - B + B * len(body) / self._average)
        score = 0.0
        for term, rarity in self.rarity.items():
            own = counts[term] * (K1 + 1) / (counts[term] + norm)
            beside = HEADING_WEIGHT * (term in heading) + DOCUMENT_WEIGHT * (term in name)
            score += rarity * max(own, own / 2 + beside)
        together = self.question.pairs.intersection(pairwise(body))
        score += PAIR_WEIGHT * sum(self.rarity[one] + self.rarity[other] for one, other in together)
        own_terms, asked = frozenset(body), frozenset(self.rarity)
        return Scored(
            score=score * self._factor(candidate, body),
            paired=bool(together or self.question.pairs.intersection(pairwise(above))),
            terms=own_terms,
            covered=asked & (own_terms | heading),
            document_terms=asked & name,
        )

    def _factor(self, candidate: Candidate, body: list[str]) -> float:
        factor = 1 + FIRST_SOURCE_BONUS / (1 + candidate.place)
        defined = self.question.defined
        if self.question.asks_number and has_digit(candidate.text):
            factor += NUMBER_BONUS
        if defined and body[: len(defined)] == defined:
            factor += DEFINITION_BONUS
        return factor * FRAGMENT_FACTOR if candidate.is_fragment else factor


def _rarity(asked: Sequence[str], found_in: list[set[str]]) -> dict[str, float]:
    found = Counter(term for terms in found_in for term in terms)
    count = len(found_in)
    return {term: math.log(1 + (count - found[term] + 0.5) / (found[term] + 0.5)) for term in asked}


def _spoken(file_name: str) -> str:
    return PurePath(file_name).stem.replace("_", " ")
