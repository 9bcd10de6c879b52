"""One SQLite file shared by both processes: a single writer thread, a few reader threads, WAL, full sync."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from opentelemetry.trace import SpanKind

from core.errors import DependencyDown
from core.infra.telemetry.spans import long_step

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]
Parameters = Sequence[object] | Mapping[str, object]
Statement = tuple[str, Parameters]

BUSY_TIMEOUT_MS = 10_000
READERS = 4
SPAN_SECONDS = 0.001
"""A shorter statement gets no separate span in a trace."""
IN_LIST = "IN (SELECT value FROM json_each(?))"
"""A condition with one parameter: a list as JSON, of any length."""
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
_OUR_FAULT = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.NotSupportedError)


class Database:
    """Runs functions of a connection off the event loop.

    `write` gives its function one transaction that is on disk when it returns; `read` gives a
    consistent snapshot. Connections are opened on first use, one per thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []

    async def write(self, work: Work[Result]) -> Result:
        """Run `work` in a new transaction; an exception rolls it back."""
        return await self._run("write", self._writer, "BEGIN IMMEDIATE", work)

    async def read(self, work: Work[Result]) -> Result:
        """Run `work` on a snapshot; it must not write."""
        return await self._run("read", self._readers, "BEGIN", work)

    async def execute(self, *statements: Statement) -> int:
        """Run statements with their parameters in one transaction; returns the rows changed by the last."""

        def work(connection: sqlite3.Connection) -> int:
            changed = 0
            for sql, parameters in statements:
                changed = connection.execute(sql, parameters).rowcount
            return changed

        return await self.write(work)

    async def rows(self, query: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """All rows that a query finds."""
        return await self.read(lambda connection: connection.execute(query, parameters).fetchall())

    async def migrate(self, *scripts: str) -> None:
        """Bring the schema up to date; every statement must be safe to repeat."""
        statements = (line for script in scripts for line in script.split(";"))
        await self.execute(*((statement, ()) for statement in statements if statement.strip()))

    async def ping(self) -> None:
        """Raise DependencyDown unless the file can be read now."""
        await self.rows("SELECT count(*) FROM sqlite_master")

    async def close(self) -> None:
        """Finish what is running and close every connection."""
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._readers.shutdown)
        for connection in self._opened:
            connection.close()

    async def _run(self, what: str, pool: ThreadPoolExecutor, begin: str, work: Work[Result]) -> Result:
        with long_step(
            f"sqlite {what}",
            seconds=SPAN_SECONDS,
            kind=SpanKind.CLIENT,
            attributes={"db.system.name": "sqlite"},
        ):
            try:
                return await asyncio.get_running_loop().run_in_executor(pool, self._transact, begin, work)
            except (sqlite3.DatabaseError, OSError) as exc:
                if isinstance(exc, _OUR_FAULT):
                    raise
                raise DependencyDown("The database cannot be used right now.", dependency="store") from exc

    def _transact(self, begin: str, work: Work[Result]) -> Result:
        connection = self._connection()
        connection.execute(begin)
        try:
            result = work(connection)
            if isinstance(result, sqlite3.Cursor):
                # Dropped on another thread, it would reset a statement that this one may be running.
                raise TypeError("a cursor must not leave its thread: return rows, or nothing")
            connection.execute("COMMIT")
        except BaseException:
            # A full disk, for one, makes SQLite roll back by itself.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._opened.append(connection)
            connection.row_factory = sqlite3.Row
            for pragma in _PRAGMAS:
                connection.execute(pragma)
            _use_wal(connection)
            self._local.connection = connection
        return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    # If several connections open a new file at once, SQLite does not wait here but fails as "locked".
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
