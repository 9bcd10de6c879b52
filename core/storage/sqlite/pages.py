"""The extracted text of documents in SQLite, a row per page."""

import json
import sqlite3
from collections.abc import Sequence

from core.infra.sqlite import Database
from core.models import Page

SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (
    document_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    label TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (document_id, number)
);
CREATE TABLE IF NOT EXISTS page_boxes (
    document_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    boxes BLOB NOT NULL,
    PRIMARY KEY (document_id, number)
)
"""

_ALL = "SELECT number, label, tokens, text FROM pages WHERE document_id = ? ORDER BY number"
_SOME = (
    "SELECT number, label, tokens, text FROM pages"
    " WHERE document_id = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number"
)


_COPY = "INSERT INTO pages SELECT ?, number, label, tokens, text FROM pages WHERE document_id = ?"
_COPY_BOXES = "INSERT INTO page_boxes SELECT ?, number, boxes FROM page_boxes WHERE document_id = ?"


class SqlitePageStore:
    """Pages by document and number; their boxes apart, since most readers want the text alone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        rows = [(document_id, page.number, page.label, page.tokens, page.text) for page in pages]
        boxes = [(document_id, page.number, page.boxes) for page in pages if page.boxes]

        def work(connection: sqlite3.Connection) -> None:
            _delete(connection, document_id)
            connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO page_boxes VALUES (?, ?, ?)", boxes)

        await self._database.write(work)

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        query, parameters = (
            (_ALL, (document_id,)) if numbers is None else (_SOME, (document_id, json.dumps(list(numbers))))
        )
        rows = await self._database.read(lambda connection: connection.execute(query, parameters).fetchall())
        return [Page(**dict(row)) for row in rows]

    async def boxes(self, document_id: str, number: int) -> bytes:
        query = "SELECT boxes FROM page_boxes WHERE document_id = ? AND number = ?"
        row = await self._database.read(
            lambda connection: connection.execute(query, (document_id, number)).fetchone()
        )
        return bytes(row["boxes"]) if row else b""

    async def copy(self, source_id: str, target_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if source_id != target_id:
                _delete(connection, target_id)
                connection.execute(_COPY, (target_id, source_id))
                connection.execute(_COPY_BOXES, (target_id, source_id))

        await self._database.write(work)

    async def delete(self, document_id: str) -> None:
        await self._database.write(lambda connection: _delete(connection, document_id))


def _delete(connection: sqlite3.Connection, document_id: str) -> None:
    connection.execute("DELETE FROM pages WHERE document_id = ?", (document_id,))
    connection.execute("DELETE FROM page_boxes WHERE document_id = ?", (document_id,))
