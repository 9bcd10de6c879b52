"""The database: transactions that hold, threads that do not block, and errors in our own words."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path

import pytest

from orc_core.errors import DataNotUsable, DependencyDown, DiskFull, DiskReadOnly
from orc_core.infra.sqlite import LOG_BYTES, SCHEMA_VERSION, Database

pytestmark = pytest.mark.slow

caller: ContextVar[str] = ContextVar("caller")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "data" / "orc.db")
    await database.migrate("CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY)")
    yield database
    await database.close()


def insert(connection: sqlite3.Connection, name: str = "a") -> None:
    connection.execute("INSERT INTO items VALUES (?)", (name,))


async def names(database: Database) -> list[str]:
    rows = await database.read(lambda c: c.execute("SELECT name FROM items ORDER BY name").fetchall())
    return [row["name"] for row in rows]


async def test_what_was_written_is_read_by_all_who_open_the_file(database: Database) -> None:
    await database.write(insert)
    assert await names(database) == ["a"]
    other = Database(database.path)
    assert await names(other) == ["a"]
    await other.close()


async def test_a_write_gives_the_result_of_its_work(database: Database) -> None:
    assert await database.write(lambda connection: connection.total_changes) == 0


async def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    database = Database(tmp_path / "data" / "orc.db")
    await database.close()
    assert not database.path.parent.exists()


async def test_a_write_that_raises_is_rolled_back_whole(database: Database) -> None:
    def work(connection: sqlite3.Connection) -> None:
        insert(connection)
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await database.write(work)
    assert await names(database) == []
    await database.write(insert)
    assert await names(database) == ["a"]


async def test_a_commit_that_fails_does_not_block_the_next_write(database: Database) -> None:
    await database.migrate(
        "CREATE TABLE parts (item TEXT REFERENCES items (name) DEFERRABLE INITIALLY DEFERRED)"
    )
    with pytest.raises(sqlite3.IntegrityError):
        await database.execute(("INSERT INTO parts VALUES ('none')", ()))
    await database.write(insert)
    assert await names(database) == ["a"]


async def test_the_first_error_is_seen_where_sqlite_has_rolled_back_by_itself(database: Database) -> None:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR ROLLBACK INTO items VALUES ('a')")
        connection.execute("INSERT OR ROLLBACK INTO items VALUES ('a')")

    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.write(work)
    await database.write(insert)
    assert await names(database) == ["a"]


async def test_a_mistake_of_ours_is_not_called_an_outage(database: Database) -> None:
    await database.write(insert)
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(insert)
    with pytest.raises(sqlite3.ProgrammingError):
        await database.read(lambda connection: connection.execute("SELECT ?", ()))


async def test_a_reader_sees_one_moment(database: Database) -> None:
    looked, written = threading.Event(), threading.Event()

    def read_twice(connection: sqlite3.Connection) -> list[int]:
        counts = [connection.execute("SELECT count(*) FROM items").fetchone()[0]]
        looked.set()
        written.wait(10)
        return [*counts, connection.execute("SELECT count(*) FROM items").fetchone()[0]]

    reading = asyncio.create_task(database.read(read_twice))
    await asyncio.to_thread(looked.wait, 10)
    await database.write(insert)
    written.set()
    assert await reading == [0, 0]
    assert await names(database) == ["a"]


async def test_reads_do_not_wait_for_a_write(database: Database) -> None:
    inside, finish = threading.Event(), threading.Event()

    def write_slowly(connection: sqlite3.Connection) -> None:
        insert(connection)
        inside.set()
        finish.wait(10)

    writing = asyncio.create_task(database.write(write_slowly))
    await asyncio.to_thread(inside.wait, 10)
    assert await names(database) == []
    finish.set()
    await writing
    assert await names(database) == ["a"]


async def test_writes_of_two_processes_take_turns(database: Database) -> None:
    other = Database(database.path)

    def increment(connection: sqlite3.Connection) -> None:
        count = connection.execute("SELECT count(*) FROM items").fetchone()[0]
        insert(connection, f"{count:03}")

    await asyncio.gather(*((database, other)[number % 2].write(increment) for number in range(60)))
    assert await names(database) == [f"{number:03}" for number in range(60)]
    await other.close()


async def test_every_connection_is_durable_checks_foreign_keys_and_overwrites_what_is_deleted(
    database: Database,
) -> None:
    def settings(connection: sqlite3.Connection) -> list[object]:
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "journal_size_limit")
        return [connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]

    expected = ["wal", 2, 1, 1, LOG_BYTES]
    assert await database.read(settings) == expected
    assert await database.write(settings) == expected


async def test_migrations_can_be_repeated_and_are_all_or_nothing(database: Database) -> None:
    await database.migrate("CREATE TABLE IF NOT EXISTS one (x);\n\nCREATE TABLE IF NOT EXISTS two (x);\n")
    await database.migrate("CREATE TABLE IF NOT EXISTS one (x)", "CREATE TABLE IF NOT EXISTS two (x)")
    with pytest.raises(DependencyDown):
        await database.migrate("CREATE TABLE three (x)", "CREATE TABLE nonsense")
    tables = await database.read(lambda c: c.execute("SELECT name FROM sqlite_master").fetchall())
    assert {"one", "two"} <= {row["name"] for row in tables}
    assert "three" not in {row["name"] for row in tables}


async def test_ping_passes_where_the_file_works(database: Database) -> None:
    await database.ping()


async def test_a_file_that_is_no_database_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "orc.db").write_text("no database " * 1000)
    database = Database(tmp_path / "orc.db")
    for _ in range(2):
        with pytest.raises(DependencyDown) as down:
            await database.ping()
        assert down.value.dependency == "store"
    await database.close()


async def test_ping_notices_that_a_file_in_use_was_damaged(database: Database) -> None:
    await database.ping()
    for path in database.path.parent.iterdir():
        path.write_bytes(b"\0" * 100 + b"no database " * 1000)
    with pytest.raises(DependencyDown):
        await database.ping()


async def test_a_folder_that_cannot_be_made_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    database = Database(tmp_path / "data" / "orc.db")
    with pytest.raises(DependencyDown):
        await database.ping()
    await database.close()


OPEN_ALL_AT_ONCE = """
import asyncio, sys, time
from pathlib import Path
from orc_core.infra.sqlite import Database

async def main() -> None:
    database = Database(Path(sys.argv[1]))
    time.sleep(max(0, float(sys.argv[2]) - time.time()))
    await database.migrate("CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY)")
    read = database.read
    await asyncio.gather(*(read(lambda c: c.execute("SELECT * FROM items").fetchall()) for _ in range(8)))
    await database.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_processes_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    for attempt in range(4):
        command = [
            sys.executable,
            "-c",
            OPEN_ALL_AT_ONCE,
            str(tmp_path / f"{attempt}.db"),
            str(time.time() + 0.6),
        ]
        opening = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        errors = [process.communicate(timeout=30)[1] for process in opening]
        assert errors == [""] * 4


def test_a_new_file_waits_while_another_process_locks_it(tmp_path: Path) -> None:
    """The same race made certain: SQLite does not wait for this lock by itself."""
    holder = sqlite3.connect(tmp_path / "orc.db", isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: holder.execute("COMMIT"))

    async def ping() -> None:
        database = Database(tmp_path / "orc.db")
        await database.ping()
        await database.close()

    release.start()
    asyncio.run(ping())
    release.join()
    holder.close()


async def test_closing_lets_running_work_finish(database: Database) -> None:
    writing = asyncio.create_task(database.write(insert))
    await asyncio.sleep(0)
    await database.close()
    await writing
    check = Database(database.path)
    assert await names(check) == ["a"]
    await check.close()


async def test_a_cursor_may_not_leave_its_thread_and_nothing_is_written(database: Database) -> None:
    with pytest.raises(TypeError, match="cursor"):
        await database.write(lambda connection: connection.execute("INSERT INTO items VALUES ('a')"))
    assert await names(database) == []


async def test_execute_runs_all_statements_and_counts_the_changes_of_the_last(database: Database) -> None:
    insert = "INSERT INTO items VALUES (?)"
    assert await database.execute((insert, ("a",)), (insert, ("b",)), ("DELETE FROM items", ())) == 2
    assert await names(database) == []


async def test_execute_keeps_nothing_if_one_statement_fails(database: Database) -> None:
    insert = "INSERT INTO items VALUES (?)"
    with pytest.raises(sqlite3.IntegrityError):
        await database.execute((insert, ("a",)), (insert, ("a",)))
    assert await names(database) == []


SECRET = "the vault opens with 7-3-9 "


def stored_in_files(database: Database, text: str = SECRET) -> list[str]:
    """The files of the database that hold a text."""
    folder = database.path.parent
    return sorted(path.name for path in folder.iterdir() if text.encode() in path.read_bytes())


async def store_and_rewrite(database: Database) -> None:
    """A row in the file and in the log, and an earlier version of it in free pages."""
    await database.execute(("INSERT INTO items VALUES (?)", (SECRET * 1000,)))
    await database.empty_log()
    await database.execute(("UPDATE items SET name = ?", (SECRET * 900,)))
    assert stored_in_files(database) == ["orc.db", "orc.db-wal"]


async def test_what_was_erased_is_in_no_file_while_the_database_is_open(database: Database) -> None:
    await store_and_rewrite(database)
    assert await database.execute(("DELETE FROM items", ())) == 1
    await database.empty_log()
    assert stored_in_files(database) == []


async def test_what_was_deleted_during_a_long_read_leaves_the_log_with_the_next_upkeep(
    database: Database,
) -> None:
    await store_and_rewrite(database)
    reader = sqlite3.connect(database.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM items").fetchone()
    assert await database.execute(("DELETE FROM items", ())) == 1
    await database.empty_log()
    assert "orc.db-wal" in stored_in_files(database)
    reader.close()
    assert await database.empty_log()
    assert stored_in_files(database) == []


async def test_a_full_disk_does_not_turn_a_deletion_into_a_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(tmp_path / "orc.db")
    database.path.write_text("no database " * 1000)
    assert not await database.empty_log()
    assert "the database's log was not emptied: DatabaseError" in caplog.text
    await database.close()


async def test_closing_empties_the_log(database: Database) -> None:
    await database.write(insert)
    other = sqlite3.connect(database.path)
    other.execute("SELECT count(*) FROM items").fetchone()
    other.commit()
    await database.close()
    assert database.path.with_name("orc.db-wal").stat().st_size == 0
    other.close()


def set_version(path: Path, version: int) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    return path.read_bytes()


async def test_a_database_of_a_newer_version_is_refused_and_stays_as_it_is(database: Database) -> None:
    await database.write(insert)
    await database.close()
    before = set_version(database.path, SCHEMA_VERSION + 1)
    newer = Database(database.path)
    actions = (
        newer.ping(),
        newer.execute(("DELETE FROM items", ())),
        newer.migrate("CREATE TABLE IF NOT EXISTS more (x)"),
    )
    for action in actions:
        with pytest.raises(DataNotUsable, match=r"orc\.db was written by a newer version of Orc") as refused:
            await action
        assert (refused.value.dependency, refused.value.retryable) == ("store", False)
    await newer.close()
    assert database.path.read_bytes() == before


async def test_a_database_without_a_version_gets_the_present_one(database: Database) -> None:
    await database.close()
    set_version(database.path, 0)
    older = Database(database.path)
    await older.migrate("CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY)")
    [row] = await older.rows("PRAGMA user_version")
    assert row[0] == SCHEMA_VERSION
    await older.close()


async def test_a_script_may_have_triggers(database: Database) -> None:
    script = """
    CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON items WHEN new.name = 'a;b' BEGIN
        INSERT INTO items VALUES ('one;');
        INSERT INTO items VALUES ('two');
    END;
    CREATE TABLE IF NOT EXISTS more (name TEXT)
    """
    for _ in range(2):
        await database.migrate("CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY)", script)
    await database.execute(("INSERT INTO items VALUES ('a;b')", ()))
    assert [row["name"] for row in await database.rows("SELECT name FROM items ORDER BY name")] == [
        "a;b",
        "one;",
        "two",
    ]
    assert await database.rows("SELECT * FROM more") == []


async def test_a_table_of_an_unknown_version_is_refused_before_anything_is_changed(
    database: Database,
) -> None:
    with pytest.raises(DataNotUsable, match="a table items without added, size"):
        await database.migrate(
            "CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY, size INTEGER, added TEXT)",
            "CREATE TABLE IF NOT EXISTS more (x)",
        )
    tables = await database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    assert [row["name"] for row in tables] == ["items"]


async def test_a_full_disk_is_named_and_nothing_of_the_transaction_is_stored(database: Database) -> None:
    def limit(connection: sqlite3.Connection, pages: int) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    await database.write(lambda connection: limit(connection, 8))
    with pytest.raises(DiskFull, match="The disk of the database is full") as full:
        await database.execute(
            ("INSERT INTO items VALUES ('a')", ()), ("INSERT INTO items VALUES (?)", ("b" * 100_000,))
        )
    assert (full.value.dependency, full.value.retryable) == ("store", True)
    assert await names(database) == []
    await database.write(lambda connection: limit(connection, 100_000))
    await database.write(insert)
    assert await names(database) == ["a"]


async def test_a_database_that_may_only_be_read_is_called_so(database: Database) -> None:
    def forbid(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA query_only = ON")

    await database.write(forbid)
    with pytest.raises(DiskReadOnly, match="The database may only be read") as refused:
        await database.write(insert)
    assert refused.value.dependency == "store"
    assert await names(database) == []


class OfCode(sqlite3.OperationalError):
    """An error of SQLite with this code."""

    def __init__(self, code: int) -> None:
        super().__init__("disk I/O error")
        self.sqlite_errorcode = code


@pytest.mark.parametrize(
    ("code", "is_mounted_so", "is_read_only"),
    [
        (sqlite3.SQLITE_READONLY_CANTINIT, False, True),
        (sqlite3.SQLITE_READONLY_DIRECTORY, False, True),
        (sqlite3.SQLITE_READONLY_DBMOVED, False, False),
        (sqlite3.SQLITE_IOERR_WRITE, True, True),
        (sqlite3.SQLITE_IOERR_WRITE, False, False),
        (sqlite3.SQLITE_BUSY, True, False),
    ],
)
async def test_a_disk_that_became_read_only_is_named(
    database: Database, monkeypatch: pytest.MonkeyPatch, code: int, is_mounted_so: bool, is_read_only: bool
) -> None:
    def refused(_connection: sqlite3.Connection) -> None:
        raise OfCode(code)

    mount(database.path.parent, monkeypatch, is_read_only=is_mounted_so)
    with pytest.raises(DependencyDown) as failed:
        await database.write(refused)
    assert isinstance(failed.value, DiskReadOnly) is is_read_only


@pytest.mark.parametrize("is_read_only", [False, True])
async def test_a_database_that_cannot_be_opened_is_read_only_if_its_disk_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read_only: bool
) -> None:
    (folder := tmp_path / "orc.db").mkdir()
    mount(tmp_path, monkeypatch, is_read_only=is_read_only)
    with pytest.raises(DependencyDown) as failed:
        await Database(folder).ping()
    assert isinstance(failed.value, DiskReadOnly) is is_read_only


def mount(folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_read_only: bool) -> None:
    """Let the file system of the folder be mounted so, as far as the system reports it."""
    state = os.statvfs(folder)
    flags = state.f_flag | os.ST_RDONLY if is_read_only else state.f_flag & ~os.ST_RDONLY
    fields = [*state[:8], flags, *state[9:]]
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(fields) if path == folder else state)
