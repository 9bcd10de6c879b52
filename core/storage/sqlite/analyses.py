"""Page analyses in SQLite, a row per document and a row per page."""

import json
import sqlite3
from collections.abc import Sequence

from core.analysis.models import DocumentAnalysis, PageAnalysis
from core.infra.sqlite import IN_LIST, Database, Statement

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
_SOME = f"SELECT body FROM analyses WHERE document_id {IN_LIST}"
_PAGES = "SELECT body FROM page_analyses WHERE document_id = ?"
_DELETE = "DELETE FROM analyses WHERE document_id = ?"
_DELETE_PAGES = "DELETE FROM page_analyses WHERE document_id = ?"
_COPY_PAGES = "INSERT INTO page_analyses SELECT ?, number, body FROM page_analyses WHERE document_id = ?"


class SqliteAnalysisStore:
    """Analyses by document and page."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, analysis: DocumentAnalysis) -> None:
        await self._database.execute((_SAVE, _row(analysis)))

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
        rows = await self._database.rows(_SOME, (json.dumps(list(document_ids)),))
        found = [DocumentAnalysis.model_validate_json(row["body"]) for row in rows]
        return {analysis.document_id: analysis for analysis in found}

    async def pages(self, document_id: str, numbers: Sequence[int] | None = None) -> list[PageAnalysis]:
        chosen = "" if numbers is None else f" AND number {IN_LIST}"
        parameters = (document_id,) if numbers is None else (document_id, json.dumps(list(numbers)))
        rows = await self._database.rows(f"{_PAGES}{chosen} ORDER BY number", parameters)
        return [PageAnalysis.model_validate_json(row["body"]) for row in rows]

    async def copy(self, source_id: str, target: DocumentAnalysis) -> None:
        statements: list[Statement] = [(_SAVE, _row(target))]
        if source_id != target.document_id:
            statements.append((_DELETE_PAGES, (target.document_id,)))
            statements.append((_COPY_PAGES, (target.document_id, source_id)))
        await self._database.execute(*statements)

    async def delete(self, document_id: str) -> None:
        await self._database.execute((_DELETE, (document_id,)), (_DELETE_PAGES, (document_id,)))


def _row(analysis: DocumentAnalysis) -> tuple[str, str, str, str]:
    return analysis.document_id, analysis.etag, analysis.method, analysis.model_dump_json()
