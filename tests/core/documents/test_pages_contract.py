"""What every page store must do."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from core.documents.models import Page
from core.documents.ports import PageStore
from core.documents.sqlite_pages import SCHEMA, SqlitePageStore
from core.sqlite import Database

Open = Callable[[Path], AbstractAsyncContextManager[PageStore]]
PAGES = [
    Page(number=1, text="First page.\nIt has lines.", label="Introduction", tokens=6),
    Page(number=2, text=""),
    Page(number=4, text="naïve – 日本語 😀 e\u0301 nul:\0 'quoted'; \r\n", label="Sheet 2", tokens=9),
]


@asynccontextmanager
async def open_sqlite(folder: Path) -> AsyncIterator[PageStore]:
    database = Database(folder / "orc.db")
    await database.migrate(SCHEMA)
    yield SqlitePageStore(database)
    await database.close()


STORES: dict[str, Open] = {"sqlite": open_sqlite}


@pytest.fixture(params=sorted(STORES))
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[PageStore, PageStore]]:
    """Two stores over the same pages, as two processes hold them."""
    opened = STORES[request.param]
    async with opened(tmp_path) as first, opened(tmp_path) as second:
        yield first, second


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


async def test_a_document_without_pages_has_none(store: PageStore) -> None:
    assert await store.get("d1") == []
    assert await store.get("d1", [1]) == []


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
