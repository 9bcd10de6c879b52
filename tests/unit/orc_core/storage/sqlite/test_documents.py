"""What the SQLite page store does besides what every page store does."""

import asyncio
import threading
from pathlib import Path

from orc_core.infra.sqlite import READERS, Database
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


async def test_few_pages_are_read_while_all_threads_are_busy(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    store, go_on = SqlitePageStore(database), threading.Event()
    await store.save("d1", BOXED)
    busy = [asyncio.ensure_future(database.read(lambda _: go_on.wait())) for _ in range(READERS)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(10):
            assert [page.text for page in await store.get("d1", [2, 3])] == ["no boxes"]
    finally:
        go_on.set()
        await asyncio.gather(*busy)
        await database.close()
