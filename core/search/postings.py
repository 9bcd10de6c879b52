"""A document's passages as the index keeps them: the places of every term, and what its cover says."""

import json
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from core.models import Passage
from core.search.document_match import Identity
from core.search.fuzzy import misspelling_of, resembles
from core.search.query import Period, Question, cover_period
from core.search.statistics import Evidence, Layout, Positions
from core.text.numbers import find_dates
from core.text.terms import detect_language, has_digit, stems, words

_UNSIGNED = "I"


class Analysis(NamedTuple):
    """A document as the index keeps it; `positions` and `headings` as in Evidence, by stem."""

    language: str
    period: Period | None
    layout: Layout
    positions: "dict[str, array[int]]"
    headings: "dict[str, array[int]]"


def analyse(passages: Sequence[Passage]) -> Analysis:
    """Take a document's passages apart into stems of its own language."""
    spelled = [words(passage.text) for passage in passages]
    language = detect_language(word for found in spelled for word in found)
    starts, digits = integers([0]), integers()
    positions: dict[str, array[int]] = defaultdict(integers)
    headings: dict[str, array[int]] = defaultdict(integers)
    for ordinal, (passage, found) in enumerate(zip(passages, spelled, strict=True)):
        terms = [*_terms(found, language), *find_dates(passage.text)]
        for position, term in enumerate(terms, starts[-1]):
            positions[term].append(position)
        for term in set(_terms(words(passage.heading), language)):
            headings[term].append(ordinal)
        starts.append(starts[-1] + len(terms) + 1)
        digits.append(sum(map(has_digit, terms)))
    pages = integers(passage.page for passage in passages)
    return Analysis(language, _cover(passages), Layout(pages, starts, digits), positions, headings)


def integers(numbers: bytes | Iterable[int] = ()) -> "array[int]":
    """Numbers in the form in which they are stored: four bytes each."""
    return array(_UNSIGNED, numbers)


def _terms(spelled: list[str], language: str) -> list[str]:
    return [stem for stem in stems(spelled, language) if stem]


def _cover(passages: Sequence[Passage]) -> Period | None:
    first = passages[0].page if passages else 0
    return cover_period("\n".join(passage.text for passage in passages if passage.page == first))


MOST_RESEMBLING = 8
_AFTER_ALL = "\U0010ffff"


def gather(
    connection: sqlite3.Connection, question: Question, documents: Sequence[sqlite3.Row]
) -> list[Evidence]:
    """What the documents have of the words of a question, and of those that its meaning adds."""
    sought = list(dict.fromkeys(_sought(question)))
    return [_evidence(connection, sought, document) for document in documents]


def repair(
    connection: sqlite3.Connection,
    question: Question,
    documents: Sequence[sqlite3.Row],
    scope: Sequence[Evidence],
) -> list[Evidence]:
    """The scope with words that no document has taken for misspellings of words that they have."""

    def closest(stem: str, terms: Iterable[str]) -> list[str]:
        found = misspelling_of(stem, terms)
        return [] if found is None else [found]

    missing = [word for word in dict.fromkeys(question.words) if not _known(word, scope)]
    return _with_similar(connection, missing, closest, 1, documents, scope)


def widen(
    connection: sqlite3.Connection,
    question: Question,
    documents: Sequence[sqlite3.Row],
    scope: Sequence[Evidence],
) -> list[Evidence]:
    """The scope with words that resemble those of the question counted as them."""

    def similar(stem: str, terms: Iterable[str]) -> list[str]:
        return [term for term in terms if resembles(stem, term)][:MOST_RESEMBLING]

    return _with_similar(connection, list(dict.fromkeys(question.words)), similar, 2, documents, scope)


def _sought(question: Question) -> Iterator[str]:
    yield from question.words
    for place in question.places:
        yield from place
    for vocabulary, meaning in question.meanings:
        for phrase in (*vocabulary.known_by, *meaning.phrases()):
            yield from phrase


def _evidence(connection: sqlite3.Connection, sought: list[str], document: sqlite3.Row) -> Evidence:
    by_stem: dict[str, list[str]] = defaultdict(list)
    for word, stem in zip(sought, stems(sought, document["language"]), strict=True):
        by_stem[stem].append(word)
    unsaid = frozenset(by_stem.pop("", ()))
    rows = connection.execute(
        "SELECT term, positions, headings FROM search_terms"
        " WHERE document_key = ? AND term IN (SELECT value FROM json_each(?))",
        (document["document_key"], json.dumps(list(by_stem))),
    ).fetchall()
    positions: dict[str, Positions] = {}
    headings: dict[str, Positions] = {}
    for row in rows:
        here, above = integers(row["positions"]), integers(row["headings"])
        for word in by_stem[row["term"]]:
            if here:
                positions[word] = here
            if above:
                headings[word] = above
    period = None if document["year"] is None else Period(document["year"], document["quarter"])
    layout = Layout(*(integers(document[column]) for column in Layout._fields))
    return Evidence(Identity(document["name"], period), layout, positions, headings, unsaid)


def _known(word: str, scope: Sequence[Evidence]) -> bool:
    return any(
        word in evidence.positions or word in evidence.headings or word in evidence.unsaid
        for evidence in scope
    )


def _with_similar(
    connection: sqlite3.Connection,
    missing: Sequence[str],
    choose: Callable[[str, Iterable[str]], list[str]],
    same_letters: int,
    documents: Sequence[sqlite3.Row],
    scope: Sequence[Evidence],
) -> list[Evidence]:
    sought = [word for word in missing if not has_digit(word)]
    if not sought:
        return list(scope)
    return [
        _extended(connection, sought, choose, same_letters, document, evidence)
        for document, evidence in zip(documents, scope, strict=True)
    ]


def _extended(
    connection: sqlite3.Connection,
    sought: list[str],
    choose: Callable[[str, Iterable[str]], list[str]],
    same_letters: int,
    document: sqlite3.Row,
    evidence: Evidence,
) -> Evidence:
    positions = dict(evidence.positions)
    for word, stem in zip(sought, stems(sought, document["language"]), strict=True):
        if stem and (chosen := choose(stem, _terms_like(connection, document, stem, same_letters))):
            places = set(positions.get(word, ())).union(
                *(_positions(connection, document, term) for term in chosen)
            )
            if places:  # a term of nothing but headings stands nowhere
                positions[word] = integers(sorted(places))
    return replace(evidence, positions=positions)


def _terms_like(
    connection: sqlite3.Connection, document: sqlite3.Row, stem: str, same_letters: int
) -> list[str]:
    start = stem[:same_letters]
    rows = connection.execute(
        "SELECT term FROM search_terms WHERE document_key = ? AND term >= ? AND term < ? AND term <> ?",
        (document["document_key"], start, start + _AFTER_ALL, stem),
    )
    return [row["term"] for row in rows]


def _positions(connection: sqlite3.Connection, document: sqlite3.Row, term: str) -> Positions:
    (stored,) = connection.execute(
        "SELECT positions FROM search_terms WHERE document_key = ? AND term = ?",
        (document["document_key"], term),
    ).fetchone()
    return integers(stored)
