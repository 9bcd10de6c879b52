"""What the SQLite page store does besides what every page store does."""

from pathlib import Path

from orc_core.infra.sqlite import Database
from orc_core.models import Page
from orc_core.storage.sqlite.documents import PAGES_SCHEMA as SCHEMA
from orc_core.storage.sqlite.documents import SqlitePageStore

BOXED = [Page(number=1, text="one two", boxes=b"\0\1\2\3\0\1\2\3"), Page(number=2, text="no boxes")]


async def test_a_database_from_before_there_were_boxes_goes_on_to_be_used(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA.split(";")[0])
    await database.execute(("INSERT INTO pages VALUES ('d1', 1, '', 1, 'old')", ()))
    await database.migrate(SCHEMA)
    store = SqlitePageStore(database)
    assert [page.text for page in await store.get("d1")] == ["old"]
    assert await store.boxes("d1", 1) == b""
    await store.save("d1", BOXED)
    assert await store.boxes("d1", 1) == BOXED[0].boxes
    await database.close()
