"""BM25 (Robertson and Spärck Jones) over numbered units: passages, pages, documents or single sentences."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from orc_core.text.terms import base_stems, detect_language, question_words, words
from orc_core.text.wording import GENERIC_WORDS

K1 = 1.2
B = 0.75
FLOOR = 0.2
"""Weight of a term that every text contains, relative to the rarest one, if weights are floored."""

Counts = Mapping[int, int]
"""Occurrences of a term, by the number of the unit."""

Scores = dict[int, float]


def bm25(occurrences: Iterable[Counts], lengths: Sequence[int]) -> Scores:
    """BM25 of the units with these lengths, from how often each term occurs in each."""
    scores: Scores = defaultdict(float)
    average, asked = average_length(lengths), list(occurrences)
    known: dict[int, list[tuple[int, float]]] = {}  # a long question repeats its words
    for counts in asked:
        if id(counts) not in known:
            weight = idf(len(counts), len(lengths))
            known[id(counts)] = [
                (unit, weight * saturation(count, lengths[unit] / average)) for unit, count in counts.items()
            ]
        for unit, score in known[id(counts)]:
            scores[unit] += score
    return scores


def idf(containing: int, total: int) -> float:
    """The inverse document frequency of a term that `containing` of `total` units contain; above 0."""
    return math.log(1 + (total - containing + 0.5) / (containing + 0.5))


def saturation(count: int, relative_length: float, b: float = B) -> float:
    """BM25's term frequency, below K1 + 1; `relative_length` is the unit's length over the average."""
    return (K1 + 1) * count / (count + K1 * (1 - b + b * relative_length))


def average_length(lengths: Collection[int]) -> float:
    """The mean length of units, 1 if there are none or all are empty."""
    return sum(lengths) / max(1, len(lengths)) or 1.0


def idf_of_terms(terms: Iterable[str], texts: Sequence[Collection[str]]) -> dict[str, float]:
    """The inverse document frequency of each term over texts, each given as its distinct terms."""
    containing = Counter(term for text in texts for term in text)
    return {term: idf(containing[term], len(texts)) for term in terms}


def floored(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights raised by a share of the largest, so that a term that every text contains still counts."""
    least = FLOOR * max(weights.values(), default=0.0)
    return {term: least + weight for term, weight in weights.items()}


def relative_scores(scores: Scores, whole: Scores | None = None) -> Scores:
    """Scores as shares of the best one, or of the best of `whole`, of which they are a part."""
    best = max((scores if whole is None else whole).values(), default=0) or 1
    return {unit: score / best for unit, score in scores.items()}


LENGTH_B = 0.6
"""BM25's `b` for sentences, whose lengths differ less than those of pages."""
PAIR_WEIGHT = 0.5
HEADING_WEIGHT = 0.6
DOCUMENT_WEIGHT = 0.25
FIRST_SOURCE_BONUS = 0.2
DEFINITION_BONUS = 0.4
FRAGMENT_FACTOR = 0.7
"""The factor for a candidate that was cut out of a sentence."""

_ASKS_DEFINITION = re.compile(
    r"\s*(?:(?:what|who|how (?:much|high|long)) (?:is|are|was|were)|(?:was|wer|wie hoch) (?:ist|sind)"
    r"|(?:quel(?:le)?s?|qui) (?:est|sont)|(?:cuál(?:es)?|qué|quién) (?:es|son))"
    r"\s+(?:an? |the |de[rnms] |die |das |l[ae'’] ?|les |el |l[oa]s )?([^?,]+)",
    re.I,
)
_STATED = re.compile(
    r"\b((?:[^\W\d_]++ ){0,3}[^\W\d_]++)"
    r"(?: is| are| was| were| amounts? to| means| ist| sind| beträgt| betragen| bezeichnet| est| sont"
    r"| désigne| es| son|:)"
    r" (?:(?-i:[A-ZÄÖÜÉ])|[\d$€£¥]|(?:an?|the|eine?|der|die|das|une?|l[ea]s?|el|un[oa]?)\b)",
    re.I,
)
"""The thing that a sentence defines or describes: `The new rent is ...`."""
_ONLY_KANA = re.compile("[\u3040-\u309f]+$")
Terms = frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece of text to rank. `source` counts its source from 0, best first; `document` is a file name."""

    text: str
    heading: str = ""
    document: str = ""
    source: int = 0
    is_fragment: bool = False


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """How well a candidate matches. `covered` are the question's terms in it or its heading."""

    score: float
    covered: Terms


class QuestionTerms:
    """The terms of a question. `is_specific`: it has words that say what it is about."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.language = detect_language(words(text))
        asked = question_words(text)
        specific = [word for word in asked if word not in GENERIC_WORDS and not _ONLY_KANA.match(word)]
        about = self._stems(specific)
        in_order = about or self._stems(asked)
        self.terms = tuple(dict.fromkeys(in_order))
        self.is_specific = bool(about)
        self.pairs = frozenset(pairwise(in_order))
        defined = _ASKS_DEFINITION.match(text)
        self.defined = self.terms_of(defined[1]) if defined else []

    def terms_of(self, text: str) -> list[str]:
        """The terms of a text, stemmed as the question's are, in order and with repetitions."""
        return self._stems(words(text))

    def _stems(self, spelled: list[str]) -> list[str]:
        return [stem for stem in base_stems(spelled, self.language) if stem]


def coverage(weights: Mapping[str, float], terms: Iterable[str]) -> float:
    """The share of all weights that the weights of these terms make up."""
    covered = sum(weights.get(term, 0.0) for term in set(terms))
    return covered / (sum(weights.values()) or 1.0)


class TextRanking:
    """The scores of candidates, in their order; all statistics are those of the candidates."""

    def __init__(self, question: QuestionTerms | str, candidates: Sequence[Candidate]) -> None:
        self.question = QuestionTerms(question) if isinstance(question, str) else question
        terms_of = self.question.terms_of
        bodies = [terms_of(candidate.text) for candidate in candidates]
        headings = {text: terms_of(text) for text in {candidate.heading for candidate in candidates}}
        files = {candidate.document for candidate in candidates}
        names = {name: frozenset(terms_of(PurePath(name).stem.replace("_", " "))) for name in files}
        above = [headings[candidate.heading] for candidate in candidates]
        texts = [{*heading, *body} for heading, body in zip(above, bodies, strict=True)]
        self._idf = idf_of_terms(self.question.terms, texts)
        self._weights = floored(self._idf)
        self._average = average_length([len(body) for body in bodies])
        self.scores = [
            self._score(candidate, body, heading, names[candidate.document])
            for candidate, body, heading in zip(candidates, bodies, above, strict=True)
        ]

    def best_first(self) -> list[int]:
        """The indexes of all candidates, best first."""
        return sorted(range(len(self.scores)), key=lambda index: -self.scores[index].score)

    def matching(self) -> list[int]:
        """The indexes of the candidates that share a term with the question, best first."""
        return [index for index in self.best_first() if self.scores[index].covered]

    def coverage(self, terms: Iterable[str]) -> float:
        """The share of the question that these terms make up; rare terms count more."""
        return coverage(self._weights, terms)

    def _is_stated_in(self, text: str) -> bool:
        """Whether the text says what the thing is, if the question asks what it is."""
        defined = set(self.question.defined)
        return any(defined <= set(self.question.terms_of(found)) for found in _STATED.findall(text))

    def _score(self, candidate: Candidate, body: list[str], above: list[str], name: Terms) -> CandidateScore:
        counts, heading = Counter(body), frozenset(above)
        relative_length = len(body) / self._average
        score = 0.0
        for term, weight in self._idf.items():
            if term not in counts and term not in heading and term not in name:
                continue
            own = saturation(counts[term], relative_length, LENGTH_B)
            around = HEADING_WEIGHT * (term in heading) + DOCUMENT_WEIGHT * (term in name)
            score += weight * max(own, own / 2 + around)
        pairs = self.question.pairs.intersection(pairwise(body))
        score += PAIR_WEIGHT * sum(self._idf[one] + self._idf[other] for one, other in pairs)
        own_terms, asked = frozenset(body), frozenset(self._idf)
        defined = self.question.defined
        factor = 1 + FIRST_SOURCE_BONUS / (1 + candidate.source)
        is_defined = bool(defined) and own_terms.issuperset(defined) and self._is_stated_in(candidate.text)
        factor += DEFINITION_BONUS * is_defined
        return CandidateScore(
            score=score * (factor * FRAGMENT_FACTOR if candidate.is_fragment else factor),
            covered=asked & (own_terms | heading),
        )
