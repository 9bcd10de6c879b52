"""The contract of a JobQueue: each job is done by one worker at a time, and none is forgotten.

Time is a clock that the tests set, where a database keeps the jobs. A storage account has a clock of its
own and counts in whole seconds: there time passes, and what has become free may come a second later.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devkit.azure.queues import fresh_place
from devkit.azure.storage import opened
from devkit.azure.targets import Target
from devkit.clock import Clock
from orc_core.documents.ports import JobQueue
from orc_core.errors import LeaseLost
from orc_core.infra.sqlite import Database
from orc_core.models import BlobProperties, Document, Job, JobKind, JobProgress
from orc_core.names import BlobPath, Owner
from orc_core.storage.sqlite import queue as sqlite_queue
from orc_core.storage.sqlite.queue import SqliteJobQueue

pytestmark = pytest.mark.contract("job queue")

SECONDS = 2.0
PATIENCE = 5.0
Elapse = Callable[[float], Awaitable[None]]


@pytest.fixture(params=["sqlite", "azurite"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def elapse(target: Target | None, clock: Clock) -> Elapse:
    """Lets seconds pass."""

    async def set_clock(seconds: float) -> None:
        clock.now += seconds

    return set_clock if target is None else asyncio.sleep


@asynccontextmanager
async def open_sqlite(folder: Path, clock: Clock) -> AsyncIterator[JobQueue]:
    database = Database(folder / "orc.db")
    await database.migrate(sqlite_queue.SCHEMA)
    yield SqliteJobQueue(database, clock=clock)
    await database.close()


@pytest.fixture
async def pair(
    target: Target | None, tmp_path: Path, clock: Clock
) -> AsyncIterator[tuple[JobQueue, JobQueue]]:
    """The same queue twice, as two processes hold it."""
    if target is None:
        async with open_sqlite(tmp_path, clock) as first, open_sqlite(tmp_path, clock) as second:
            yield first, second
    else:
        async with fresh_place(target) as place, opened(target) as other:
            yield place.queue(), place.queue(other)


@pytest.fixture
def queue(pair: tuple[JobQueue, JobQueue]) -> JobQueue:
    return pair[0]


def document(
    name: str, etag: str = "1", sha256: str = "", organization: str = "acme", user: str = "ann"
) -> Document:
    path = BlobPath(Owner(organization, user, "c1"), name)
    seen = Document.first_seen(BlobProperties(path=path, etag=etag, size=1))
    return seen.model_copy(update={"sha256": sha256})


async def leased_names(queue: JobQueue) -> list[str]:
    names = []
    while (job := await queue.lease(SECONDS)) is not None:
        names.append(f"{job.kind}:{job.path.file}")
    return names


async def next_job(queue: JobQueue) -> Job:
    """The job that is free now, or in a moment."""
    end = time.monotonic() + PATIENCE
    while (job := await queue.lease(SECONDS)) is None:
        assert time.monotonic() < end, "no job came"
        await asyncio.sleep(0.1)
    return job


async def test_jobs_come_in_order_and_ingestion_before_analysis(queue: JobQueue, elapse: Elapse) -> None:
    await queue.enqueue(document("a"), JobKind.ANALYSE)
    for name in ("b", "c"):
        await elapse(0.1)
        await queue.enqueue(document(name), JobKind.INGEST)
    assert await leased_names(queue) == ["ingest:b", "ingest:c", "analyse:a"]


async def test_a_job_of_a_clock_that_was_ahead_is_due_at_once(queue: JobQueue, clock: Clock) -> None:
    clock.advance(10 * 24 * 3600)
    await queue.enqueue(document("a"), JobKind.INGEST)
    clock.advance(-10 * 24 * 3600)
    assert (await next_job(queue)).path.file == "a"


async def test_jobs_of_organizations_that_are_passed_over_stay_in_the_queue(
    queue: JobQueue, elapse: Elapse
) -> None:
    for name, organization in [("a", "mallory"), ("b", "mallory"), ("c", "acme")]:
        await elapse(0.1)
        await queue.enqueue(document(name, organization=organization), JobKind.INGEST)
    other = await queue.lease(SECONDS, {"mallory"})
    assert other is not None
    assert other.path.file == "c"
    assert await queue.lease(SECONDS, {"mallory", "acme"}) is None
    await elapse(1.5 * SECONDS)
    names = await leased_names(queue)
    assert {"ingest:a", "ingest:b"} <= set(names)


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


async def test_a_lease_that_is_not_renewed_passes_on_and_is_counted(queue: JobQueue, elapse: Elapse) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    first = await queue.lease(SECONDS)
    assert first is not None
    await elapse(0.5 * SECONDS)
    await queue.renew(first, SECONDS)
    await elapse(0.75 * SECONDS)
    assert await queue.lease(SECONDS) is None
    await elapse(0.5 * SECONDS)
    second = await next_job(queue)
    assert (first.leases, second.leases) == (1, 2)
    with pytest.raises(LeaseLost):
        await queue.renew(first, SECONDS)
    await queue.finish(first)
    await queue.renew(second, SECONDS)
    await queue.finish(second)
    await elapse(1.5 * SECONDS)
    assert await queue.lease(SECONDS) is None


async def test_a_look_that_finds_nothing_hides_no_later_job(
    pair: tuple[JobQueue, JobQueue], elapse: Elapse
) -> None:
    queue, other = pair
    assert await leased_names(queue) == []
    await other.enqueue(document("a.pdf"), JobKind.INGEST)
    job = await next_job(queue)
    assert await leased_names(queue) == []
    await queue.release(job, SECONDS)
    assert await leased_names(queue) == []
    await elapse(SECONDS)
    assert (await next_job(queue)).path.file == "a.pdf"
    assert await leased_names(other) == []
    await elapse(SECONDS)
    assert (await next_job(other)).path.file == "a.pdf"


async def test_other_bytes_replace_the_job_and_end_its_lease(queue: JobQueue) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    old = await queue.lease(SECONDS)
    assert old is not None
    await queue.enqueue(document("a", etag="2"), JobKind.INGEST)
    with pytest.raises(LeaseLost):
        await queue.renew(old, SECONDS)
    new = await next_job(queue)
    assert (new.etag, new.leases) == ("2", 1)


async def test_a_released_job_waits_for_its_delay(queue: JobQueue, elapse: Elapse) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    job = await queue.lease(SECONDS)
    assert job is not None
    await queue.release(job, delay_seconds=SECONDS)
    await elapse(0.5 * SECONDS)
    assert await queue.lease(SECONDS) is None
    await elapse(0.75 * SECONDS)
    again = await next_job(queue)
    assert (again.path, again.leases) == (job.path, 1)


async def test_the_same_bytes_are_not_worked_on_twice_at_once(queue: JobQueue, elapse: Elapse) -> None:
    for name, organization in (("a", "acme"), ("b", "acme"), ("c", "globex")):
        await elapse(0.1)
        job = document(name, sha256="same", organization=organization)
        await queue.enqueue(job, JobKind.INGEST)
    await queue.enqueue(document("e", sha256="same", user="bob"), JobKind.INGEST)
    await queue.enqueue(document("d", sha256="other"), JobKind.INGEST)
    first = await queue.lease(SECONDS)
    assert first is not None
    assert first.path.file == "a"
    assert sorted(await leased_names(queue)) == ["ingest:c", "ingest:d", "ingest:e"]
    await queue.finish(first)
    assert (await next_job(queue)).path.file == "b"


@pytest.mark.slow
async def test_of_many_with_the_same_bytes_one_at_a_time_is_done(pair: tuple[JobQueue, JobQueue]) -> None:
    copies = [document(f"d{number}", sha256="same") for number in range(4)]
    for copy in copies:
        await pair[0].enqueue(copy, JobKind.INGEST)
    at_work, most, done = 0, 0, list[str]()

    async def work(queue: JobQueue) -> None:
        nonlocal at_work, most
        while len(done) < len(copies):
            if (job := await queue.lease(10.0)) is not None:
                at_work += 1
                most = max(most, at_work)
                await asyncio.sleep(0.1)
                at_work -= 1
                done.append(job.path.file)
                await queue.finish(job)
            await asyncio.sleep(0.02)

    async with asyncio.timeout(30):
        await asyncio.gather(*(work(queue) for queue in pair * 2))
    assert most == 1
    assert sorted(done) == [copy.blob_name for copy in copies]


async def test_a_claim_takes_that_job_unless_it_is_leased(queue: JobQueue) -> None:
    wanted = document("wanted")
    await queue.enqueue(document("first"), JobKind.INGEST)
    claimed = await queue.claim(wanted, JobKind.INGEST, SECONDS)
    assert claimed is not None
    assert claimed.path.file == "wanted"
    assert await queue.claim(wanted, JobKind.INGEST, SECONDS) is None
    await queue.release(claimed)
    assert await queue.claim(wanted, JobKind.INGEST, SECONDS) is not None


async def test_of_many_claims_at_once_one_succeeds(pair: tuple[JobQueue, JobQueue]) -> None:
    for name in ("a", "b", "c"):
        claims = (queue.claim(document(name), JobKind.INGEST, SECONDS) for queue in pair * 4)
        claimed = [job for job in await asyncio.gather(*claims) if job is not None]
        assert len(claimed) == 1
        await pair[1].renew(claimed[0], SECONDS)


async def test_progress_is_reported_while_the_job_is_leased(queue: JobQueue) -> None:
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


async def test_deletion_leaves_only_leased_jobs(queue: JobQueue) -> None:
    held = document("a")
    await queue.enqueue(held, JobKind.INGEST)
    job = await queue.lease(SECONDS)
    assert job is not None
    await queue.enqueue(held, JobKind.ANALYSE)
    await queue.delete(held.document_id)
    await queue.renew(job, SECONDS)
    assert await queue.progress(held.document_id) == {JobKind.INGEST: JobProgress()}
