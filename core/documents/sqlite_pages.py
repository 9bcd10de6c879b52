"""The extracted text of documents in SQLite, a row per page."""

import json
import sqlite3
from collections.abc import Sequence

from core.documents.models import Page
from core.sqlite import Database, statement

SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (
    document_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    label TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (document_id, number)
)
"""

_ALL = "SELECT number, label, tokens, text FROM pages WHERE document_id = ? ORDER BY number"
_SOME = (
    "SELECT number, label, tokens, text FROM pages"
    " WHERE document_id = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number"
)


class SqlitePageStore:
    """Pages by document and number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        rows = [(document_id, page.number, page.label, page.tokens, page.text) for page in pages]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM pages WHERE document_id = ?", (document_id,))
            connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)

        await self._database.write(work)

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        query, parameters = (
            (_ALL, (document_id,)) if numbers is None else (_SOME, (document_id, json.dumps(list(numbers))))
        )
        rows = await self._database.read(lambda connection: connection.execute(query, parameters).fetchall())
        return [Page(**dict(row)) for row in rows]

    async def delete(self, document_id: str) -> None:
        await self._database.write(statement("DELETE FROM pages WHERE document_id = ?", (document_id,)))
