"""The passage index in SQLite: positions of every term by document, so that a search reads its scope only."""

import asyncio
import json
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from core.documents.models import Hit, Passage
from core.documents.ranking import Evidence, Layout, Match, Question, rank_passages
from core.documents.terms import detect_language, has_digit, stems, words
from core.sqlite import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS indexed_documents (
    document_key INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    pages BLOB NOT NULL,
    starts BLOB NOT NULL,
    digits BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS postings (
    document_key INTEGER NOT NULL,
    term TEXT NOT NULL,
    positions BLOB NOT NULL,
    headings BLOB NOT NULL,
    PRIMARY KEY (document_key, term)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS passages (
    document_key INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    page INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    text TEXT NOT NULL,
    heading TEXT NOT NULL,
    PRIMARY KEY (document_key, ordinal)
)
"""
_UNSIGNED = "I"


class SqlitePassageIndex:
    """Page-aware BM25 over exactly the documents asked for; implements the PassageIndex port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, document_id: str, name: str, passages: Sequence[Passage]) -> None:
        """Replace all passages of a document at once."""
        analysis = await asyncio.to_thread(_analyse, passages)
        await self._database.write(lambda connection: _replace(connection, document_id, passages, analysis))

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        """The best passages of these documents, best first; only those that share a word with the query.

        The distinct pages in the order of the hits are a ranking of the pages.
        """
        if not document_ids or top_k < 1:
            return []
        return await self._database.read(lambda connection: _search(connection, query, document_ids, top_k))

    async def delete(self, document_id: str) -> None:
        """Remove all passages of a document."""
        await self._database.write(lambda connection: _delete(connection, document_id))


def rank_pages(hits: Iterable[Hit]) -> list[tuple[str, int]]:
    """The distinct (document id, page) of hits, best first."""
    return list(dict.fromkeys((hit.passage.document_id, hit.passage.page) for hit in hits))


class _Analysis(NamedTuple):
    """A document as the index keeps it; `positions` and `headings` as in Evidence, by term."""

    language: str
    layout: Layout
    positions: "dict[str, array[int]]"
    headings: "dict[str, array[int]]"


def _analyse(passages: Sequence[Passage]) -> _Analysis:
    spelled = [words(passage.text) for passage in passages]
    language = detect_language(word for found in spelled for word in found)
    starts, digits = _integers([0]), _integers()
    positions: dict[str, array[int]] = defaultdict(_integers)
    headings: dict[str, array[int]] = defaultdict(_integers)
    for ordinal, (passage, found) in enumerate(zip(passages, spelled, strict=True)):
        terms = _terms(found, language)
        for position, term in enumerate(terms, starts[-1]):
            positions[term].append(position)
        for term in set(_terms(words(passage.heading), language)):
            headings[term].append(ordinal)
        starts.append(starts[-1] + len(terms) + 1)
        digits.append(sum(map(has_digit, terms)))
    pages = _integers(passage.page for passage in passages)
    return _Analysis(language, Layout(pages, starts, digits), positions, headings)


def _terms(spelled: list[str], language: str) -> list[str]:
    return [stem for stem in stems(spelled, language) if stem]


def _integers(numbers: bytes | Iterable[int] = ()) -> "array[int]":
    """Numbers in the form in which they are stored: four bytes each."""
    return array(_UNSIGNED, numbers)


def _replace(
    connection: sqlite3.Connection, document_id: str, passages: Sequence[Passage], analysis: _Analysis
) -> None:
    _delete(connection, document_id)
    (key,) = connection.execute(
        "INSERT INTO indexed_documents (document_id, language, pages, starts, digits)"
        " VALUES (?, ?, ?, ?, ?) RETURNING document_key",
        (document_id, analysis.language, *analysis.layout),
    ).fetchone()
    connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?)", _posting_rows(key, analysis))
    connection.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((key, i, p.page, p.start, p.end, p.text, p.heading) for i, p in enumerate(passages)),
    )


def _posting_rows(key: int, analysis: _Analysis) -> "Iterator[tuple[int, str, array[int], array[int]]]":
    nowhere = _integers()
    for term in sorted(analysis.positions.keys() | analysis.headings.keys()):
        yield key, term, analysis.positions.get(term, nowhere), analysis.headings.get(term, nowhere)


def _delete(connection: sqlite3.Connection, document_id: str) -> None:
    key = "(SELECT document_key FROM indexed_documents WHERE document_id = ?)"
    for table in ("postings", "passages", "indexed_documents"):
        connection.execute(f"DELETE FROM {table} WHERE document_key = {key}", (document_id,))


def _search(connection: sqlite3.Connection, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
    question = Question.parse(query)
    documents = connection.execute(
        "SELECT * FROM indexed_documents WHERE document_id IN (SELECT value FROM json_each(?))"
        " ORDER BY document_id",
        (json.dumps(list(document_ids)),),
    ).fetchall()
    scope = [_gather(connection, question, document) for document in documents]
    return [
        _hit(connection, documents[match.document], match) for match in rank_passages(question, scope, top_k)
    ]


def _gather(connection: sqlite3.Connection, question: Question, document: sqlite3.Row) -> Evidence:
    asked: dict[str, list[int]] = defaultdict(list)
    for index, stem in enumerate(stems(question.words, document["language"])):
        asked[stem].append(index)
    rows = connection.execute(
        "SELECT term, positions, headings FROM postings"
        " WHERE document_key = ? AND term IN (SELECT value FROM json_each(?))",
        (document["document_key"], json.dumps(list(asked))),
    ).fetchall()
    return Evidence(
        layout=Layout(*(_integers(document[column]) for column in Layout._fields)),
        positions={index: _integers(row["positions"]) for row in rows for index in asked[row["term"]]},
        headings={index: _integers(row["headings"]) for row in rows for index in asked[row["term"]]},
    )


def _hit(connection: sqlite3.Connection, document: sqlite3.Row, match: Match) -> Hit:
    row = connection.execute(
        "SELECT page, start, end, text, heading FROM passages WHERE document_key = ? AND ordinal = ?",
        (document["document_key"], match.passage),
    ).fetchone()
    return Hit(passage=Passage(document_id=document["document_id"], **dict(row)), score=match.score)
