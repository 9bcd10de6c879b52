"""Jobs on documents in SQLite: a row each, with the lease of the worker that processes it."""

import json
import sqlite3
import time
import uuid
from collections.abc import Callable, Collection

from orc_core.errors import LeaseLost
from orc_core.infra.sqlite import Database
from orc_core.models import Document, Job, JobKind, JobProgress
from orc_core.names import BlobPath, Owner

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    document_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    blob_name TEXT NOT NULL,
    etag TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    queued_at REAL NOT NULL,
    due_at REAL NOT NULL,
    leases INTEGER NOT NULL DEFAULT 0,
    lease TEXT NOT NULL DEFAULT '',
    leased_until REAL NOT NULL DEFAULT 0,
    progress TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (document_id, kind)
) WITHOUT ROWID
"""
_QUEUE = """
INSERT INTO jobs (document_id, kind, organization_id, user_id, conversation_id, blob_name, etag, sha256,
    queued_at, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET etag = excluded.etag, sha256 = excluded.sha256, queued_at = excluded.queued_at,
    due_at = excluded.due_at, leases = 0, lease = '', leased_until = 0, progress = '{}'
    WHERE etag != excluded.etag
"""
_FREE = """
leased_until <= :now AND NOT EXISTS (
    SELECT 1 FROM jobs other WHERE other.sha256 != '' AND other.sha256 = jobs.sha256
        AND other.organization_id = jobs.organization_id AND other.user_id = jobs.user_id
        AND other.leased_until > :now)
"""
_NEXT = f"""
WITH busy AS (SELECT organization_id, COUNT(*) AS held FROM jobs WHERE leased_until > :now GROUP BY 1)
SELECT jobs.* FROM jobs LEFT JOIN busy USING (organization_id)
WHERE due_at <= :now AND organization_id NOT IN (SELECT value FROM json_each(:besides)) AND {_FREE}
ORDER BY CASE kind WHEN 'ingest' THEN 0 WHEN 'embed' THEN 1 ELSE 2 END, COALESCE(held, 0), queued_at LIMIT 1
"""
_TAKE = f"""
UPDATE jobs SET lease = :lease, leased_until = :until, leases = leases + 1
WHERE document_id = :document_id AND kind = :kind AND {_FREE} RETURNING *
"""
_HELD = "WHERE document_id = ? AND kind = ? AND lease = ?"


class SqliteJobQueue:
    """A lease is a random token and a time; `clock` returns seconds since the epoch.

    Of jobs of one kind, those of the organization that holds the fewest leases come first.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def enqueue(self, document: Document, kind: JobKind) -> None:
        await self._database.execute((_QUEUE, _row(document, kind, self._clock())))

    async def lease(self, seconds: float, besides: Collection[str] = ()) -> Job | None:
        now = self._clock()
        look = {"now": now, "besides": json.dumps(list(besides))}
        # Read first: workers ask often, and a writing transaction would block the others.
        if not await self._database.rows(_NEXT, look):
            return None

        def work(connection: sqlite3.Connection) -> Job | None:
            row = connection.execute(_NEXT, look).fetchone()
            return row and _take(connection, row["document_id"], JobKind(row["kind"]), now, seconds)

        return await self._database.write(work)

    async def claim(self, document: Document, kind: JobKind, seconds: float) -> Job | None:
        now = self._clock()

        def work(connection: sqlite3.Connection) -> Job | None:
            connection.execute(_QUEUE, _row(document, kind, now))
            return _take(connection, document.document_id, kind, now, seconds)

        return await self._database.write(work)

    async def renew(self, job: Job, seconds: float) -> None:
        parameters = (self._clock() + seconds, *_held(job))
        if not await self._database.execute((f"UPDATE jobs SET leased_until = ? {_HELD}", parameters)):
            raise LeaseLost(f"The work on {job.path.file} was taken over.")

    async def finish(self, job: Job) -> None:
        await self._database.execute((f"DELETE FROM jobs {_HELD}", _held(job)))

    async def release(self, job: Job, delay_seconds: float = 0.0) -> None:
        parameters = (self._clock() + delay_seconds, *_held(job))
        query = f"UPDATE jobs SET lease = '', leased_until = 0, due_at = ?, leases = leases - 1 {_HELD}"
        await self._database.execute((query, parameters))

    async def report(self, job: Job, progress: JobProgress) -> None:
        parameters = (progress.model_dump_json(), *_held(job))
        await self._database.execute((f"UPDATE jobs SET progress = ? {_HELD}", parameters))

    async def progress(self, document_id: str) -> dict[JobKind, JobProgress]:
        query = "SELECT kind, progress FROM jobs WHERE document_id = ?"
        rows = await self._database.rows(query, (document_id,))
        return {JobKind(row["kind"]): JobProgress(**json.loads(row["progress"])) for row in rows}

    async def sweep(self) -> None:
        """No row can be lost."""

    async def delete(self, document_id: str) -> None:
        query = "DELETE FROM jobs WHERE document_id = ? AND leased_until <= ?"
        await self._database.execute((query, (document_id, self._clock())))


def _row(document: Document, kind: JobKind, now: float) -> tuple[object, ...]:
    version = (document.blob_name, document.etag, document.sha256)
    # Due at once, also by a clock that was set back since.
    return (document.document_id, kind, *document.owner.key, *version, now, 0.0)


def _take(
    connection: sqlite3.Connection, document_id: str, kind: JobKind, now: float, seconds: float
) -> Job | None:
    lease = {"lease": uuid.uuid4().hex, "until": now + seconds, "now": now}
    row = connection.execute(_TAKE, {**lease, "document_id": document_id, "kind": kind}).fetchone()
    if row is None:
        return None
    owner = Owner(row["organization_id"], row["user_id"], row["conversation_id"])
    path = BlobPath(owner, row["blob_name"])
    return Job(kind=kind, path=path, etag=row["etag"], lease=row["lease"], leases=row["leases"])


def _held(job: Job) -> tuple[str, str, str]:
    return job.path.document_id, job.kind, job.lease
