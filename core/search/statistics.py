"""The passages and pages of several documents, numbered through, and what is counted in them."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import NamedTuple

from core.search.bm25 import Counts
from core.search.document_match import Identity

OPENING_TERMS = 60

Phrase = tuple[str, ...]
Positions = Sequence[int]


class Layout(NamedTuple):
    """How a document's terms are spread over its passages.

    A passage has its page, the position of its first term, and how many of its terms have a digit.
    Positions count the document's terms and leave one free after each passage; the last of `starts` is
    where another passage would start.
    """

    pages: Sequence[int]
    starts: Sequence[int]
    digits: Sequence[int]


@dataclass(frozen=True)
class Evidence:
    """What one document has of the words of a search, each in the spelling of the search.

    `positions` are the word's own; `headings` are the passages that have it in their heading. The words
    in `unsaid` are stop words of the document's language, which phrases do without.
    """

    identity: Identity
    layout: Layout
    positions: Mapping[str, Positions]
    headings: Mapping[str, Positions]
    unsaid: Collection[str]
    _places: dict[Phrase, Positions] = field(default_factory=dict, init=False)
    _sets: dict[str, frozenset[int]] = field(default_factory=dict, init=False)

    def places(self, phrase: Phrase) -> Positions:
        """Where a phrase starts."""
        found = self._places.get(phrase)
        if found is None:
            found = self._places[phrase] = self._find([word for word in phrase if word not in self.unsaid])
        return found

    def _find(self, told: Sequence[str]) -> Positions:
        if not told or not all(map(self.positions.__contains__, told)):
            return ()
        if len(told) == 1:
            return self.positions[told[0]]
        rarest = min(range(len(told)), key=lambda index: len(self.positions[told[index]]))
        starts = [position - rarest for position in self.positions[told[rarest]]]
        for index, word in enumerate(told):
            if index != rarest:
                places = self._set(word)
                starts = [start for start in starts if start + index in places]
        return starts

    def _set(self, word: str) -> frozenset[int]:
        if word not in self._sets:
            self._sets[word] = frozenset(self.positions[word])
        return self._sets[word]

    def headed_by(self, phrase: Phrase) -> set[int]:
        """The passages that have all words of a phrase in their heading."""
        told = [word for word in phrase if word not in self.unsaid]
        if not told or any(word not in self.headings for word in told):
            return set()
        return set.intersection(*(set(self.headings[word]) for word in told))


class ScopeTable:
    """All documents of a search. Counts go by passage or by page, numbered through the whole scope."""

    def __init__(self, scope: Sequence[Evidence]) -> None:
        self.scope = scope
        self._first_passages: list[int] = []
        self._first_pages: list[int] = []
        self.page_of: list[int] = []
        self.page_numbers: list[int] = []
        self.page_starts: list[int] = []
        self.page_ends: list[int] = []
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
                self.page_numbers.append(page)
                self.page_starts.append(layout.starts[passage])
                self.page_ends.append(0)
                self.page_lengths.append(0)
                self.page_digits.append(0)
                previous = page
            self.page_ends[-1] = layout.starts[passage + 1]
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

    def page_count(self, document: int) -> int:
        """How many pages of a document have text."""
        following = [*self._first_pages[document + 1 :], len(self.page_lengths)]
        return following[0] - self._first_pages[document]

    def count_words(self, asked: Sequence[str]) -> list[Counts]:
        """For each word found: how often each passage has it."""
        return self._count([[(word,)] for word in asked])

    def count_pairs(self, asked: Sequence[str]) -> list[Counts]:
        """For each two words that follow each other in the question: how often they do in each passage."""
        return self._count([[pair] for pair in pairwise(asked)])

    def count_concepts(
        self, concepts: Iterable[Sequence[Phrase]], documents: Collection[int] | None = None
    ) -> list[Counts]:
        """For each thing with several names: how often each passage (of these documents) has any of them."""
        return self._count(concepts, documents)

    def fluent(self, known_by: Sequence[Phrase], least: int) -> frozenset[int]:
        """The documents that have so many of these phrases."""
        return frozenset(
            document
            for document, evidence in enumerate(self.scope)
            if sum(1 for _ in islice(filter(evidence.places, known_by), least)) == least
        )

    def count_headings(self, asked: Sequence[str]) -> list[Counts]:
        """For each word found in headings: the pages that have it in one."""
        pages: dict[int, dict[int, int]] = defaultdict(dict)
        for first, evidence in zip(self._first_passages, self.scope, strict=True):
            for index, word in enumerate(asked):
                for passage in evidence.headings.get(word, ()):
                    pages[index][self.page_of[first + passage]] = 1
        return [*pages.values()]

    def count_openings(self, asked: Sequence[str]) -> list[Counts]:
        """For each word: the documents that have it among their first terms."""
        counted: list[Counts] = []
        for word in dict.fromkeys(asked):
            positions = [evidence.positions.get(word, (OPENING_TERMS,)) for evidence in self.scope]
            counted.append(
                {document: 1 for document, found in enumerate(positions) if found[0] < OPENING_TERMS}
            )
        return counted

    def by_page(self, counts_by_passage: Iterable[Counts]) -> list[Counts]:
        """Counts by passage, added up by page."""
        return [self._add_up(counts) for counts in counts_by_passage]

    def openings(self, phrase: Phrase, documents: Collection[int]) -> dict[int, int]:
        """The pages that have a phrase, and after how many terms of the page it first stands."""
        found: dict[int, int] = {}
        for first, evidence in self._among(documents):
            starts, next_page = evidence.layout.starts, 0
            for place in evidence.places(phrase):
                if place >= next_page:
                    page = self.page_of[first + bisect_right(starts, place) - 1]
                    found[page] = place - self.page_starts[page]
                    next_page = self.page_ends[page]
        return found

    def headed_pages(self, phrase: Phrase, documents: Collection[int]) -> set[int]:
        """The pages with a passage that has all words of a phrase in its heading."""
        return {
            self.page_of[first + passage]
            for first, evidence in self._among(documents)
            for passage in evidence.headed_by(phrase)
        }

    def _among(self, documents: Collection[int] | None) -> list[tuple[int, Evidence]]:
        """The first passage and the evidence of each of these documents (all: None)."""
        every = zip(self._first_passages, self.scope, strict=True)
        return [pair for document, pair in enumerate(every) if documents is None or document in documents]

    def _add_up(self, counts: Counts) -> Counts:
        pages: dict[int, int] = defaultdict(int)
        for passage, count in counts.items():
            pages[self.page_of[passage]] += count
        return pages

    def _count(
        self, sought: Iterable[Sequence[Phrase]], documents: Collection[int] | None = None
    ) -> list[Counts]:
        counted: list[Counts] = []
        among = self._among(documents)
        for phrases in sought:
            counts: Counter[int] = Counter()
            for first, evidence in among:
                starts = evidence.layout.starts
                for phrase in phrases:
                    end = 0
                    for place in evidence.places(phrase):
                        if place >= end:
                            passage = bisect_right(starts, place) - 1
                            end = starts[passage + 1]
                        counts[first + passage] += 1
            if counts:
                counted.append(counts)
        return counted
