"""The records, pages and page analyses of documents in SQLite."""

import json
import logging
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from orc_core.analysis.models import DocumentAnalysis, PageAnalysis
from orc_core.documents.places import Accessible, Area, DocumentsPage, PlaceCount, Portion, read_page
from orc_core.infra.sqlite import FEW, IN_LIST, Database, Statement
from orc_core.models import Document, DocumentStatus, Page, StoredFile, UnwantedFile, in_order_of
from orc_core.names import BlobPath, Owner

CATALOG_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id, conversation_id, document_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS documents_by_id ON documents (organization_id, document_id);
CREATE INDEX IF NOT EXISTS documents_by_bytes ON documents (organization_id, body ->> 'sha256');
CREATE INDEX IF NOT EXISTS documents_unfinished ON documents (body ->> 'created_at')
    WHERE body ->> 'status' IN ('uploaded', 'processing');
CREATE INDEX IF NOT EXISTS documents_by_owner ON documents (organization_id, user_id, conversation_id);
CREATE INDEX IF NOT EXISTS documents_unready ON documents (organization_id, user_id, conversation_id)
    WHERE body ->> 'status' <> 'completed' OR coalesce(body ->> 'readable', 0) = 0;
CREATE TABLE IF NOT EXISTS stored_files (
    organization_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    etag TEXT NOT NULL,
    expires_at REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (organization_id, document_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unwanted_files (
    provider TEXT NOT NULL,
    file_id TEXT NOT NULL,
    expires_at REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (provider, file_id)
) WITHOUT ROWID
"""

log = logging.getLogger(__name__)

_OWNED = "organization_id = ? AND user_id = ? AND conversation_id = ?"
_PAGE = """
SELECT body FROM documents WHERE {within} AND document_id > ? AND (? IS NULL OR body ->> 'status' = ?)
ORDER BY document_id LIMIT ?
"""
_COUNT = "SELECT count(*) FROM documents WHERE {within}"
# Most documents are ready, and their records need not be parsed to count them.
_COUNT_UNREADY = """
SELECT coalesce(sum(coalesce(body ->> 'readable', 0) = 0), 0),
    coalesce(sum(body ->> 'status' <> 'completed'), 0)
FROM documents INDEXED BY documents_unready
WHERE {within} AND (body ->> 'status' <> 'completed' OR coalesce(body ->> 'readable', 0) = 0)
"""
_FIND = f"SELECT body FROM documents WHERE organization_id = ? AND document_id {IN_LIST}"
_OF_DOCUMENT = "organization_id = ? AND document_id = ?"


class SqliteCatalog:
    """Records as JSON, keyed by owner and document. `clock` decides which references have expired."""

    def __init__(
        self, database: Database, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._database = database
        self._clock = clock

    async def get(self, owner: Owner, document_ids: Sequence[str]) -> list[Document]:
        query = f"SELECT body FROM documents WHERE {_OWNED} AND document_id {IN_LIST}"
        found = await self._documents_of(document_ids, query, owner.key)
        return in_order_of(document_ids, found)

    async def list_in(self, owner: Owner) -> list[Document]:
        found = await self._documents(f"SELECT body FROM documents WHERE {_OWNED}", owner.key)
        return sorted(found, key=lambda document: (document.created_at, document.blob_name))

    async def find(self, accessible: Accessible, document_ids: Sequence[str]) -> list[Document]:
        found = await self._documents_of(document_ids, _FIND, (accessible.owner.organization_id,))
        return in_order_of(document_ids, filter(accessible.holds, found))

    async def page(
        self,
        accessible: Accessible,
        *,
        after: str,
        limit: int,
        name: str = "",
        status: DocumentStatus | None = None,
    ) -> DocumentsPage:
        async def read(portion: Portion, behind: str, most: int) -> list[Document]:
            condition, values = within(portion, accessible.document_ids)
            query, found = _PAGE.format(within=condition), list[Document]()
            # SQLite folds the case of ASCII letters only, so names are compared here.
            while len(found) < most:
                some = await self._documents(query, (*values, behind, status, status, most))
                found += [each for each in some if name.casefold() in each.blob_name.casefold()]
                if len(some) < most:
                    break
                behind = some[-1].document_id
            return found[:most]

        return await read_page(accessible, after, limit, read)

    async def count(self, accessible: Accessible) -> list[PlaceCount]:
        def work(connection: sqlite3.Connection) -> list[PlaceCount]:
            counts = []
            for portion in accessible.portions:
                condition, values = within(portion, accessible.document_ids)
                (total,) = connection.execute(_COUNT.format(within=condition), values).fetchone()
                unready = connection.execute(_COUNT_UNREADY.format(within=condition), values).fetchone()
                counts.append(PlaceCount(portion.place, total, *(total - each for each in unready)))
            return counts

        return await self._database.read(work)

    async def save(self, document: Document) -> None:
        row = (*document.owner.key, document.document_id, document.model_dump_json())
        await self._database.execute(("REPLACE INTO documents VALUES (?, ?, ?, ?, ?)", row))

    async def advance(self, document: Document) -> bool:
        query = (
            f"UPDATE documents SET body = ? WHERE {_OWNED} AND document_id = ?"
            " AND body ->> 'etag' = ? AND coalesce(body ->> 'generation', '') = ?"
        )
        version = (document.document_id, document.etag, document.generation)
        parameters = (document.model_dump_json(), *document.owner.key, *version)
        return await self._database.execute((query, parameters)) > 0

    async def duplicates(self, owner: Owner, sha256: str) -> list[Document]:
        query = (
            "SELECT body FROM documents WHERE organization_id = ? AND user_id = ? AND body ->> 'sha256' = ?"
        )
        found = await self._documents(query, (owner.organization_id, owner.user_id, sha256))
        return [document for document in found if document.readable]

    async def stored_bytes(self, organization_id: str) -> int:
        query = "SELECT coalesce(sum(body ->> 'size'), 0) AS bytes FROM documents WHERE organization_id = ?"
        return int((await self._database.rows(query, (organization_id,)))[0]["bytes"])

    async def unfinished(self) -> list[Document]:
        return await self._parsed("body ->> 'status' IN ('uploaded', 'processing')")

    async def completed(self) -> list[Document]:
        return await self._parsed("body ->> 'status' = 'completed'")

    async def _parsed(self, condition: str) -> list[Document]:
        query = f"SELECT document_id, body FROM documents WHERE {condition} ORDER BY body ->> 'created_at'"
        found = []
        for row in await self._database.rows(query):
            try:
                found.append(Document.model_validate_json(row["body"]))
            except ValidationError:
                log.error("a record cannot be read document_id=%s", row["document_id"])
        return found

    async def delete(self, path: BlobPath) -> None:
        document, files = (*path.owner.key, path.document_id), (path.owner.organization_id, path.document_id)
        # The last step of a deletion: the log then also holds nothing of the pages and passages.
        await self._database.erase(
            (f"DELETE FROM documents WHERE {_OWNED} AND document_id = ?", document),
            (f"DELETE FROM stored_files WHERE {_OF_DOCUMENT}", files),
        )

    async def live_files(self, documents: Sequence[Document]) -> list[StoredFile]:
        now = self._clock().timestamp()
        query = f"SELECT body FROM stored_files WHERE {_OF_DOCUMENT} AND etag = ? AND expires_at > ?"

        def work(connection: sqlite3.Connection) -> list[str]:
            keys = [(d.organization_id, d.document_id, d.etag, now) for d in documents]
            return [row["body"] for key in keys for row in connection.execute(query, key)]

        return [StoredFile.model_validate_json(body) for body in await self._database.read(work)]

    async def save_files(self, files: Sequence[StoredFile]) -> None:
        query = "REPLACE INTO stored_files VALUES (?, ?, ?, ?, ?)"
        rows = (
            (f.organization_id, f.document_id, f.etag, f.expires_at.timestamp(), f.model_dump_json())
            for f in files
        )
        await self._database.execute(*((query, row) for row in rows))

    async def files_of(self, path: BlobPath) -> list[StoredFile]:
        query = f"SELECT body FROM stored_files WHERE {_OF_DOCUMENT}"
        rows = await self._database.rows(query, (path.owner.organization_id, path.document_id))
        return [StoredFile.model_validate_json(row["body"]) for row in rows]

    async def drop_files(self, files: Sequence[StoredFile]) -> None:
        query = f"DELETE FROM stored_files WHERE {_OF_DOCUMENT} AND body ->> 'file_id' = ?"
        keys = ((file.organization_id, file.document_id, file.file_id) for file in files)
        await self._database.execute(*((query, key) for key in keys))

    async def add_unwanted(self, files: Sequence[UnwantedFile]) -> None:
        query = "REPLACE INTO unwanted_files VALUES (?, ?, ?, ?)"
        rows = ((f.provider, f.file_id, f.expires_at.timestamp(), f.model_dump_json()) for f in files)
        await self._database.execute(*((query, row) for row in rows))

    async def unwanted(self) -> list[UnwantedFile]:
        query = "SELECT body FROM unwanted_files ORDER BY expires_at LIMIT 100"
        return [UnwantedFile.model_validate_json(row["body"]) for row in await self._database.rows(query)]

    async def drop_unwanted(self, files: Sequence[UnwantedFile]) -> None:
        query = "DELETE FROM unwanted_files WHERE provider = ? AND file_id = ?"
        await self._database.execute(*((query, (file.provider, file.file_id)) for file in files))

    async def ping(self) -> None:
        await self._database.ping()

    async def _documents_of(
        self, document_ids: Sequence[str], query: str, parameters: Sequence[object]
    ) -> list[Document]:
        ids = json.dumps(list(document_ids))
        return await self._documents(query, (*parameters, ids), few=len(document_ids) <= FEW)

    async def _documents(
        self, query: str, parameters: Sequence[object], *, few: bool = False
    ) -> list[Document]:
        rows = await self._database.rows(query, parameters, few=few)
        return [Document.model_validate_json(row["body"]) for row in rows]


def within(portion: Portion, document_ids: frozenset[str] | None) -> tuple[str, list[object]]:
    """The condition that a record is in a portion, and has one of these ids if there are any."""
    condition, values = in_area(portion.area)
    for area in portion.outside:
        other, more = in_area(area)
        condition += f" AND NOT ({other})"
        values += more
    if document_ids is not None:
        condition += f" AND document_id {IN_LIST}"
        values.append(json.dumps(sorted(document_ids)))
    return condition, values


def in_area(area: Area) -> tuple[str, list[object]]:
    """The condition that a row with the columns of an owner is in an area, and its values."""
    organization_id, user_id, conversation_id = area.owner.key
    if not area.deep:
        return _OWNED, [organization_id, user_id, conversation_id]
    # "." follows "-": the ids from `parent-` up to `parent.` are those below it.
    below = "(conversation_id = ? OR (conversation_id > ? AND conversation_id < ?))"
    ids = [conversation_id, f"{conversation_id}-", f"{conversation_id}."]
    return f"organization_id = ? AND user_id = ? AND {below}", [organization_id, user_id, *ids]


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
FEW_PAGES = 8
"""Reading this many pages of 20,000 characters takes less time than passing the work to a thread."""
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
        few = numbers is not None and len(numbers) <= FEW_PAGES
        rows = await self._database.rows(f"{_SELECT}{chosen} ORDER BY number", parameters, few=few)
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


ANALYSES_SCHEMA = """
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
_DELETE_ANALYSES = "DELETE FROM analyses WHERE document_id = ?"
_DELETE_PAGE_ANALYSES = "DELETE FROM page_analyses WHERE document_id = ?"
_COPY_PAGE_ANALYSES = (
    "INSERT INTO page_analyses SELECT ?, number, body FROM page_analyses WHERE document_id = ?"
)


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
            statements.append((_DELETE_PAGE_ANALYSES, (target.document_id,)))
            statements.append((_COPY_PAGE_ANALYSES, (target.document_id, source_id)))
        await self._database.execute(*statements)

    async def delete(self, document_id: str) -> None:
        await self._database.execute(
            (_DELETE_ANALYSES, (document_id,)), (_DELETE_PAGE_ANALYSES, (document_id,))
        )


def _row(analysis: DocumentAnalysis) -> tuple[str, str, str, str]:
    return analysis.document_id, analysis.etag, analysis.method, analysis.model_dump_json()
