"""The tables of the passage index in SQLite."""

from pathlib import Path

from core.documents.passages import split_pages
from core.infra.sqlite import Database
from core.models import Page
from core.names import Owner
from core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex


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
    counts = "SELECT term, count FROM search_counts ORDER BY term"
    before = await database.rows(counts)
    await index.place("d-1", Owner("acme", "ann", "c-1"))
    assert await index.unplaced() == []
    assert before and await database.rows(counts) == before
    await database.close()
