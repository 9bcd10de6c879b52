"""What every analysis store must do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.store_pairs import opened_items
from orc_core.analysis.models import Anchor, DocumentAnalysis, Entity, PageAnalysis, Relation
from orc_core.analysis.store import AnalysisStore

pytestmark = pytest.mark.contract("analyses")

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


@pytest.fixture
async def store(request: pytest.FixtureRequest, adapter: str, tmp_path: Path) -> AsyncIterator[AnalysisStore]:
    async with opened_items(adapter, request, tmp_path, "analyses") as open_items:
        yield AnalysisStore(await open_items())


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


async def test_a_copy_takes_the_place_of_what_the_target_had(store: AnalysisStore) -> None:
    other = FIRST.model_copy(update={"document_id": "d2"})
    for each, pages in ((FIRST, PAGES[:2]), (other, PAGES[2:])):
        await store.save(each)
        await store.save_pages(each, pages)
    target = other.model_copy(update={"etag": "9"})
    await store.copy("d1", target)
    assert await store.get(["d1", "d2"]) == {"d1": FIRST, "d2": target}
    assert await store.pages("d2") == await store.pages("d1") == PAGES[:2]


async def test_a_copy_of_a_document_without_pages_leaves_none(store: AnalysisStore) -> None:
    await store.save(FIRST)
    await store.save_pages(FIRST, PAGES)
    target = FIRST.model_copy(update={"etag": "2"})
    await store.copy("d2", target)
    assert await store.get(["d1"]) == {"d1": target}
    assert await store.pages("d1") == []


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


MANY = [
    PageAnalysis(
        page=number,
        summary=f"Page {number} äöü",
        relations=[Relation(source="a", type="owns", target="b", evidence="語" * 2000)] * 5,
    )
    for number in range(1, 251)
]
"""More than fits one write of any service, in number and in bytes."""


@pytest.mark.slow
async def test_a_document_of_many_long_pages_is_kept_whole(store: AnalysisStore) -> None:
    target = FIRST.model_copy(update={"document_id": "d2", "pages_done": 250})
    for each in (FIRST, target):
        await store.save(each)
    await store.save_pages(target, [PageAnalysis(page=900), *PAGES])
    done = FIRST.model_copy(update={"pages_done": 250})
    assert await store.save_pages(done, MANY)
    assert await store.get(["d1"]) == {"d1": done}
    assert await store.pages("d1") == MANY
    assert await store.pages("d1", range(100, 220)) == MANY[99:219]
    await store.copy("d1", target)
    assert await store.get(["d2"]) == {"d2": target}
    assert await store.pages("d2") == MANY
    await store.delete("d1")
    assert (await store.get(["d1"]), await store.pages("d1")) == ({}, [])
    assert await store.pages("d2") == MANY


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x", "語", "😀\x00"], ids=["ascii", "cjk", "escaped"])
async def test_an_overview_of_any_length_comes_back_whole(store: AnalysisStore, text: str) -> None:
    short = FIRST.model_copy(update={"detailed_summary": "short"})
    for length in (700_000, 24_001, 24_000, 2):
        long = FIRST.model_copy(update={"detailed_summary": f"{text * (length // len(text))}."})
        await store.save(long)
        assert await store.get(["d1"]) == {"d1": long}
        assert await store.save_pages(long, PAGES)
        assert await store.get(["d1"]) == {"d1": long}
        await store.save(short)
        assert await store.get(["d1"]) == {"d1": short}
        assert await store.pages("d1") == PAGES
    await store.delete("d1")
    assert await store.get(["d1"]) == {}


async def test_of_many_who_save_pages_at_once_all_are_kept(store: AnalysisStore) -> None:
    await store.save(FIRST)
    saved = [
        store.save_pages(FIRST.model_copy(update={"pages_done": page.page}), [page]) for page in MANY[:12]
    ]
    assert all(await asyncio.gather(*saved))
    assert await store.pages("d1") == MANY[:12]


async def test_pages_saved_while_another_version_takes_over_do_not_mix_with_its_own(
    store: AnalysisStore,
) -> None:
    await store.save(FIRST)
    taken_over = FIRST.model_copy(update={"etag": "2"})
    source = FIRST.model_copy(update={"document_id": "d2"})
    await store.save(source)
    await store.save_pages(source, PAGES[:1])
    stale = [store.save_pages(FIRST, [page]) for page in MANY[1:12]]
    await asyncio.gather(*stale[:6], store.copy("d2", taken_over), *stale[6:])
    assert await store.get(["d1"]) == {"d1": taken_over}
    assert await store.pages("d1") == PAGES[:1]


async def test_after_a_delete_no_page_comes_back(store: AnalysisStore) -> None:
    await store.save(FIRST)
    saved = [store.save_pages(FIRST, [page]) for page in MANY[:12]]
    await asyncio.gather(*saved[:6], store.delete("d1"), *saved[6:])
    assert (await store.get(["d1"]), await store.pages("d1")) == ({}, [])
