"""The passage index in SQLite: positions of every term by document, so that a search reads its scope only."""

import asyncio
import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from orc_core.documents.places import Accessible
from orc_core.infra.sqlite import IN_LIST, Database
from orc_core.models import Hit, Passage
from orc_core.names import Owner
from orc_core.search.postings import (
    DocumentIndex,
    Layout,
    TermPostings,
    index_passages,
    integers,
)
from orc_core.search.query import Period, Question, parse_question
from orc_core.search.ranking import DEFAULT_WEIGHTS, Match, Weights, rank_passages
from orc_core.search.vocabulary import Vocabulary, shipped_vocabularies
from orc_core.storage.sqlite import places
from orc_core.storage.sqlite.places import WIDE

# The tables of an earlier version lack columns that the ranking needs. Its document records have no
# `readable`, so those documents are extracted again.
SCHEMA = (
    """
DROP TABLE IF EXISTS indexed_documents;
DROP TABLE IF EXISTS postings;
DROP TABLE IF EXISTS passages;
CREATE TABLE IF NOT EXISTS search_documents (
    document_key INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    year INTEGER,
    quarter INTEGER,
    pages BLOB NOT NULL,
    starts BLOB NOT NULL,
    digits BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS search_terms (
    document_key INTEGER NOT NULL,
    term TEXT NOT NULL,
    positions BLOB NOT NULL,
    headings BLOB NOT NULL,
    PRIMARY KEY (document_key, term)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS search_passages (
    document_key INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    page INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    text TEXT NOT NULL,
    heading TEXT NOT NULL,
    PRIMARY KEY (document_key, ordinal)
);
"""
    + places.SCHEMA
)
_KEY_OF_DOCUMENT = "(SELECT document_key FROM search_documents WHERE document_id = ?)"
_LAST_CHARACTER = "\U0010ffff"


class SqlitePassageIndex:
    """A PassageIndex that ranks passages by page. `vocabularies` defaults to those of the product.

    The distinct pages in the order of the hits are a ranking of the pages.
    """

    def __init__(
        self,
        database: Database,
        vocabularies: Sequence[Vocabulary] | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
        *,
        most_ranked: int = WIDE,
    ) -> None:
        """`most_ranked`: as WIDE of orc_core/storage/sqlite/places.py, which tests replace."""
        self._most_ranked = most_ranked
        self._database = database
        self._vocabularies = vocabularies
        self._weights = weights

    async def save(
        self, document_id: str, name: str, passages: Sequence[Passage], owner: Owner | None = None
    ) -> None:
        index = await asyncio.to_thread(index_passages, name, passages)

        def replace(connection: sqlite3.Connection) -> None:
            _delete(connection, document_id)
            year, quarter = index.period or (None, None)
            (key,) = connection.execute(
                "INSERT INTO search_documents"
                " (document_id, name, language, year, quarter, pages, starts, digits)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING document_key",
                (document_id, index.name, index.language, year, quarter, *index.layout),
            ).fetchone()
            connection.executemany(
                "INSERT INTO search_terms VALUES (?, ?, ?, ?)",
                ((key, term, *found) for term, found in index.postings.items()),
            )
            connection.executemany(
                "INSERT INTO search_passages VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((key, i, p.page, p.start, p.end, p.text, p.heading) for i, p in enumerate(passages)),
            )
            places.place_document(connection, document_id, owner)

        await self._database.write(replace)

    async def unplaced(self) -> list[str]:
        return await self._database.read(places.unplaced)

    async def place(self, document_id: str, owner: Owner) -> None:
        await self._database.write(lambda connection: places.place_document(connection, document_id, owner))

    async def candidates(self, query: str, accessible: Accessible) -> list[str]:
        question = self._parse(query)
        return await self._database.read(
            lambda connection: places.candidates(connection, question, accessible, self._most_ranked)
        )

    async def get(self, document_id: str, ordinals: Sequence[int] | None = None) -> list[Passage]:
        chosen = "" if ordinals is None else f" AND ordinal {IN_LIST}"
        rows = await self._database.rows(
            "SELECT page, start, end, text, heading FROM search_passages"
            f" WHERE document_key = {_KEY_OF_DOCUMENT}{chosen} ORDER BY ordinal",
            (document_id,) if ordinals is None else (document_id, json.dumps(list(ordinals))),
        )
        return [Passage(document_id=document_id, **dict(row)) for row in rows]

    async def indexed(self, document_ids: Sequence[str]) -> set[str]:
        query = f"SELECT document_id FROM search_documents WHERE document_id {IN_LIST}"
        rows = await self._database.rows(query, (json.dumps(list(document_ids)),))
        return {row["document_id"] for row in rows}

    async def search(
        self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        if not document_ids or top_k < 1:
            return []
        question = self._parse(query)

        def rank(connection: sqlite3.Connection) -> list[Hit]:
            rows = connection.execute(
                f"SELECT * FROM search_documents WHERE document_id {IN_LIST} ORDER BY document_id",
                (json.dumps(list(document_ids)),),
            )
            documents = [
                _StoredIndex(
                    name=row["name"],
                    language=row["language"],
                    period=None if row["year"] is None else Period(row["year"], row["quarter"]),
                    layout=Layout(*(integers(row[column]) for column in Layout._fields)),
                    document_id=row["document_id"],
                    key=row["document_key"],
                    connection=connection,
                )
                for row in rows
            ]
            return [
                _hit(documents[match.document], match)
                for match in rank_passages(question, documents, top_k, self._weights, widened=widened)
            ]

        return await self._database.read(rank)

    async def delete(self, document_id: str) -> None:
        await self._database.write(lambda connection: _delete(connection, document_id))

    def _parse(self, query: str) -> Question:
        vocabularies = shipped_vocabularies() if self._vocabularies is None else self._vocabularies
        return parse_question(query, vocabularies, without_instructions=self._weights.instructions)


def _delete(connection: sqlite3.Connection, document_id: str) -> None:
    for table in ("search_terms", "search_passages", "search_documents"):
        connection.execute(f"DELETE FROM {table} WHERE document_key = {_KEY_OF_DOCUMENT}", (document_id,))


@dataclass(frozen=True)
class _StoredIndex(DocumentIndex):
    """The inverted index of a document as rows of `search_terms`."""

    document_id: str
    key: int
    connection: sqlite3.Connection

    def find(self, terms: Collection[str]) -> Iterator[tuple[str, TermPostings]]:
        rows = self.connection.execute(
            f"SELECT term, positions, headings FROM search_terms WHERE document_key = ? AND term {IN_LIST}",
            (self.key, json.dumps(list(terms))),
        )
        for term, positions, headings in rows:
            yield term, TermPostings(integers(positions), integers(headings))

    def terms_with_prefix(self, prefix: str) -> Iterator[str]:
        rows = self.connection.execute(
            "SELECT term FROM search_terms WHERE document_key = ? AND term >= ? AND term < ?",
            (self.key, prefix, prefix + _LAST_CHARACTER),
        )
        return (term for (term,) in rows)


def _hit(document: _StoredIndex, match: Match) -> Hit:
    row = document.connection.execute(
        "SELECT page, start, end, text, heading FROM search_passages WHERE document_key = ? AND ordinal = ?",
        (document.key, match.passage),
    ).fetchone()
    return Hit(passage=Passage(document_id=document.document_id, **dict(row)), score=match.score)
