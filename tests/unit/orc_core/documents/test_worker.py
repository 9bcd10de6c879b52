"""How a worker finds jobs. test_ingestion.py tests what it does with them."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from devkit.fakes_documents import (
    LEASE_SECONDS,
    DocumentSide,
    FakeIndex,
    break_down,
    open_document_side,
    pass_by,
)
from devkit.recorded_telemetry import Recorded
from orc_core.bootstrap import open_documents
from orc_core.documents.ports import ProviderFiles
from orc_core.documents.worker import LOCAL, REPAIR_SECONDS, Pace, Worker
from orc_core.errors import DependencyDown
from orc_core.infra.settings import CoreSettings
from orc_core.llm.errors import ModelMisconfigured
from orc_core.models import Document, DocumentStatus, Job, JobKind, JobProgress, Passage
from orc_core.names import BlobPath, Owner
from orc_core.storage.sqlite.queue import SqliteJobQueue

pytestmark = pytest.mark.slow

OWNER = Owner("acme", "ann", "c1")


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[DocumentSide]:
    async with open_document_side(tmp_path) as side:
        yield side


async def queued(side: DocumentSide, name: str, owner: Owner = OWNER) -> Document:
    blob = await side.blobs.put(BlobPath(owner, name), side.file(f"the text of {name}"))
    return await side.stores.begin(blob)


async def status(side: DocumentSide, document: Document) -> DocumentStatus:
    found = await side.stores.get(document.path)
    assert found is not None
    return found.status


async def test_only_the_named_job_is_run(side: DocumentSide) -> None:
    first, second = await queued(side, "a.txt"), await queued(side, "b.txt")
    assert await side.worker.work_on(second.path, JobKind.INGEST)
    assert await status(side, second) is DocumentStatus.COMPLETED
    assert await status(side, first) is DocumentStatus.UPLOADED
    assert await side.queue.progress(second.document_id) == {}


async def test_a_finished_job_is_not_run_again(side: DocumentSide) -> None:
    document = await queued(side, "a.txt")
    assert await side.worker.work_on(document.path, JobKind.INGEST)
    assert not await side.worker.work_on(document.path, JobKind.INGEST)
    assert not await side.worker.work_on(document.path, JobKind.ANALYSE)
    assert await side.queue.progress(document.document_id) == {}


async def test_a_job_leased_by_another_worker_is_not_run(side: DocumentSide) -> None:
    document = await queued(side, "a.txt")
    job = await side.queue.lease(LEASE_SECONDS)
    assert job is not None
    assert not await side.worker.work_on(document.path, JobKind.INGEST)
    await side.queue.renew(job, LEASE_SECONDS)
    side.clock.now += LEASE_SECONDS
    assert await side.worker.work_on(document.path, JobKind.INGEST)
    assert await status(side, document) is DocumentStatus.COMPLETED


async def test_the_job_of_a_deleted_document_is_removed(side: DocumentSide) -> None:
    document = await queued(side, "a.txt")
    await side.blobs.delete(document.path)
    await side.catalog.delete(document.path)
    assert not await side.worker.work_on(document.path, JobKind.INGEST)
    assert await side.queue.progress(document.document_id) == {}


async def test_a_named_job_waits_while_a_store_is_down(side: DocumentSide) -> None:
    document = await queued(side, "a.txt")
    side.before_save("catalog", break_down)
    assert await side.worker.work_on(document.path, JobKind.INGEST)
    assert set(await side.queue.progress(document.document_id)) == {JobKind.INGEST}
    assert await status(side, document) is DocumentStatus.UPLOADED


class CountingQueue(SqliteJobQueue):
    """Counts the requests for the next job."""

    asked = 0

    async def lease(self, seconds: float, besides: Collection[str] = ()) -> Job | None:
        self.asked += 1
        return await super().lease(seconds, besides)


async def test_an_idle_worker_polls_less_and_less_often(side: DocumentSide) -> None:
    queue = CountingQueue(side.database, clock=side.clock)
    working = asyncio.create_task(worker_on(side, queue, Pace(0.01, 10.0, 60.0)).run())
    await asyncio.sleep(0.5)
    assert 3 <= queue.asked <= 7
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def test_an_idle_worker_keeps_polling_at_its_slowest_pace(side: DocumentSide) -> None:
    queue = CountingQueue(side.database, clock=side.clock)
    working = asyncio.create_task(worker_on(side, queue, Pace(0.01, 0.02, 60.0)).run())
    await asyncio.sleep(0.5)
    assert queue.asked >= 8
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


class HangingIndex(FakeIndex):
    """Indexing a document of one organization never ends."""

    def __init__(self, organization_id: str) -> None:
        super().__init__()
        self._organization_id = organization_id
        self.begun = 0
        self.hangs = asyncio.Event()

    async def save(
        self, document_id: str, name: str, passages: Sequence[Passage], owner: Owner | None = None
    ) -> None:
        if owner is not None and owner.organization_id == self._organization_id:
            self.begun += 1
            self.hangs.set()
            await asyncio.Event().wait()
        await super().save(document_id, name, passages, owner)


async def test_one_organization_cannot_have_all_places_of_a_worker(side: DocumentSide) -> None:
    hanging = HangingIndex("mallory")
    side.stores = replace(side.stores, index=hanging)
    _, worker = side.another_process()
    for number in range(5):
        await queued(side, f"hostile {number}.txt", Owner("mallory", "m", "c1"))
    document = await queued(side, "a.txt")
    indexed = asyncio.Event()

    async def note() -> None:
        indexed.set()

    hanging.before_save = note
    working = asyncio.create_task(worker.run())
    await asyncio.wait_for(indexed.wait(), 60)
    await asyncio.wait_for(hanging.hangs.wait(), 60)
    assert hanging.begun == 1
    assert await status(side, document) in {DocumentStatus.PROCESSING, DocumentStatus.COMPLETED}
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def test_a_worker_ends_even_if_the_queue_cannot_take_its_job_back(
    side: DocumentSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise DependencyDown("The queue is down.", dependency="store")

    hanging = HangingIndex("acme")
    side.stores = replace(side.stores, index=hanging)
    _, worker = side.another_process()
    await queued(side, "a.txt")
    working = asyncio.create_task(worker.run())
    await asyncio.wait_for(hanging.hangs.wait(), 60)
    monkeypatch.setattr(SqliteJobQueue, "release", refuse)
    working.cancel()
    ended, _ = await asyncio.wait([working], timeout=20)
    monkeypatch.undo()
    working.cancel()
    assert ended == {working}


def worker_on(side: DocumentSide, queue: SqliteJobQueue, pace: Pace) -> Worker:
    stores = replace(side.stores, queue=queue)
    return Worker(stores, side.ingestion, lease_seconds=LEASE_SECONDS, pace=pace)


async def test_a_sweep_queues_forgotten_documents_and_sweeps_the_queue(side: DocumentSide) -> None:
    document = await queued(side, "a.txt")
    await side.queue.delete(document.document_id)
    seen: list[set[JobKind]] = []

    class SweptQueue(SqliteJobQueue):
        async def sweep(self) -> None:
            seen.append(set(await self.progress(document.document_id)))

    await worker_on(side, SweptQueue(side.database, clock=side.clock), LOCAL).sweep()
    assert seen == [{JobKind.INGEST}]


async def test_a_sweep_measures_how_long_the_oldest_document_waits(
    side: DocumentSide, recorded: Recorded
) -> None:
    document = await queued(side, "a.txt")
    waiting = document.model_copy(update={"created_at": datetime.now(UTC) - timedelta(hours=1)})
    assert await side.catalog.advance(waiting)
    await side.worker.sweep()
    assert recorded.latest("orc.documents.oldest") == pytest.approx(3600, abs=60)
    await side.worker.drain()
    await side.worker.sweep()
    assert recorded.latest("orc.documents.oldest") == 0


@pytest.mark.parametrize("error", [DependencyDown("down", dependency="store"), ValueError("unreadable")])
async def test_a_part_of_the_sweep_that_fails_does_not_stop_the_others(
    side: DocumentSide, error: Exception
) -> None:
    swept: list[str] = []

    async def broken() -> list[Document]:
        raise error

    class BrokenQueue(SqliteJobQueue):
        async def sweep(self) -> None:
            swept.append("jobs")
            raise error

    class Files:
        async def sweep(self) -> int:
            swept.append("files")
            return 0

    side.catalog.unfinished = broken  # type: ignore[method-assign]
    queue = BrokenQueue(side.database, clock=side.clock)
    stores = replace(side.stores, queue=queue, files=cast("ProviderFiles", Files()))
    await Worker(stores, side.ingestion, lease_seconds=LEASE_SECONDS).sweep()
    assert swept == ["jobs", "files"]


async def test_configuration_errors_are_retried_after_minutes_only(side: DocumentSide) -> None:
    document = await queued(side, "a.txt")

    async def refuse() -> None:
        raise ModelMisconfigured("The key is wrong.")

    side.before_save("index", refuse)
    assert await side.worker.work_once()
    side.before_save("index", pass_by)
    side.clock.now += REPAIR_SECONDS - 1
    assert not await side.worker.work_once()
    side.clock.now += 1
    assert await side.worker.work_once()
    assert await status(side, document) is DocumentStatus.COMPLETED


async def test_a_lost_progress_report_does_not_fail_the_job(side: DocumentSide) -> None:
    class MuteQueue(SqliteJobQueue):
        async def report(self, job: Job, progress: JobProgress) -> None:
            await break_down()

    document = await queued(side, "a.txt")
    assert await worker_on(side, MuteQueue(side.database, clock=side.clock), LOCAL).work_once()
    assert await status(side, document) is DocumentStatus.COMPLETED
    assert await side.queue.progress(document.document_id) == {}


async def test_a_pending_report_ends_before_its_job_is_released(side: DocumentSide) -> None:
    calls: list[str] = []

    class SlowQueue(SqliteJobQueue):
        async def report(self, job: Job, progress: JobProgress) -> None:
            await asyncio.sleep(0.1)
            calls.append("report")

        async def release(self, job: Job, delay_seconds: float = 0.0) -> None:
            calls.append("release")

    await queued(side, "a.txt")
    side.before_save("index", break_down)
    await worker_on(side, SlowQueue(side.database, clock=side.clock), LOCAL).work_once()
    # On a slow machine the first report ends while the job is worked on, and a second one is sent.
    assert calls == ["report"] * (len(calls) - 1) + ["release"]
    assert "report" in calls


async def test_a_sweep_empties_the_log_of_the_database(tmp_path: Path) -> None:
    async with open_documents(CoreSettings(data_dir=tmp_path)) as documents:
        assert documents.clients.database is not None
        await documents.clients.database.execute(("CREATE TABLE later (x)", ()))
        log = tmp_path / "orc.db-wal"
        assert log.stat().st_size > 0
        await documents.worker.sweep()
        assert log.stat().st_size == 0
