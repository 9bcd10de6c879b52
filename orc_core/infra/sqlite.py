"""One SQLite file shared by both processes: a single writer thread, a few reader threads, WAL, full sync."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from opentelemetry.trace import SpanKind

from orc_core.errors import DataNotUsable, DependencyDown
from orc_core.infra.exhaustion import exhausted
from orc_core.infra.telemetry.spans import long_step

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
SCHEMA_VERSION = 2
"""The version of the tables, stored as `user_version`. Orc 0.2 and earlier stored none, which reads as 0."""
LOG_BYTES = 4 * 1024 * 1024
"""The size to which SQLite cuts the log after a large transaction; it grows to about that in any case."""
LOG_WAIT_MS = 250
"""How long emptying the log waits for readers."""
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    # Not every build of SQLite has this on: deleted rows are overwritten with zeros.
    "PRAGMA secure_delete = ON",
    f"PRAGMA journal_size_limit = {LOG_BYTES}",
)
_OUR_FAULT = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.NotSupportedError)


log = logging.getLogger(__name__)


class Database:
    """Runs functions of a connection off the event loop.

    `write` gives its function one transaction that is on disk when it returns; `read` gives a
    consistent snapshot. Connections are opened on first use, one per thread. Any method raises
    DataNotUsable if the file was written by a newer version.
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

    async def empty_log(self) -> bool:
        """Move the log's content into the file and truncate the log; False if that has to wait.

        What was deleted before is then neither in the file nor in its log. It has to wait while another
        process reads an older state of the file.
        """
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._empty_log)

    async def migrate(self, *scripts: str) -> None:
        """Bring the schema up to date; every statement must be safe to repeat.

        Raises DataNotUsable, and changes nothing, if a table lacks a column: it is of an unknown version.
        """
        statements = [statement for script in scripts for statement in _statements(script)]

        def work(connection: sqlite3.Connection) -> None:
            _check_tables(connection, statements)
            for statement in statements:
                connection.execute(statement)
            if _version_of(connection) != SCHEMA_VERSION:
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

        await self.write(work)

    async def ping(self) -> None:
        """Raise DependencyDown unless the file can be read now."""
        await self.rows("SELECT count(*) FROM sqlite_master")

    async def close(self) -> None:
        """Finish what is running, empty the log and close every connection."""
        if self._opened:
            await self.empty_log()
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._readers.shutdown)
        while self._opened:
            self._opened.pop().close()

    async def _run(self, what: str, pool: ThreadPoolExecutor, begin: str, work: Work[Result]) -> Result:
        with (
            long_step(
                f"sqlite {what}",
                seconds=SPAN_SECONDS,
                kind=SpanKind.CLIENT,
                attributes={"db.system.name": "sqlite"},
            ),
            _translated(self.path.parent),
        ):
            return await asyncio.get_running_loop().run_in_executor(pool, self._transact, begin, work)

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
            # SQLite may have rolled back by itself, for example because the disk is full.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _empty_log(self) -> bool:
        try:
            connection = self._connection()
            connection.execute(f"PRAGMA busy_timeout = {LOG_WAIT_MS}")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        except (sqlite3.DatabaseError, OSError, DataNotUsable) as exc:
            # The deletion is done; only the log still has what was deleted.
            log.warning("the database's log was not emptied: %s", type(exc).__name__)
            return False
        return not busy

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            try:
                _prepare(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._opened.append(connection)
            self._local.connection = connection
        return connection


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Raise an error of orc_core/errors.py for an error of SQLite inside, on a database in this folder."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as exc:
        if isinstance(exc, _OUR_FAULT):
            raise
        if (full := exhausted(exc, "the database", "store", folder)) is not None:
            raise full from exc
        raise DependencyDown("The database cannot be used right now.", dependency="store") from exc


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.row_factory = sqlite3.Row
    # SQLite itself knows the lower case of ASCII letters only.
    connection.create_function("lower_case", 1, lambda text: text and text.lower(), deterministic=True)
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    check_version(connection, path)
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


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise DataNotUsable if a newer version has written the file."""
    if (version := _version_of(connection)) > SCHEMA_VERSION:
        raise DataNotUsable(
            f"The database {path.name} was written by a newer version of Orc: its format is {version}, and"
            f" this version reads up to {SCHEMA_VERSION}. Install the newer one, or restore a backup.",
            dependency="store",
        )


def damage_of(connection: sqlite3.Connection) -> str:
    """What SQLite finds wrong with the file, in a few words; "" if nothing."""
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    except sqlite3.DatabaseError as exc:
        return str(exc)
    return "" if found == ["ok"] else "; ".join(line.strip() for line in found)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script. The body of a trigger contains semicolons too."""
    statement = ""
    for part in script.strip().removesuffix(";").split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement:
        yield statement  # SQLite says what is wrong with it


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_tables(connection: sqlite3.Connection, statements: Sequence[str]) -> None:
    with closing(sqlite3.connect(":memory:")) as wanted:
        for statement in statements:
            wanted.execute(statement)
        for (table,) in wanted.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            present = _columns(connection, table)
            if present and (missing := _columns(wanted, table) - present):
                raise DataNotUsable(
                    f"The database has a table {table} without {', '.join(sorted(missing))}: an unknown"
                    " version of Orc has written it. Install that version, or restore a backup.",
                    dependency="store",
                )


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
