"""Page analyses in SQLite, a row per document and a row per page."""

import json
import sqlite3
from collections.abc import Sequence

from core.analysis.models import DocumentAnalysis, PageAnalysis
from core.infra.sqlite import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS analyses (
    document_id TEXT PRIMARY KEY,
    etag TEXT NOT NULL,
    method TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS page_analyses (
    document_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (document_id, number)
)
"""

_SAVE = "INSERT OR REPLACE INTO analyses VALUES (?, ?, ?, ?)"
_SAVE_IF_SAME = "UPDATE analyses SET body = ? WHERE document_id = ? AND etag = ? AND method = ?"
_SAVE_PAGE = "INSERT OR REPLACE INTO page_analyses VALUES (?, ?, ?)"
_SOME = "SELECT body FROM analyses WHERE document_id IN (SELECT value FROM json_each(?))"
_ALL_PAGES = "SELECT body FROM page_analyses WHERE document_id = ? ORDER BY number"
_SOME_PAGES = (
    "SELECT body FROM page_analyses"
    " WHERE document_id = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY number"
)
_DELETE = "DELETE FROM analyses WHERE document_id = ?"
_DELETE_PAGES = "DELETE FROM page_analyses WHERE document_id = ?"
_COPY_PAGES = "INSERT INTO page_analyses SELECT ?, number, body FROM page_analyses WHERE document_id = ?"


class SqliteAnalysisStore:
    """Analyses by document and page."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, analysis: DocumentAnalysis) -> None:
        row = _row(analysis)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_SAVE, row)

        await self._database.write(work)

    async def save_pages(self, analysis: DocumentAnalysis, analyses: Sequence[PageAnalysis]) -> bool:
        document_id, etag, method, body = _row(analysis)
        rows = [(document_id, page.page, page.model_dump_json()) for page in analyses]

        def work(connection: sqlite3.Connection) -> bool:
            if connection.execute(_SAVE_IF_SAME, (body, document_id, etag, method)).rowcount == 0:
                return False
            connection.executemany(_SAVE_PAGE, rows)
            return True

        return await self._database.write(work)

    async def get(self, document_ids: Sequence[str]) -> dict[str, DocumentAnalysis]:
        wanted = json.dumps(list(document_ids))
        rows = await self._database.read(lambda connection: connection.execute(_SOME, (wanted,)).fetchall())
        found = [DocumentAnalysis.model_validate_json(row["body"]) for row in rows]
        return {analysis.document_id: analysis for analysis in found}

    async def pages(self, document_id: str, numbers: Sequence[int] | None = None) -> list[PageAnalysis]:
        query, parameters = (
            (_ALL_PAGES, (document_id,))
            if numbers is None
            else (_SOME_PAGES, (document_id, json.dumps(list(numbers))))
        )
        rows = await self._database.read(lambda connection: connection.execute(query, parameters).fetchall())
        return [PageAnalysis.model_validate_json(row["body"]) for row in rows]

    async def copy(self, source_id: str, target: DocumentAnalysis) -> None:
        row = _row(target)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_SAVE, row)
            if source_id != target.document_id:
                connection.execute(_DELETE_PAGES, (target.document_id,))
                connection.execute(_COPY_PAGES, (target.document_id, source_id))

        await self._database.write(work)

    async def delete(self, document_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_DELETE, (document_id,))
            connection.execute(_DELETE_PAGES, (document_id,))

        await self._database.write(work)


def _row(analysis: DocumentAnalysis) -> tuple[str, str, str, str]:
    return analysis.document_id, analysis.etag, analysis.method, analysis.model_dump_json()
