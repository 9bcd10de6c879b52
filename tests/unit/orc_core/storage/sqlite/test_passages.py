"""The tables of the passage index in SQLite."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orc_core.documents.passages import split_pages
from orc_core.documents.places import Accessible
from orc_core.infra.sqlite import Database
from orc_core.models import Page
from orc_core.names import Owner
from orc_core.search.postings import index_passages
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex
from orc_core.storage.sqlite.places import BATCH

pytestmark = pytest.mark.slow


ANN = Owner("acme", "ann", "c-1")
FERRY = "The ferry leaves at noon."


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "orc.db")
    await opened.migrate(SCHEMA)
    yield opened
    await opened.close()


@pytest.fixture
def index(database: Database) -> SqlitePassageIndex:
    return SqlitePassageIndex(database, [], most_ranked=1)


async def save(index: SqlitePassageIndex, document_id: str, owner: Owner | None = ANN) -> None:
    passages = split_pages(document_id, [Page(number=1, text=FERRY)])
    await index.save(document_id, "plan.txt", passages, owner)


async def test_nothing_is_left_of_a_deleted_document(database: Database, index: SqlitePassageIndex) -> None:
    owners = {"d-1": Owner.of_context("acme", "w" * 16), "d-2": ANN}
    for document_id, owner in owners.items():
        await save(index, document_id, owner)
    for document_id in owners:
        await index.delete(document_id)
    tables = await database.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'search_*'"
    )
    assert len(tables) >= 5
    for table in tables:
        assert await database.rows(f"SELECT * FROM {table['name']}") == []


async def save_as_before(database: Database, document_id: str, text: str) -> None:
    """Index a document with the statements of Orc 0.2, which knows neither places nor counts."""
    index = index_passages("plan.txt", split_pages(document_id, [Page(number=1, text=text)]))

    def replace(connection: sqlite3.Connection) -> None:
        delete_as_before(connection, document_id)
        (key,) = connection.execute(
            "INSERT INTO search_documents (document_id, name, language, year, quarter, pages, starts, digits)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING document_key",
            (document_id, "plan.txt", index.language, None, None, *index.layout),
        ).fetchone()
        rows = ((key, term, *found) for term, found in index.postings.items())
        connection.executemany("INSERT INTO search_terms VALUES (?, ?, ?, ?)", rows)

    await database.write(replace)


def delete_as_before(connection: sqlite3.Connection, document_id: str) -> None:
    key = "(SELECT document_key FROM search_documents WHERE document_id = ?)"
    for table in ("search_terms", "search_passages", "search_documents"):
        connection.execute(f"DELETE FROM {table} WHERE document_key = {key}", (document_id,))


async def test_documents_that_an_earlier_version_indexed_meanwhile_are_found(
    database: Database, index: SqlitePassageIndex
) -> None:
    for document_id in ("d-1", "d-2", "d-3"):
        await save(index, document_id)
    # The key of the last document is used again, that of the first is not.
    await save_as_before(database, "d-3", "The canary sings.")
    await save_as_before(database, "d-1", "The zebra sleeps.")
    await save_as_before(database, "d-4", "The heron waits.")

    await database.migrate(SCHEMA)
    assert await index.unplaced() == ["d-1", "d-3", "d-4"]
    for document_id in await index.unplaced():
        await index.place(document_id, ANN)
    asked = ("canary", "zebra", "heron", "ferry")
    found = [await index.candidates(word, Accessible.of_owner(ANN)) for word in asked]
    assert found == [["d-3"], ["d-1"], ["d-4"], ["d-2"]]
    [(noons,)] = await database.rows("SELECT count(*) FROM search_batches WHERE term = 'noon'")
    assert noons == 1


async def test_nothing_is_left_of_a_document_that_an_earlier_version_deletes(
    database: Database, index: SqlitePassageIndex
) -> None:
    await save(index, "d-1")
    await database.write(lambda connection: delete_as_before(connection, "d-1"))
    for table in ("search_owners", "search_batches", "search_terms", "search_documents"):
        assert await database.rows(f"SELECT * FROM {table}") == []


async def test_tables_of_a_development_version_are_replaced(
    database: Database, index: SqlitePassageIndex
) -> None:
    await save(index, "d-1")
    counts = "SELECT * FROM search_batches ORDER BY term"
    before = await database.rows(counts)
    await database.execute(
        ("DROP TRIGGER search_document_deleted", ()),
        ("DROP TABLE search_batches", ()),
        ("CREATE TABLE search_counts (term TEXT, document_key INTEGER, count INTEGER)", ()),
        ("ALTER TABLE search_owners RENAME TO search_places", ()),
    )
    await database.migrate(SCHEMA)
    assert await index.unplaced() == ["d-1"]
    await index.place("d-1", ANN)
    assert before and await database.rows(counts) == before
    old = "SELECT * FROM sqlite_master WHERE name IN ('search_counts', 'search_places')"
    assert await database.rows(old) == []


async def test_a_document_takes_as_many_writes_however_many_there_are(
    database: Database, index: SqlitePassageIndex
) -> None:
    text = " ".join(f"word{number}" for number in range(3000))
    passages = split_pages("d-1", [Page(number=1, text=text)])

    async def written(number: int) -> int:
        """The pages of the log after a save."""
        await database.empty_log()
        await index.save(f"d-{number}", "plan.txt", passages, ANN)
        [(_, pages, _)] = await database.rows("PRAGMA wal_checkpoint(PASSIVE)")
        return int(pages)

    found = [await written(number) for number in range(3 * BATCH)]
    first, *_, last = (sum(found[start : start + BATCH]) for start in range(0, len(found), BATCH))
    assert 0 < last < 1.2 * first
