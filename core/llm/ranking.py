"""Picks the pieces of a text that answer a question: words, stems and rarity, no model."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import Stemmer

from core.llm.stopwords import STOPWORDS, guess_language

K1, B = 1.2, 0.6
BIGRAM_WEIGHT = 0.5
HEADING_WEIGHT = 0.6
DOCUMENT_WEIGHT = 0.25
FIRST_SOURCE_BONUS = 0.2
DEFINITION_BONUS = 0.4
NUMBER_BONUS = 0.2

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:[.,][0-9]+)*")
_IS_CJK = re.compile(rf"[{_CJK}]")
_ONLY_KANA = re.compile("[\u3040-\u309f]+$")
_ASKS_NUMBER = re.compile(r"\b(how (?:much|many|long|old|often)|what (?:percent|number|amount)|when|cost|price)\b", re.I)
_ASKS_DEFINITION = re.compile(r"\s*(?:what|who) (?:is|are|was|were)\s+(?:an? |the )?([^?,]+)", re.I)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something quotable. `place` counts its source from 0, best source first; `document` is a file name."""

    text: str
    heading: str = ""
    document: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class Scored:
    """How well a candidate answers, and which of the question's terms it holds (with its heading)."""

    score: float
    covered: frozenset[str]


class Terms:
    """Cuts text into comparable terms: stems without stop words, pairs of characters for Chinese and Japanese."""

    def __init__(self, language: str) -> None:
        self._stops = STOPWORDS[language] | STOPWORDS["english"]
        self._stem = Stemmer.Stemmer(language)

    @classmethod
    def for_question(cls, question: str) -> "Terms":
        """For the language that the question seems to be in."""
        return cls(guess_language(words(question)))

    def of(self, text: str) -> list[str]:
        """The terms of a text in order, with repetitions."""
        kept = [word for word in words(text) if word not in self._stops]
        stems: list[str] = self._stem.stemWords(kept)
        return stems


def words(text: str) -> list[str]:
    """Case-folded words; runs of Chinese or Japanese as overlapping pairs of characters."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return [part for word in _WORD.findall(folded) for part in _parts(word)]


def _parts(word: str) -> Iterator[str]:
    if not _IS_CJK.match(word) or len(word) < 3:
        yield word
        return
    pairs = (word[i : i + 2] for i in range(len(word) - 1))
    yield from (pair for pair in pairs if not _ONLY_KANA.match(pair))


@dataclass(slots=True)
class Ranking:
    """Scores candidates against one question; rarity is taken over these candidates."""

    question: str
    candidates: Sequence[Candidate]
    terms: Terms
    asked: tuple[str, ...] = ()
    rarity: dict[str, float] = field(default_factory=dict)
    scored: list[Scored] = field(default_factory=list)

    def __post_init__(self) -> None:
        asked = self.terms.of(self.question)
        self.asked = tuple(dict.fromkeys(asked))
        bodies = [self.terms.of(candidate.text) for candidate in self.candidates]
        headings = [frozenset(self.terms.of(candidate.heading)) for candidate in self.candidates]
        self._weigh(bodies, headings)
        average = sum(map(len, bodies)) / max(1, len(bodies)) or 1.0
        pairs = set(zip(asked, asked[1:], strict=False))
        names = {name: frozenset(self.terms.of(name.replace("_", " "))) for name in {c.document for c in self.candidates}}
        for candidate, body, heading in zip(self.candidates, bodies, headings, strict=True):
            base = self._score(body, heading, names[candidate.document], pairs, average)
            covered = frozenset(term for term in self.asked if term in heading or term in body)
            self.scored.append(Scored(base * self._bonus(candidate, body), covered))

    def coverage(self, covered: frozenset[str]) -> float:
        """The share of the question, weighted by rarity, that these terms make up."""
        total = sum(self.rarity.values())
        return sum(self.rarity[term] for term in covered if term in self.rarity) / total if total else 0.0

    def _weigh(self, bodies: list[list[str]], headings: list[frozenset[str]]) -> None:
        count = len(bodies)
        found = Counter(
            term for body, heading in zip(bodies, headings, strict=True) for term in heading.union(body)
        )
        for term in self.asked:
            self.rarity[term] = math.log(1 + (count - found[term] + 0.5) / (found[term] + 0.5))

    def _score(
        self,
        body: list[str],
        heading: frozenset[str],
        name: frozenset[str],
        pairs: set[tuple[str, str]],
        average: float,
    ) -> float:
        counts = Counter(body)
        norm = K1 * (1 - B + B * len(body) / average)
        total = 0.0
        for term in self.asked:
            own = counts[term] * (K1 + 1) / (counts[term] + norm)
            above = HEADING_WEIGHT * (term in heading) + DOCUMENT_WEIGHT * (term in name)
            total += self.rarity[term] * max(own, own * 0.5 + above)
        together = pairs.intersection(zip(body, body[1:], strict=False))
        return total + BIGRAM_WEIGHT * sum(self.rarity[a] + self.rarity[b] for a, b in together)

    def _bonus(self, candidate: Candidate, body: list[str]) -> float:
        bonus = 1 + FIRST_SOURCE_BONUS / (1 + candidate.place)
        if _ASKS_NUMBER.search(self.question) and _DIGIT.search(candidate.text):
            bonus += NUMBER_BONUS
        if asked := _ASKS_DEFINITION.match(self.question):
            defined = self.terms.of(asked[1])
            if defined and body[: len(defined)] == defined:
                bonus += DEFINITION_BONUS
        return bonus
