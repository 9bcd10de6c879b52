"""Reads from the index what each document in scope has of a search's words, near misses included."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from core.search.identity import Identity
from core.search.indexing import integers
from core.search.periods import Period
from core.search.questions import Question
from core.search.resemblance import misspelling_of, resembles
from core.search.scope_table import Evidence, Layout, Positions
from core.text.terms import has_digit, stems

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
