"""Scores passages by where the words of a question stand; all statistics are those of the scope alone."""

import heapq
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from core.documents.terms import question_words

K1 = 1.2
B = 0.75
PAIR_WEIGHT = 0.4
PASSAGE_WEIGHT = 0.3
HEADING_WEIGHT = 0.15
DOCUMENT_WEIGHT = 0.3
NUMBER_WEIGHT = 1.0
FULL_PAGE_TERMS = 30

_ASKS_FOR_NUMBER = re.compile(
    r"\bhow (?:much|many|large|big|high|low|old|long|often)\b"
    r"|\b(?:amounts?|average|changed?|decreased?|difference in|growth|grow|grew|increased?|margin|number of"
    r"|percent|percentage|price|rate|ratio|revenue|sum|total)\b"
    r"|\bwie ?(?:viele?|hoch|groß|lange|alt)\b|\bcuánt[oa]s?\b|\bcombien\b|\bquant[oaie]\b|\bquant[oa]s\b"
    r"|\bhoeveel\b|\bсколько\b|多少|几|何(?:人|年|個|円)|いくつ|いくら|얼마|몇",
    re.IGNORECASE,
)

Counts = Mapping[int, int]
"""How often something occurs, by the number of the unit (passage, page or document) that it occurs in."""

Scores = dict[int, float]


class Question(NamedTuple):
    """What is asked: its telling words in order, and whether the answer is likely a number."""

    words: list[str]
    numeric: bool

    @classmethod
    def parse(cls, text: str) -> "Question":
        return cls(question_words(text), _ASKS_FOR_NUMBER.search(text) is not None)


class Layout(NamedTuple):
    """How a document's terms are spread over its passages.

    A passage has its page, the position of its first term, and how many of its terms have a digit.
    Positions count the document's terms and leave one free after each passage; the last of `starts` is
    where another passage would start.
    """

    pages: Sequence[int]
    starts: Sequence[int]
    digits: Sequence[int]


class Evidence(NamedTuple):
    """What one document has of a question's words, by the word's index in the question.

    `positions` are the word's own; `headings` are the passages that have it in their heading.
    """

    layout: Layout
    positions: Mapping[int, Sequence[int]]
    headings: Mapping[int, Sequence[int]]


class Match(NamedTuple):
    """A passage that shares words with the question: its document's and its own index, and its score."""

    document: int
    passage: int
    score: float


def rank_passages(question: Question, scope: Sequence[Evidence], top_k: int) -> list[Match]:
    """The best matching passages, best first; their distinct pages in this order rank the pages."""
    table = ScopeTable(scope)
    by_word = table.word_counts()
    pages = score_pages(question, table, by_word)
    scores = {
        passage: pages[table.page_of[passage]] + PASSAGE_WEIGHT * score
        for passage, score in normalized(bm25(by_word, table.passage_lengths)).items()
    }
    best = heapq.nsmallest(top_k, scores, key=lambda passage: (-scores[passage], passage))
    return [Match(*table.locate(passage), scores[passage]) for passage in best]


class ScopeTable:
    """The passages and pages of several documents, numbered through."""

    def __init__(self, scope: Sequence[Evidence]) -> None:
        self._scope = scope
        self.document_count = len(scope)
        self._first_passages: list[int] = []
        self._first_pages: list[int] = []
        self.page_of: list[int] = []
        self.passage_lengths: list[int] = []
        self.page_lengths: list[int] = []
        self.page_digits: list[int] = []
        for evidence in scope:
            self._add(evidence.layout)

    def _add(self, layout: Layout) -> None:
        self._first_passages.append(len(self.page_of))
        self._first_pages.append(len(self.page_lengths))
        previous = None
        for passage, page in enumerate(layout.pages):
            if page != previous:
                self.page_lengths.append(0)
                self.page_digits.append(0)
                previous = page
            length = layout.starts[passage + 1] - layout.starts[passage] - 1
            self.page_of.append(len(self.page_lengths) - 1)
            self.passage_lengths.append(length)
            self.page_lengths[-1] += length
            self.page_digits[-1] += layout.digits[passage]

    def locate(self, passage: int) -> tuple[int, int]:
        """The document's index in the scope and the passage's in the document."""
        document = bisect_right(self._first_passages, passage) - 1
        return document, passage - self._first_passages[document]

    def document_of(self, page: int) -> int:
        """The index of a page's document."""
        return bisect_right(self._first_pages, page) - 1

    def word_counts(self) -> list[Counts]:
        """For each word found: how often each passage has it."""
        return self._count(evidence.positions for evidence in self._scope)

    def pair_counts(self) -> list[Counts]:
        """For each two words that follow each other in the question: how often they do in each passage."""
        return self._count(adjacent(evidence.positions) for evidence in self._scope)

    def heading_counts(self) -> list[Counts]:
        """For each word found in headings: the pages that have it in one."""
        pages: dict[int, dict[int, int]] = defaultdict(dict)
        for first, evidence in zip(self._first_passages, self._scope, strict=True):
            for word, passages in evidence.headings.items():
                pages[word].update((self.page_of[first + passage], 1) for passage in passages)
        return list(pages.values())

    def first_page_counts(self, by_page: Sequence[Counts]) -> list[Counts]:
        """For each word: the documents that have it on their first page."""
        firsts = list(enumerate(self._first_pages))
        return [{document: 1 for document, page in firsts if page in counts} for counts in by_page]

    def by_page(self, counts_by_passage: Iterable[Counts]) -> list[Counts]:
        """Counts by passage, added up by page."""
        return [self._add_up(counts) for counts in counts_by_passage]

    def _add_up(self, counts: Counts) -> Counts:
        pages: dict[int, int] = defaultdict(int)
        for passage, count in counts.items():
            pages[self.page_of[passage]] += count
        return pages

    def _count(self, positions_by_word: Iterable[Mapping[int, Sequence[int]]]) -> list[Counts]:
        counts: dict[int, dict[int, int]] = defaultdict(dict)
        for first, evidence, by_word in zip(
            self._first_passages, self._scope, positions_by_word, strict=True
        ):
            passages_up_to = partial(bisect_right, evidence.layout.starts)
            for word, positions in by_word.items():
                for passages, count in Counter(map(passages_up_to, positions)).items():
                    counts[word][first + passages - 1] = count
        return list(counts.values())


def score_pages(question: Question, table: ScopeTable, counts_by_passage: Sequence[Counts]) -> Scores:
    """A score for every page that has a word of the question."""
    by_page = table.by_page(counts_by_passage)
    scores = score_text(table, by_page)
    headings = score_headings(table)
    documents = score_documents(table, by_page)
    for page in scores:
        scores[page] += HEADING_WEIGHT * headings.get(page, 0)
        scores[page] += DOCUMENT_WEIGHT * documents.get(table.document_of(page), 0)
        scores[page] += NUMBER_WEIGHT * digit_density(table, page) if question.numeric else 0
    return scores


def score_text(table: ScopeTable, by_page: Sequence[Counts]) -> Scores:
    """Pages by the question's words, and by those of them that stand together."""
    scores = bm25(by_page, table.page_lengths)
    for page, score in bm25(table.by_page(table.pair_counts()), table.page_lengths).items():
        scores[page] += PAIR_WEIGHT * score
    return normalized(scores)


def score_headings(table: ScopeTable) -> Scores:
    """Pages by the question's words in their headings."""
    return normalized(bm25(table.heading_counts(), [1] * len(table.page_lengths)))


def score_documents(table: ScopeTable, by_page: Sequence[Counts]) -> Scores:
    """Documents by how well their first page tells them apart as the one meant."""
    return normalized(bm25(table.first_page_counts(by_page), [1] * table.document_count))


def digit_density(table: ScopeTable, page: int) -> float:
    """The share of a page's terms that have a digit: high where there are tables of figures."""
    return table.page_digits[page] / max(FULL_PAGE_TERMS, table.page_lengths[page])


def adjacent(positions: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Where the question's next word follows, by the index of the first of the two."""
    nexts = {word: set(positions[word + 1]) for word in positions if word + 1 in positions}
    return {word: [i for i in positions[word] if i + 1 in following] for word, following in nexts.items()}


def bm25(occurrences: Iterable[Counts], lengths: Sequence[int]) -> Scores:
    """BM25 of the units with these lengths, from how often each term occurs in each."""
    scores: Scores = defaultdict(float)
    average = sum(lengths) / max(1, len(lengths)) or 1
    for counts in occurrences:
        weight = rarity(len(counts), len(lengths)) * (K1 + 1)
        for unit, count in counts.items():
            scores[unit] += weight * count / (count + K1 * (1 - B + B * lengths[unit] / average))
    return scores


def rarity(having: int, total: int) -> float:
    """BM25's inverse document frequency."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def normalized(scores: Scores) -> Scores:
    """Scores as shares of the best one."""
    best = max(scores.values(), default=0) or 1
    return {unit: score / best for unit, score in scores.items()}
