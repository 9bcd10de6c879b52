"""What every analysis store must do."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from core.documents.analysis.models import Anchor, DocumentAnalysis, Entity, PageAnalysis, Relation
from core.documents.analysis.ports import AnalysisStore
from core.documents.analysis.sqlite_analyses import SCHEMA, SqliteAnalysisStore
from core.sqlite import Database

Open = Callable[[Path], AbstractAsyncContextManager[AnalysisStore]]
FIRST = DocumentAnalysis(document_id="d1", etag="1", method="extractive", pages=3)
PAGES = [
    PageAnalysis(
        page=1,
        summary="naïve – 日本語 😀 'quoted'; \r\n",
        topics=["one"],
        entities=[Entity(name="Contoso", type="organization")],
        anchors=[Anchor(kind="table", text="Table 1", target_page=2)],
        relations=[Relation(source="a", type="owns", target="b", evidence="a owns b")],
    ),
    PageAnalysis(page=2),
    PageAnalysis(page=10),
]


@asynccontextmanager
async def open_sqlite(folder: Path) -> AsyncIterator[AnalysisStore]:
    database = Database(folder / "orc.db")
    await database.migrate(SCHEMA)
    yield SqliteAnalysisStore(database)
    await database.close()


STORES: dict[str, Open] = {"sqlite": open_sqlite}


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnalysisStore]:
    async with STORES[request.param](tmp_path) as opened:
        yield opened


async def test_an_analysis_comes_back_whole(store: AnalysisStore) -> None:
    await store.save(FIRST)
    assert await store.get(["d1", "d2"]) == {"d1": FIRST}
    assert await store.get([]) == {}


async def test_pages_come_back_in_order_however_they_are_asked_for(store: AnalysisStore) -> None:
    await store.save(FIRST)
    assert await store.save_pages(FIRST, PAGES[::-1])
    assert await store.pages("d1") == PAGES
    assert await store.pages("d1", [10, 3, 1, 10]) == [PAGES[0], PAGES[2]]
    assert await store.pages("d1", []) == []
    assert await store.pages("d2") == []


async def test_pages_and_progress_are_stored_together(store: AnalysisStore) -> None:
    await store.save(FIRST)
    further = FIRST.model_copy(update={"pages_done": 1, "input_tokens": 7})
    assert await store.save_pages(further, PAGES[:1])
    assert (await store.get(["d1"]))["d1"] == further
    again = PAGES[0].model_copy(update={"summary": "new"})
    assert await store.save_pages(further, [again, PAGES[1]])
    assert await store.pages("d1") == [again, PAGES[1]]


@pytest.mark.parametrize("change", [{"etag": "2"}, {"method": "other"}, {"document_id": "gone"}])
async def test_pages_of_a_version_that_was_replaced_are_not_stored(
    store: AnalysisStore, change: dict[str, str]
) -> None:
    await store.save(FIRST)
    stale = FIRST.model_copy(update={**change, "pages_done": 3})
    assert not await store.save_pages(stale, PAGES)
    assert await store.get(["d1", "gone"]) == {"d1": FIRST}
    assert await store.pages("d1") == await store.pages("gone") == []


async def test_a_save_keeps_the_pages(store: AnalysisStore) -> None:
    await store.save(FIRST)
    await store.save_pages(FIRST, PAGES)
    await store.save(FIRST.model_copy(update={"summary": "All of it."}))
    assert await store.pages("d1") == PAGES


async def test_a_copy_takes_the_place_of_what_the_target_had(store: AnalysisStore) -> None:
    other = FIRST.model_copy(update={"document_id": "d2"})
    for each, pages in ((FIRST, PAGES[:2]), (other, PAGES[2:])):
        await store.save(each)
        await store.save_pages(each, pages)
    target = other.model_copy(update={"etag": "9"})
    await store.copy("d1", target)
    assert await store.get(["d1", "d2"]) == {"d1": FIRST, "d2": target}
    assert await store.pages("d2") == await store.pages("d1") == PAGES[:2]


async def test_a_copy_of_itself_loses_nothing(store: AnalysisStore) -> None:
    await store.save(FIRST)
    await store.save_pages(FIRST, PAGES)
    await store.copy("d1", FIRST)
    assert await store.pages("d1") == PAGES


async def test_a_delete_takes_one_document_with_its_pages(store: AnalysisStore) -> None:
    other = FIRST.model_copy(update={"document_id": "d2"})
    for each in (FIRST, other):
        await store.save(each)
        await store.save_pages(each, PAGES)
    await store.delete("d1")
    await store.delete("d1")
    assert await store.get(["d1", "d2"]) == {"d2": other}
    assert (await store.pages("d1"), await store.pages("d2")) == ([], PAGES)
