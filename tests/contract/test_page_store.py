"""What every page store must do."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devkit.azure.storage import fresh_container, opened
from devkit.azure.targets import Target
from orc_core.documents.ports import PageStore
from orc_core.infra.sqlite import Database
from orc_core.models import Page
from orc_core.storage.blob.documents import BlobPageStore
from orc_core.storage.sqlite.documents import PAGES_SCHEMA as SCHEMA
from orc_core.storage.sqlite.documents import SqlitePageStore

pytestmark = pytest.mark.contract("page store")

PAGES = [
    Page(number=1, text="First page.\nIt has lines.", label="Introduction", tokens=6),
    Page(number=2, text=""),
    Page(number=4, text="naïve – 日本語 😀 e\u0301 nul:\0 'quoted'; \r\n", label="Sheet 2", tokens=9),
]


@pytest.fixture(params=["sqlite", "azurite"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def open_sqlite(folder: Path) -> AsyncIterator[PageStore]:
    database = Database(folder / "orc.db")
    await database.migrate(SCHEMA)
    yield SqlitePageStore(database)
    await database.close()


@pytest.fixture
async def pair(target: Target | None, tmp_path: Path) -> AsyncIterator[tuple[PageStore, PageStore]]:
    """Two stores over the same pages, as two processes hold them."""
    if target is None:
        async with open_sqlite(tmp_path) as first, open_sqlite(tmp_path) as second:
            yield first, second
    else:
        async with fresh_container(target) as (storage, name), opened(target) as other:
            yield BlobPageStore(storage, name), BlobPageStore(other, name)


@pytest.fixture
def store(pair: tuple[PageStore, PageStore]) -> PageStore:
    return pair[0]


async def test_pages_come_back_character_by_character(pair: tuple[PageStore, PageStore]) -> None:
    await pair[0].save("d1", PAGES)
    assert await pair[1].get("d1") == PAGES


async def test_pages_come_back_in_order_however_they_are_asked_for(store: PageStore) -> None:
    await store.save("d1", PAGES[::-1])
    assert await store.get("d1", [4, 3, 1, 4]) == [PAGES[0], PAGES[2]]
    assert await store.get("d1", []) == []
    assert await store.get("d1", None) == PAGES


async def test_a_save_replaces_all_pages(store: PageStore) -> None:
    await store.save("d1", PAGES)
    await store.save("d1", PAGES[1:2])
    assert await store.get("d1") == PAGES[1:2]
    await store.save("d1", [])
    assert await store.get("d1") == []


async def test_a_save_that_fails_leaves_the_pages_as_they_were(store: PageStore) -> None:
    await store.save("d1", PAGES)
    with pytest.raises(Exception, match="surrogates"):
        await store.save("d1", [Page(number=1, text="new"), Page(number=2, text="\ud800")])
    assert await store.get("d1") == PAGES


async def test_a_document_does_not_touch_the_pages_of_another(store: PageStore) -> None:
    other = [Page(number=1, text="other")]
    await store.save("d1", PAGES)
    await store.save("d2", other)
    await store.delete("d1")
    assert await store.get("d1") == []
    assert await store.get("d2") == other
    await store.delete("d1")


async def test_a_reader_sees_one_version_whole(pair: tuple[PageStore, PageStore]) -> None:
    versions = [[Page(number=n, text=f"{version}") for n in range(1, 60)] for version in range(10)]
    await pair[0].save("d1", versions[0])

    async def replace() -> None:
        for version in versions:
            await pair[0].save("d1", version)

    replacing = asyncio.create_task(replace())
    while not replacing.done():
        assert await pair[1].get("d1") in versions
    await replacing


async def test_saves_of_two_processes_at_once_are_all_kept(pair: tuple[PageStore, PageStore]) -> None:
    await asyncio.gather(*(pair[number % 2].save(f"d{number}", PAGES) for number in range(30)))
    for store in pair:
        assert [await store.get(f"d{number}") for number in range(30)] == [PAGES] * 30


BOXED = [Page(number=1, text="one two", boxes=b"\0\1\2\3\0\1\2\3"), Page(number=2, text="no boxes")]


async def test_boxes_are_read_by_the_page_and_never_with_the_text(
    pair: tuple[PageStore, PageStore],
) -> None:
    await pair[0].save("d1", BOXED)
    assert await pair[1].boxes("d1", 1) == BOXED[0].boxes
    assert await pair[1].boxes("d1", 2) == await pair[1].boxes("d1", 3) == await pair[1].boxes("d2", 1) == b""
    assert [page.boxes for page in await pair[1].get("d1")] == [b"", b""]
    assert [page.boxes for page in await pair[1].get("d1", [1])] == [b""]


async def test_boxes_go_when_their_page_is_replaced_or_deleted(store: PageStore) -> None:
    await store.save("d1", BOXED)
    await store.save("d1", [Page(number=1, text="something else")])
    assert await store.boxes("d1", 1) == b""
    await store.save("d1", BOXED)
    await store.delete("d1")
    assert await store.boxes("d1", 1) == b""


async def test_a_copy_replaces_all_pages_and_boxes_of_its_target(pair: tuple[PageStore, PageStore]) -> None:
    await pair[0].save("d1", [*BOXED, PAGES[2]])
    await pair[0].save("d2", [Page(number=7, text="old", boxes=bytes(8)), Page(number=2, text="old")])
    await pair[0].copy("d1", "d2")
    assert await pair[1].get("d2") == await pair[1].get("d1")
    assert [await pair[1].boxes("d2", number) for number in (1, 2, 7)] == [BOXED[0].boxes, b"", b""]
    await pair[0].delete("d1")
    assert await pair[1].boxes("d2", 1) == BOXED[0].boxes


async def test_a_document_copied_onto_itself_stays(store: PageStore) -> None:
    await store.save("d1", BOXED)
    await store.copy("d1", "d1")
    assert len(await store.get("d1")) == 2
    assert await store.boxes("d1", 1) == BOXED[0].boxes


async def test_a_copy_of_nothing_is_nothing(store: PageStore) -> None:
    await store.save("d2", BOXED)
    await store.copy("d1", "d2")
    assert await store.get("d2") == []


MANY = [
    Page(number=n, text=f"{n} {os.urandom(40).hex()} " * 12, tokens=n, boxes=os.urandom(800))
    for n in range(1, 3001)
]
"""Too much for any store to read in one piece."""


@pytest.mark.slow
async def test_pages_are_found_among_thousands(pair: tuple[PageStore, PageStore]) -> None:
    plain = [page.model_copy(update={"boxes": b""}) for page in MANY]
    await pair[0].save("d1", MANY)
    assert await pair[1].get("d1", [3000, 1, 1500, 1501]) == [plain[0], plain[1499], plain[1500], plain[2999]]
    assert await pair[1].get("d1", [1500]) == [plain[1499]]
    assert await pair[1].boxes("d1", 2222) == MANY[2221].boxes
    assert await pair[0].get("d1") == await pair[1].get("d1") == plain
    await pair[0].copy("d1", "d2")
    assert await pair[1].get("d2") == plain


@pytest.mark.slow
async def test_a_reader_who_knows_a_document_sees_it_replaced_and_deleted(
    pair: tuple[PageStore, PageStore],
) -> None:
    writer, reader = pair
    for stored in (MANY, BOXED, MANY[:2000], []):
        await writer.save("d1", stored)
        assert [page.number for page in await reader.get("d1", [1, 2, 2999])] == [
            page.number for page in stored if page.number in {1, 2, 2999}
        ]
        assert await reader.boxes("d1", 1) == (stored[0].boxes if stored else b"")
    await writer.save("d1", MANY)
    assert await reader.get("d1", [2999])
    await writer.delete("d1")
    assert await reader.get("d1", [2999]) == await reader.get("d1") == []
    assert await reader.boxes("d1", 2999) == b""
