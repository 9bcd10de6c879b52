"""The pages of documents in SQLite."""

import json
import sqlite3
from collections.abc import Sequence

from orc_core.infra.sqlite import IN_LIST, Database
from orc_core.models import Page

PAGES_SCHEMA = """
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

_SELECT = "SELECT number, label, tokens, text FROM pages WHERE document_id = ?"
_COPY = "INSERT INTO pages SELECT ?, number, label, tokens, text FROM pages WHERE document_id = ?"
_COPY_BOXES = "INSERT INTO page_boxes SELECT ?, number, boxes FROM page_boxes WHERE document_id = ?"
_DELETE_PAGES = "DELETE FROM pages WHERE document_id = ?"
_DELETE_BOXES = "DELETE FROM page_boxes WHERE document_id = ?"


class SqlitePageStore:
    """Pages by document and number; word boxes apart, because most readers need the text only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        rows = [(document_id, page.number, page.label, page.tokens, page.text) for page in pages]
        boxes = [(document_id, page.number, page.boxes) for page in pages if page.boxes]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_DELETE_PAGES, (document_id,))
            connection.execute(_DELETE_BOXES, (document_id,))
            connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO page_boxes VALUES (?, ?, ?)", boxes)

        await self._database.write(work)

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        chosen = "" if numbers is None else f" AND number {IN_LIST}"
        parameters = (document_id,) if numbers is None else (document_id, json.dumps(list(numbers)))
        rows = await self._database.rows(f"{_SELECT}{chosen} ORDER BY number", parameters)
        return [Page(**dict(row)) for row in rows]

    async def boxes(self, document_id: str, number: int) -> bytes:
        query = "SELECT boxes FROM page_boxes WHERE document_id = ? AND number = ?"
        rows = await self._database.rows(query, (document_id, number))
        return bytes(rows[0]["boxes"]) if rows else b""

    async def copy(self, source_id: str, target_id: str) -> None:
        if source_id == target_id:
            return
        deleted, copied = (target_id,), (target_id, source_id)
        await self._database.execute(
            (_DELETE_PAGES, deleted), (_DELETE_BOXES, deleted), (_COPY, copied), (_COPY_BOXES, copied)
        )

    async def delete(self, document_id: str) -> None:
        await self._database.execute((_DELETE_PAGES, (document_id,)), (_DELETE_BOXES, (document_id,)))
