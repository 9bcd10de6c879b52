"""Term counts over the documents of a search; passages and pages are numbered across all of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import islice, pairwise

from orc_core.search.bm25 import Counts
from orc_core.search.postings import DocumentTerms
from orc_core.search.vocabulary import Phrase

OPENING_TERMS = 60


class ScopeStatistics:
    """Counts over all documents of a search, by passage or by page, each numbered across the scope."""

    def __init__(self, scope: Sequence[DocumentTerms]) -> None:
        self.scope = scope
        self._first_passages: list[int] = []
        self._first_pages: list[int] = []
        self._passage_starts: list[Sequence[int]] = []
        self.page_of: list[int] = []
        self.page_numbers: list[int] = []
        self.page_starts: list[int] = []
        self.page_ends: list[int] = []
        self.passage_lengths: list[int] = []
        self.page_lengths: list[int] = []
        self.page_digits: list[int] = []
        self._known: dict[tuple[tuple[Phrase, ...], frozenset[int] | None], Counts] = {}
        for pages, starts, digits in (terms.document.layout for terms in scope):
            self._first_passages.append(len(self.page_of))
            self._first_pages.append(len(self.page_lengths))
            self._passage_starts.append(starts)
            self.passage_lengths += [end - start - 1 for start, end in pairwise(starts)]
            first_of_pages = [at for at, (one, other) in enumerate(pairwise((0, *pages))) if one != other]
            for first, end in pairwise([*first_of_pages, len(pages)]):
                self.page_of += [len(self.page_lengths)] * (end - first)
                self.page_numbers.append(pages[first])
                self.page_starts.append(starts[first])
                self.page_ends.append(starts[end])
                self.page_lengths.append(starts[end] - starts[first] - (end - first))
                self.page_digits.append(sum(digits[first:end]))

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
        return self.count([(word,)] for word in asked)

    def count(
        self, concepts: Iterable[Sequence[Phrase]], documents: Collection[int] | None = None
    ) -> list[Counts]:
        """For each thing with several names: how often each passage (of these documents) has any of them."""
        within = None if documents is None else frozenset(documents)
        among = self._among(within)
        # A long question repeats its words, and several parts of a score count the same ones.
        asked = [(tuple(phrases), within) for phrases in concepts]
        for key in asked:
            if key not in self._known:
                self._known[key] = _count(key[0], among)
        return [self._known[key] for key in asked if self._known[key]]

    def documents_with(self, phrases: Sequence[Phrase], least: int) -> frozenset[int]:
        """The documents that have at least `least` of these phrases."""
        return frozenset(
            document
            for document, terms in enumerate(self.scope)
            if sum(1 for _ in islice(filter(terms.find_phrase, phrases), least)) == least
        )

    def count_headings(self, asked: Sequence[str]) -> list[Counts]:
        """For each word found in headings: the pages that have it in one."""
        pages: dict[int, dict[int, int]] = defaultdict(dict)
        for first, terms in zip(self._first_passages, self.scope, strict=True):
            for index, word in enumerate(asked):
                for passage in terms.headings.get(word, ()):
                    pages[index][self.page_of[first + passage]] = 1
        return [*pages.values()]

    def count_openings(self, asked: Sequence[str]) -> list[Counts]:
        """For each word: the documents that have it among their first terms."""
        first = [
            [terms.positions.get(word, (OPENING_TERMS,))[0] for terms in self.scope]
            for word in dict.fromkeys(asked)
        ]
        return [{document: 1 for document, at in enumerate(each) if at < OPENING_TERMS} for each in first]

    def titled(self, word: str, least_share: float) -> frozenset[int]:
        """The documents with a word on their first page, if they have at least that share of all its uses."""
        uses = [terms.positions.get(word, ()) for terms in self.scope]
        found = [
            document
            for document, at in enumerate(uses)
            if at and self.page_of[self._passage_at(document, at[0])] == self._first_pages[document]
        ]
        own = sum(len(uses[document]) for document in found)
        return frozenset(found) if own and own >= least_share * sum(map(len, uses)) else frozenset()

    def only_on_first_pages(self, word: str) -> bool:
        """Whether no document has a word on a later page than its first one."""
        uses = [terms.positions.get(word, ()) for terms in self.scope]
        return all(
            self.page_of[self._passage_at(document, at[-1])] == self._first_pages[document]
            for document, at in enumerate(uses)
            if at
        )

    def _passage_at(self, document: int, position: int) -> int:
        return self._first_passages[document] + bisect_right(self._passage_starts[document], position) - 1

    def by_page(self, counts_by_passage: Iterable[Counts]) -> list[Counts]:
        """Counts by passage, added up by page."""
        asked = list(counts_by_passage)
        added: dict[int, Counts] = {}
        for counts in asked:
            if id(counts) not in added:
                pages: dict[int, int] = defaultdict(int)
                for passage, count in counts.items():
                    pages[self.page_of[passage]] += count
                added[id(counts)] = pages
        return [added[id(counts)] for counts in asked]

    def first_offsets(self, phrase: Phrase, documents: Collection[int]) -> dict[int, int]:
        """The pages that have a phrase, and how many terms of the page come before it."""
        found: dict[int, int] = {}
        for first, terms, starts in self._among(documents):
            next_page = 0
            for place in terms.find_phrase(phrase):
                if place >= next_page:
                    page = self.page_of[first + bisect_right(starts, place) - 1]
                    found[page] = place - self.page_starts[page]
                    next_page = self.page_ends[page]
        return found

    def headed_pages(self, phrase: Phrase, documents: Collection[int]) -> set[int]:
        """The pages with a passage that has all words of a phrase in its heading."""
        return {
            self.page_of[first + passage]
            for first, terms, _ in self._among(documents)
            for passage in terms.headed_by(phrase)
        }

    def _among(self, documents: Collection[int] | None) -> "list[_Terms]":
        """The terms of each of these documents (None: all)."""
        every = zip(self._first_passages, self.scope, self._passage_starts, strict=True)
        return [terms for document, terms in enumerate(every) if documents is None or document in documents]


_Terms = tuple[int, DocumentTerms, Sequence[int]]
"""The number of a document's first passage, its terms, and where its passages start."""


def _count(phrases: Sequence[Phrase], among: Iterable[_Terms]) -> Counts:
    """How often each passage has any of these phrases."""
    counts: dict[int, int] = defaultdict(int)
    for first, terms, starts in among:
        for phrase in phrases:
            end = 0
            for place in terms.find_phrase(phrase):
                if place >= end:
                    passage = bisect_right(starts, place) - 1
                    end = starts[passage + 1]
                counts[first + passage] += 1
    return counts
