"""A document's inverted index, and where a document has the words of a search."""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from typing import NamedTuple

from orc_core.models import Passage
from orc_core.search.fuzzy import misspelling_of, resembles
from orc_core.search.query import Period, Question, cover_period
from orc_core.search.vocabulary import Phrase
from orc_core.text.numbers import find_dates
from orc_core.text.terms import detect_language, has_digit, stems, words

MAX_SIMILAR_TERMS = 8
SHARED_START_OF_MISSPELLING, SHARED_START_OF_SIMILAR = 1, 2

Positions = Sequence[int]


class Layout(NamedTuple):
    """How a document's terms are spread over its passages.

    A passage has its page, the position of its first term, and how many of its terms have a digit.
    Positions count the document's terms and leave one free after each passage; the last of `starts` is
    where another passage would start.
    """

    pages: "array[int]"
    starts: "array[int]"
    digits: "array[int]"


class TermPostings(NamedTuple):
    """The positions of a term in a document, and the passages that have it in their heading."""

    positions: "array[int]"
    headings: "array[int]"


@dataclass(frozen=True)
class DocumentIndex(ABC):
    """The inverted index of one document; `period` is the one that its first page names."""

    name: str
    language: str
    period: Period | None
    layout: Layout

    @abstractmethod
    def find(self, terms: Collection[str]) -> Iterable[tuple[str, TermPostings]]:
        """Those of these stemmed terms that the document has, with their postings."""

    @abstractmethod
    def terms_with_prefix(self, prefix: str) -> Iterable[str]:
        """The document's terms that start with a prefix, in order."""


@dataclass(frozen=True)
class InMemoryIndex(DocumentIndex):
    """An inverted index that has just been built; `postings` are in the order of their terms."""

    postings: Mapping[str, TermPostings]

    def find(self, terms: Collection[str]) -> Iterator[tuple[str, TermPostings]]:
        return ((term, self.postings[term]) for term in terms if term in self.postings)

    def terms_with_prefix(self, prefix: str) -> Iterator[str]:
        terms = list(self.postings)
        return takewhile(lambda term: term.startswith(prefix), terms[bisect_left(terms, prefix) :])


def index_passages(name: str, passages: Sequence[Passage]) -> InMemoryIndex:
    """Build the index of a document; its terms are stems in the document's language."""
    spelled = [words(passage.text) for passage in passages]
    headed = {heading: words(heading) for heading in {passage.heading for passage in passages}}
    language = detect_language(chain.from_iterable(spelled))
    different = list(set(chain(*spelled, *headed.values())))
    term_of = dict(zip(different, stems(different, language), strict=True))
    with_digit = set(filter(has_digit, term_of.values()))
    starts, digits = integers([0]), integers()
    positions: dict[str, array[int]] = defaultdict(integers)
    headings: dict[str, array[int]] = defaultdict(integers)
    for ordinal, (passage, found) in enumerate(zip(passages, spelled, strict=True)):
        terms, dates = list(filter(None, map(term_of.__getitem__, found))), find_dates(passage.text)
        digits.append(sum(map(with_digit.__contains__, terms)) + len(dates))
        terms += dates
        for position, term in enumerate(terms, starts[-1]):
            positions[term].append(position)
        for term in set(map(term_of.__getitem__, headed[passage.heading])):
            headings[term].append(ordinal)
        starts.append(starts[-1] + len(terms) + 1)
    headings.pop("", None)
    layout = Layout(integers(passage.page for passage in passages), starts, digits)
    cover = "\n".join(passage.text for passage in passages if passage.page == passages[0].page)
    none = integers()
    postings = {
        term: TermPostings(positions.get(term, none), headings.get(term, none))
        for term in sorted({*positions, *headings})
    }
    return InMemoryIndex(name, language, cover_period(cover), layout, postings)


def integers(numbers: bytes | Iterable[int] = ()) -> "array[int]":
    """Numbers in the form in which they are stored: four bytes each."""
    return array("I", numbers)


@dataclass(frozen=True)
class DocumentTerms:
    """Where one document has the words of a search, by the word as the search spells it.

    `headings` are the passages with the word in their heading. Phrases are found without `stop_words`, the
    stop words of the document's language.
    """

    document: DocumentIndex
    positions: Mapping[str, Positions]
    headings: Mapping[str, Positions]
    stop_words: Collection[str]
    _phrases: dict[Phrase, Positions] = field(default_factory=dict, init=False)
    _sets: dict[str, frozenset[int]] = field(default_factory=dict, init=False)

    def find_phrase(self, phrase: Phrase) -> Positions:
        """The positions at which a phrase starts."""
        found = self._phrases.get(phrase)
        if found is None:
            found = self._phrases[phrase] = self._find([w for w in phrase if w not in self.stop_words])
        return found

    def _find(self, sought: Sequence[str]) -> Positions:
        if not sought or not all(map(self.positions.__contains__, sought)):
            return ()
        if len(sought) == 1:
            return self.positions[sought[0]]
        rarest = min(range(len(sought)), key=lambda index: len(self.positions[sought[index]]))
        starts = [position - rarest for position in self.positions[sought[rarest]]]
        for index, word in enumerate(sought):
            if index != rarest:
                if word not in self._sets:
                    self._sets[word] = frozenset(self.positions[word])
                positions = self._sets[word]
                starts = [start for start in starts if start + index in positions]
        return starts

    def headed_by(self, phrase: Phrase) -> set[int]:
        """The passages that have all words of a phrase in their heading."""
        found = [self.headings.get(word, ()) for word in phrase if word not in self.stop_words]
        return set(found[0]).intersection(*found[1:]) if found and all(found) else set()

    def has(self, word: str) -> bool:
        """Whether the document has a word. Stop words count too."""
        return word in self.positions or word in self.headings or word in self.stop_words


def collect_terms(question: Question, documents: Sequence[DocumentIndex]) -> list[DocumentTerms]:
    """Look up the words of a question, and of its expansions, in each document."""
    sought = list(dict.fromkeys(_sought(question)))
    return [_collect(sought, document) for document in documents]


def with_repaired_spelling(question: Question, scope: Sequence[DocumentTerms]) -> list[DocumentTerms]:
    """The scope with words that no document has, replaced by the terms that they are misspellings of."""

    def closest(stem: str, terms: Iterable[str]) -> list[str]:
        return [term for term in (misspelling_of(stem, terms),) if term]

    missing = [word for word in question.words if not any(document.has(word) for document in scope)]
    return _with_similar(missing, closest, SHARED_START_OF_MISSPELLING, scope)


def with_similar_words(question: Question, scope: Sequence[DocumentTerms]) -> list[DocumentTerms]:
    """The scope with terms that resemble the words of the question counted as those words."""

    def similar(stem: str, terms: Iterable[str]) -> list[str]:
        return [term for term in terms if resembles(stem, term)][:MAX_SIMILAR_TERMS]

    return _with_similar(question.words, similar, SHARED_START_OF_SIMILAR, scope)


def _sought(question: Question) -> Iterator[str]:
    yield from question.words
    for place in question.places:
        yield from place
    for expansion in question.expansions:
        for phrase in (*expansion.known_by, *expansion.phrases()):
            yield from phrase


def _collect(sought: list[str], document: DocumentIndex) -> DocumentTerms:
    by_stem: dict[str, list[str]] = defaultdict(list)
    for word, stem in zip(sought, stems(sought, document.language), strict=True):
        by_stem[stem].append(word)
    stop_words = frozenset(by_stem.pop("", ()))
    positions: dict[str, Positions] = {}
    headings: dict[str, Positions] = {}
    for term, found in document.find(by_stem):
        for word in by_stem[term]:
            if found.positions:
                positions[word] = found.positions
            if found.headings:
                headings[word] = found.headings
    return DocumentTerms(document, positions, headings, stop_words)


def _with_similar(
    missing: Iterable[str],
    choose: Callable[[str, Iterable[str]], Sequence[str]],
    shared_start: int,
    scope: Sequence[DocumentTerms],
) -> list[DocumentTerms]:
    sought = [word for word in dict.fromkeys(missing) if not has_digit(word)]
    if not sought:
        return list(scope)
    extended = []
    for found in scope:
        document, positions = found.document, dict(found.positions)
        for word, stem in zip(sought, stems(sought, document.language), strict=True):
            if not stem:
                continue
            others = (term for term in document.terms_with_prefix(stem[:shared_start]) if term != stem)
            if chosen := choose(stem, others):
                similar = (postings.positions for _, postings in document.find(chosen))
                if merged := sorted(set(positions.get(word, ())).union(*similar)):
                    positions[word] = integers(merged)
        extended.append(replace(found, positions=positions))
    return extended
