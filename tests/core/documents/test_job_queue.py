"""The contract of a JobQueue: each job is done by one worker at a time, and none is forgotten."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.documents import sqlite_queue
from core.documents.models import BlobProperties, Document, JobKind, JobProgress
from core.documents.names import BlobPath, Owner
from core.documents.ports import JobQueue
from core.documents.sqlite_queue import SqliteJobQueue
from core.errors import LeaseLost
from core.sqlite import Database
from tests.fakes_documents import FakeClock

SECONDS = 5.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def queue(tmp_path: Path, clock: FakeClock) -> AsyncIterator[JobQueue]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(sqlite_queue.SCHEMA)
    yield SqliteJobQueue(database, clock=clock)
    await database.close()


def document(name: str, etag: str = "1", sha256: str = "", organization: str = "acme") -> Document:
    path = BlobPath(Owner(organization, "ann", "c1"), name)
    seen = Document.first_seen(BlobProperties(path=path, etag=etag, size=1))
    return seen.model_copy(update={"sha256": sha256})


async def leased_names(queue: JobQueue) -> list[str]:
    names = []
    while (job := await queue.lease(SECONDS)) is not None:
        names.append(f"{job.kind}:{job.path.file}")
    return names


async def test_jobs_come_in_order_and_ingestion_before_analysis(queue: JobQueue, clock: FakeClock) -> None:
    await queue.enqueue(document("a"), JobKind.ANALYSE)
    for name in ("b", "c"):
        clock.now += 1
        await queue.enqueue(document(name), JobKind.INGEST)
    assert await leased_names(queue) == ["ingest:b", "ingest:c", "analyse:a"]


async def test_a_job_is_queued_once(queue: JobQueue) -> None:
    for _ in range(3):
        await queue.enqueue(document("a"), JobKind.INGEST)
    assert await leased_names(queue) == ["ingest:a"]
    await queue.enqueue(document("a"), JobKind.INGEST)
    assert await leased_names(queue) == []


async def test_many_workers_at_once_get_each_job_once(queue: JobQueue) -> None:
    for number in range(20):
        await queue.enqueue(document(f"d{number}"), JobKind.INGEST)
    taken = await asyncio.gather(*(leased_names(queue) for _ in range(8)))
    names = [name for names in taken for name in names]
    assert sorted(names) == sorted({f"ingest:d{number}" for number in range(20)})


async def test_a_lease_that_is_not_renewed_passes_on_and_is_counted(
    queue: JobQueue, clock: FakeClock
) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    first = await queue.lease(SECONDS)
    assert first is not None
    clock.now += SECONDS - 1
    await queue.renew(first, SECONDS)
    clock.now += SECONDS - 1
    assert await queue.lease(SECONDS) is None
    clock.now += 2
    second = await queue.lease(SECONDS)
    assert second is not None
    assert (first.leases, second.leases) == (1, 2)
    with pytest.raises(LeaseLost):
        await queue.renew(first, SECONDS)
    await queue.finish(first)
    await queue.renew(second, SECONDS)
    await queue.finish(second)
    clock.now += 100
    assert await queue.lease(SECONDS) is None


async def test_other_bytes_replace_the_job_and_end_its_lease(queue: JobQueue) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    old = await queue.lease(SECONDS)
    assert old is not None
    await queue.enqueue(document("a", etag="2"), JobKind.INGEST)
    with pytest.raises(LeaseLost):
        await queue.renew(old, SECONDS)
    new = await queue.lease(SECONDS)
    assert new is not None
    assert (new.etag, new.leases) == ("2", 1)


async def test_a_released_job_waits_for_its_delay(queue: JobQueue, clock: FakeClock) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    job = await queue.lease(SECONDS)
    assert job is not None
    await queue.release(job, delay_seconds=3)
    clock.now += 2
    assert await queue.lease(SECONDS) is None
    clock.now += 2
    assert await queue.lease(SECONDS) is not None


async def test_the_same_bytes_are_not_worked_on_twice_at_once(queue: JobQueue, clock: FakeClock) -> None:
    for name, organization in (("a", "acme"), ("b", "acme"), ("c", "globex")):
        clock.now += 1
        await queue.enqueue(document(name, sha256="same", organization=organization), JobKind.INGEST)
    await queue.enqueue(document("d", sha256="other"), JobKind.INGEST)
    first = await queue.lease(SECONDS)
    assert first is not None
    assert first.path.file == "a"
    assert sorted(await leased_names(queue)) == ["ingest:c", "ingest:d"]
    await queue.finish(first)
    assert await leased_names(queue) == ["ingest:b"]


async def test_a_claim_takes_the_very_job_unless_somebody_holds_it(queue: JobQueue) -> None:
    wanted = document("wanted")
    await queue.enqueue(document("first"), JobKind.INGEST)
    claimed = await queue.claim(wanted, JobKind.INGEST, SECONDS)
    assert claimed is not None
    assert claimed.path.file == "wanted"
    assert await queue.claim(wanted, JobKind.INGEST, SECONDS) is None
    await queue.release(claimed)
    assert await queue.claim(wanted, JobKind.INGEST, SECONDS) is not None


async def test_progress_is_told_while_the_job_is_held(queue: JobQueue) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    job = await queue.lease(SECONDS)
    assert job is not None
    progress = JobProgress(done=3, total=9, what="Reading")
    await queue.report(job, progress)
    assert await queue.progress(job.path.document_id) == {JobKind.INGEST: progress}
    await queue.release(job)
    await queue.report(job, JobProgress(done=9, total=9, what="late"))
    assert await queue.progress(job.path.document_id) == {JobKind.INGEST: progress}
    assert await queue.progress("no-such-document") == {}


async def test_deleting_leaves_only_what_somebody_holds(queue: JobQueue) -> None:
    held = document("a")
    await queue.enqueue(held, JobKind.INGEST)
    job = await queue.lease(SECONDS)
    assert job is not None
    await queue.enqueue(held, JobKind.ANALYSE)
    await queue.delete(held.document_id)
    await queue.renew(job, SECONDS)
    assert await queue.progress(held.document_id) == {JobKind.INGEST: JobProgress()}
