"""The tables of the passage index in SQLite."""

import sqlite3
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


async def test_nothing_is_left_of_a_deleted_document(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    owners = {"d-1": Owner.of_context("acme", "w" * 16), "d-2": Owner("acme", "ann", "c-1")}
    for document_id, owner in owners.items():
        passages = split_pages(document_id, [Page(number=1, text="The ferry leaves at noon.")])
        await index.save(document_id, "plan.txt", passages, owner)
    for document_id in owners:
        await index.delete(document_id)
    tables = await database.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'search_*'"
    )
    assert len(tables) >= 5
    for table in tables:
        assert await database.rows(f"SELECT * FROM {table['name']}") == []
    await database.close()


async def test_a_document_saved_without_its_owner_is_placed_later(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    await index.save(
        "d-1", "plan.txt", split_pages("d-1", [Page(number=1, text="The ferry leaves at noon.")])
    )
    assert await index.unplaced() == ["d-1"]
    counts = "SELECT term, count FROM search_batches ORDER BY term"
    before = await database.rows(counts)
    await index.place("d-1", Owner("acme", "ann", "c-1"))
    assert await index.unplaced() == []
    assert before and await database.rows(counts) == before
    await database.close()


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


async def test_documents_that_an_earlier_version_indexed_meanwhile_are_found(tmp_path: Path) -> None:
    database, owner = Database(tmp_path / "orc.db"), Owner("acme", "ann", "c-1")
    await database.migrate(SCHEMA)
    index, everything = SqlitePassageIndex(database, [], most_ranked=1), Accessible.of_owner(owner)
    for document_id in ("d-1", "d-2", "d-3"):
        page = Page(number=1, text="The ferry leaves at noon.")
        await index.save(document_id, "plan.txt", split_pages(document_id, [page]), owner)
    # The key of the last document is used again, that of the first is not.
    await save_as_before(database, "d-3", "The canary sings.")
    await save_as_before(database, "d-1", "The zebra sleeps.")
    await save_as_before(database, "d-4", "The heron waits.")

    await database.migrate(SCHEMA)
    assert await index.unplaced() == ["d-1", "d-3", "d-4"]
    for document_id in await index.unplaced():
        await index.place(document_id, owner)
    asked = ("canary", "zebra", "heron", "ferry")
    assert [await index.candidates(word, everything) for word in asked] == [
        ["d-3"],
        ["d-1"],
        ["d-4"],
        ["d-2"],
    ]
    [(noons,)] = await database.rows("SELECT count(*) FROM search_batches WHERE term = 'noon'")
    assert noons == 1
    await database.close()


async def test_nothing_is_left_of_a_document_that_an_earlier_version_deletes(tmp_path: Path) -> None:
    database, owner = Database(tmp_path / "orc.db"), Owner("acme", "ann", "c-1")
    await database.migrate(SCHEMA)
    passages = split_pages("d-1", [Page(number=1, text="The ferry leaves at noon.")])
    await SqlitePassageIndex(database).save("d-1", "plan.txt", passages, owner)
    await database.write(lambda connection: delete_as_before(connection, "d-1"))
    for table in ("search_owners", "search_batches", "search_terms", "search_documents"):
        assert await database.rows(f"SELECT * FROM {table}") == []
    await database.close()


async def test_tables_of_a_development_version_are_replaced(tmp_path: Path) -> None:
    database, owner = Database(tmp_path / "orc.db"), Owner("acme", "ann", "c-1")
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    passages = split_pages("d-1", [Page(number=1, text="The ferry leaves at noon.")])
    await index.save("d-1", "plan.txt", passages, owner)
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
    await index.place("d-1", owner)
    assert before and await database.rows(counts) == before
    old = "SELECT * FROM sqlite_master WHERE name IN ('search_counts', 'search_places')"
    assert await database.rows(old) == []
    await database.close()


async def test_a_document_takes_as_many_writes_however_many_there_are(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    index, text = SqlitePassageIndex(database), " ".join(f"word{number}" for number in range(3000))
    passages = split_pages("d-1", [Page(number=1, text=text)])

    async def written(number: int) -> int:
        """The pages of the log after a save."""
        await database.empty_log()
        await index.save(f"d-{number}", "plan.txt", passages, Owner("acme", "ann", "c-1"))
        [(_, pages, _)] = await database.rows("PRAGMA wal_checkpoint(PASSIVE)")
        return int(pages)

    found = [await written(number) for number in range(5 * BATCH)]
    first, *_, last = (sum(found[start : start + BATCH]) for start in range(0, len(found), BATCH))
    assert 0 < last < 1.2 * first
    await database.close()
