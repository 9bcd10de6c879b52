"""The tables of the passage index in SQLite."""

import asyncio
import threading
from pathlib import Path

from core.documents.passages import split_pages
from core.infra.sqlite import READERS, Database
from core.models import Page
from core.names import Owner
from core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex
from core.storage.sqlite.places import BATCH


async def test_nothing_is_left_of_a_deleted_document(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    passages = split_pages("d-1", [Page(number=1, text="The ferry leaves at noon.")])
    await index.save("d-1", "plan.txt", passages, Owner.of_context("acme", "w" * 16))
    await index.copy("d-1", "d-2", "plan.txt", Owner("acme", "ann", "c-1"))
    # Indexed again without its owner, a document stays where it is.
    await index.save("d-1", "plan.txt", passages)
    assert await index.unplaced() == []
    for document_id in ("d-1", "d-2"):
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


async def test_tables_of_a_development_version_are_replaced(tmp_path: Path) -> None:
    database, owner = Database(tmp_path / "orc.db"), Owner("acme", "ann", "c-1")
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    passages = split_pages("d-1", [Page(number=1, text="The ferry leaves at noon.")])
    await index.save("d-1", "plan.txt", passages, owner)
    counts = "SELECT * FROM search_batches ORDER BY term"
    before = await database.rows(counts)
    await database.execute(
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


async def test_a_brief_search_waits_for_no_thread_and_any_other_does(tmp_path: Path) -> None:
    database, go_on = Database(tmp_path / "orc.db"), threading.Event()
    await database.migrate(SCHEMA)
    index = SqlitePassageIndex(database)
    await index.save(
        "d-1", "plan.txt", split_pages("d-1", [Page(number=1, text="The ferry leaves at noon.")])
    )
    busy = [asyncio.ensure_future(database.read(lambda _: go_on.wait())) for _ in range(READERS)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(10):
            [hit] = await index.search("When does the ferry leave?", ["d-1"], 5)
        misspelt = asyncio.create_task(index.search("When does the fery leave?", ["d-1"], 5))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not misspelt.done()
    finally:
        go_on.set()
        await asyncio.gather(*busy)
    assert [each.passage for each in await misspelt] == [hit.passage]
    await database.close()
