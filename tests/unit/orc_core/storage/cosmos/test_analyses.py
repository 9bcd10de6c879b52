"""The analysis store in Cosmos DB where writes are lost, race, or end halfway."""

import asyncio
import json

import pytest

from orc_core.analysis.models import AnalysisStatus, DocumentAnalysis, Entity, PageAnalysis, Relation
from orc_core.analysis.store import AnalysisStore
from tests.unit.orc_core.storage.cosmos_containers import Killed, Way, kill, pass_by

FIRST = DocumentAnalysis(document_id="d1", etag="1", method="extractive", pages=300)
AGAIN = FIRST.model_copy(update={"etag": "2"})
DONE = FIRST.model_copy(update={"pages_done": 300, "status": AnalysisStatus.DONE})
PAGES = [PageAnalysis(page=number, summary=f"Page {number}") for number in range(1, 301)]
"""Three batches and more."""


@pytest.fixture
def store(analyses: Way) -> AnalysisStore:
    return AnalysisStore(analyses.items)


async def test_pages_whose_answer_is_lost_are_a_success(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    analyses.losses = 1
    analyses.writes.clear()
    assert await store.save_pages(DONE, PAGES[:5])
    assert analyses.writes == ["execute_item_batch"]
    assert await store.get(["d1"]) == {"d1": DONE}
    assert await store.pages("d1") == PAGES[:5]


async def test_every_answer_may_be_lost(analyses: Way, store: AnalysisStore) -> None:
    analyses.losses = 10_000
    await store.save(FIRST)
    assert await store.save_pages(DONE, PAGES[:150])
    await store.copy("d1", DONE.model_copy(update={"document_id": "d2"}))
    await store.copy("nothing", FIRST.model_copy(update={"document_id": "d3"}))
    await store.delete("d1")
    assert (await store.get(["d1"]), await store.pages("d1")) == ({}, [])
    assert await store.pages("d2") == PAGES[:150]
    assert list(await store.get(["d2", "d3"])) == ["d2", "d3"]


async def test_an_equal_write_of_another_process_is_not_taken_for_our_own(
    analyses: Way, store: AnalysisStore
) -> None:
    await store.save(FIRST)
    analyses.before_writes = [lambda: store.save_pages(DONE, PAGES[:1])]
    assert await store.save_pages(DONE, PAGES[1:2])
    assert await store.pages("d1") == PAGES[:2]


async def test_pages_that_meet_another_version_are_not_stored(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    analyses.before_writes = [lambda: store.save(AGAIN)]
    assert not await store.save_pages(DONE, PAGES[:5])
    assert await store.get(["d1"]) == {"d1": AGAIN}
    assert await store.pages("d1") == []


async def test_progress_never_runs_ahead_of_the_pages(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    analyses.before_writes = [pass_by, pass_by, kill]
    with pytest.raises(Killed):
        await store.save_pages(DONE, PAGES)
    assert await store.get(["d1"]) == {"d1": FIRST}
    assert await store.pages("d1") == PAGES[:198]
    assert await store.save_pages(DONE, PAGES)
    assert await store.get(["d1"]) == {"d1": DONE}
    assert await store.pages("d1") == PAGES


async def test_a_delete_between_two_batches_of_pages_stops_them(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    analyses.before_writes = [pass_by, lambda: store.delete("d1")]
    assert not await store.save_pages(DONE, PAGES)
    assert (await store.get(["d1"]), await store.pages("d1")) == ({}, [])


async def test_a_copy_that_was_cut_short_is_none_and_can_be_repeated(
    analyses: Way, store: AnalysisStore
) -> None:
    target = DONE.model_copy(update={"document_id": "d2"})
    await store.save(FIRST)
    await store.save_pages(DONE, PAGES)
    await store.save(target)
    await store.save_pages(target, [PageAnalysis(page=900)])
    for whole in range(5):
        analyses.before_writes = [*[pass_by] * whole, kill]
        with pytest.raises(Killed):
            await store.copy("d1", target)
        assert await store.get(["d2"]) in ({}, {"d2": target})
        if whole:
            assert await store.get(["d2"]) == {}
    await store.copy("d1", target)
    assert await store.get(["d2"]) == {"d2": target}
    assert await store.pages("d2") == PAGES


async def test_a_copy_takes_no_page_that_comes_in_meanwhile(analyses: Way, store: AnalysisStore) -> None:
    target = AGAIN.model_copy(update={"document_id": "d2"})
    stale = FIRST.model_copy(update={"document_id": "d2"})
    await store.save(FIRST)
    await store.save_pages(FIRST, PAGES[:2])
    await store.save(stale)
    analyses.before_writes = [lambda: store.save_pages(stale, PAGES[7:9])]
    await store.copy("d1", target)
    assert await store.get(["d2"]) == {"d2": target}
    assert await store.pages("d2") == PAGES[:2]


async def test_a_delete_that_was_cut_short_can_be_repeated(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    await store.save_pages(DONE, PAGES)
    analyses.before_writes = [pass_by, kill]
    with pytest.raises(Killed):
        await store.delete("d1")
    assert await store.get(["d1"]) == {}
    assert not await store.save_pages(DONE, PAGES[:1])
    await store.delete("d1")
    assert await store.pages("d1") == []


async def test_pages_that_come_in_during_a_delete_go_too(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    analyses.before_writes = [lambda: store.save_pages(DONE, PAGES[:3])]
    await store.delete("d1")
    assert (await store.get(["d1"]), await store.pages("d1")) == ({}, [])


async def test_who_reads_a_long_overview_while_it_is_replaced_gets_one_of_the_two(
    analyses: Way, store: AnalysisStore
) -> None:
    texts = ["a" * 100_000, "b" * 60_000, "c"]
    long = [FIRST.model_copy(update={"detailed_summary": text}) for text in texts]
    await store.save(long[0])
    reads = [store.get(["d1"]) for _ in range(20)]
    saving = asyncio.ensure_future(_save_all(store, long * 5))
    assert all(each["d1"] in long for each in await asyncio.gather(*reads))
    await saving
    assert await _ids(analyses) == ["analysis"]


async def test_items_stay_small(analyses: Way, store: AnalysisStore) -> None:
    name = "漢" * 120
    page = PageAnalysis(
        page=1,
        summary="漢" * 1000,
        entities=[Entity(name=name, type="organization")] * 60,
        relations=[Relation(source=name, type="owns", target=name, evidence="漢" * 100)] * 40,
    )
    overview = FIRST.model_copy(update={"summary": "漢" * 2000, "detailed_summary": "漢" * 160_000})
    await store.save(overview)
    await store.save_pages(overview, [page])
    items = await analyses.items.query(("d1",))
    sizes = {item["id"]: len(json.dumps(item, ensure_ascii=False).encode()) for item in items}
    assert len(sizes) == 2 + 6
    assert max(sizes.values()) < 100_000, sizes


async def test_a_turn_asks_point_reads(analyses: Way, store: AnalysisStore) -> None:
    await store.save(FIRST)
    await store.save_pages(FIRST, PAGES[:5])
    analyses.reads.clear()
    await store.get(["d1", "d2", "d3"])
    await store.pages("d1", [1, 2])
    assert analyses.reads == ["read_item"] * 5
    await store.pages("d1")
    assert analyses.partitions == [["d1"]]


async def _save_all(store: AnalysisStore, analyses: list[DocumentAnalysis]) -> None:
    for each in analyses:
        await store.save(each)


async def _ids(analyses: Way) -> list[str]:
    return [item["id"] for item in await analyses.items.query(("d1",))]
