"""Jobs in a storage account: the records are the truth, whatever becomes of the messages."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TypeVar

import pytest

from devkit.azure.queues import Place, fresh_place
from devkit.azure.storage import opened
from devkit.azure.targets import Target
from devkit.clock import Clock
from devkit.faults.proxy import proxied
from devkit.faults.rules import STORAGE
from devkit.shared_data import ROOT
from orc_core.documents.jobs import SILENT_SECONDS
from orc_core.errors import DependencyDown
from orc_core.models import BlobProperties, Document, Job, JobKind, JobProgress
from orc_core.names import BlobPath, Owner
from orc_core.storage.queue import StorageJobQueue

SECONDS = 2.0
LONG = 10.0
Result = TypeVar("Result")
HOLDING = """
import asyncio, os, sys
from orc_core.storage.blob.account import open_storage
from orc_core.storage.queue import StorageJobQueue
from orc_core.infra.resilience import held

async def main(url, queue_url, container, prefix, seconds):
    storage = open_storage(url, queue_url, os.environ["KEY"])
    queue = StorageJobQueue(storage, container, queue_prefix=prefix)
    job = await queue.lease(float(seconds))
    async with held(lambda: queue.renew(job, float(seconds)), seconds=float(seconds)):
        print(job.path.file, flush=True)
        await asyncio.sleep(60)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def place(storage_target: Target) -> AsyncIterator[Place]:
    async with fresh_place(storage_target) as place:
        yield place


@pytest.fixture
def queue(place: Place, clock: Clock) -> StorageJobQueue:
    """A queue whose records go by the clock of the test; the messages' clock is the account's."""
    return place.queue(clock=clock)


def document(name: str, etag: str = "1", sha256: str = "") -> Document:
    path = BlobPath(Owner("acme", "ann", "c1"), name)
    seen = Document.first_seen(BlobProperties(path=path, etag=etag, size=1))
    return seen.model_copy(update={"sha256": sha256})


async def test_messages_are_written_as_the_functions_host_reads_them(
    queue: StorageJobQueue, place: Place
) -> None:
    await queue.enqueue(document("ä <b> & 日本.pdf"), JobKind.EMBED)
    (message,) = await place.messages(JobKind.EMBED).peek_messages()
    assert json.loads(message.content)["path"]["file"] == "ä <b> & 日本.pdf"
    host = json.loads((ROOT / "host.json").read_text())
    assert host["extensions"]["queues"]["messageEncoding"] == "none"


@pytest.mark.parametrize("kind", JobKind)
async def test_a_job_whose_message_was_lost_is_found_by_the_sweep(
    queue: StorageJobQueue, place: Place, clock: Clock, kind: JobKind
) -> None:
    await queue.enqueue(document("a"), kind)
    await place.messages(kind).clear_messages()
    await queue.sweep()
    assert await queue.lease(SECONDS) is None
    clock.now += SILENT_SECONDS
    await queue.sweep()
    job = await queue.lease(SECONDS)
    assert job is not None
    assert job.kind is kind


async def test_jobs_that_cannot_be_read_do_not_stop_the_sweep(
    queue: StorageJobQueue, place: Place, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    await place.messages(JobKind.INGEST).clear_messages()
    container = place.storage.container(place.container)
    owner = {"organization_id": "acme", "user_id": "ann", "conversation_id": "c1"}
    unsafe = json.dumps({"path": {"owner": owner, "file": ".."}})
    unreadable = {"jobs/-1/ingest": '{"version": 2}', "jobs/-2/ingest": unsafe}
    for name, text in unreadable.items():
        await container.upload_blob(name, text)
    clock.now += SILENT_SECONDS
    await queue.sweep()
    assert await queue.lease(SECONDS) is not None
    assert all(name in caplog.text for name in unreadable)


async def test_a_job_whose_message_was_lost_is_found_when_it_is_queued_again(
    queue: StorageJobQueue, place: Place, clock: Clock
) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    await place.messages(JobKind.INGEST).clear_messages()
    await queue.enqueue(document("a"), JobKind.INGEST)
    assert await queue.lease(SECONDS) is None
    clock.now += SILENT_SECONDS
    await queue.enqueue(document("a"), JobKind.INGEST)
    assert await queue.lease(SECONDS) is not None


async def test_jobs_that_wait_long_in_the_queue_do_not_fill_it(
    queue: StorageJobQueue, place: Place, clock: Clock
) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    for _ in range(120):
        clock.now += 60
        await queue.sweep()
    assert await place.count(JobKind.INGEST) <= 6


async def test_messages_about_jobs_that_have_ended_are_removed(queue: StorageJobQueue, place: Place) -> None:
    await queue.enqueue(document("a"), JobKind.INGEST)
    (message,) = await place.messages(JobKind.INGEST).peek_messages()
    for _ in range(3):
        await place.messages(JobKind.INGEST).send_message(message.content)
    job = await queue.lease(SECONDS)
    assert job is not None
    assert await queue.lease(SECONDS) is None
    await queue.finish(job)
    while await place.count(JobKind.INGEST):
        assert await queue.lease(SECONDS) is None


async def test_a_message_that_is_no_notice_does_not_hold_up_the_others(
    queue: StorageJobQueue, place: Place
) -> None:
    for text in ("", "no json", '{"path": 1}', '{"path": {"owner": {}, "file": ".."}, "kind": "ingest"}'):
        await place.messages(JobKind.INGEST).send_message(text)
    await queue.enqueue(document("a"), JobKind.INGEST)
    assert await queue.lease(SECONDS) is not None
    assert await place.count(JobKind.INGEST) == 1


async def test_nothing_is_left_behind_when_all_is_done(queue: StorageJobQueue, place: Place) -> None:
    await queue.enqueue(document("a", sha256="same"), JobKind.INGEST)
    job = await queue.lease(SECONDS)
    assert job is not None
    await queue.finish(job)
    assert await place.count(JobKind.INGEST) == 0
    assert [name async for name in place.storage.container(place.container).list_blob_names()] == []


async def test_a_held_job_has_one_message_on_its_way_however_often_it_is_asked_for(
    queue: StorageJobQueue, place: Place
) -> None:
    """A function takes its message out of the queue, and may die: another has to come up then."""
    claimed = await queue.claim(document("a"), JobKind.INGEST, 60)
    assert claimed is not None
    for _ in range(5):
        assert await queue.claim(document("a"), JobKind.INGEST, 60) is None
        await queue.enqueue(document("a"), JobKind.INGEST)
    assert await place.count(JobKind.INGEST) == 1
    assert await place.messages(JobKind.INGEST).receive_message() is None


async def test_a_claim_waits_for_another_job_with_the_same_bytes(
    queue: StorageJobQueue, place: Place
) -> None:
    first = await queue.claim(document("a", sha256="same"), JobKind.INGEST, SECONDS)
    assert first is not None
    assert await queue.claim(document("b", sha256="same"), JobKind.INGEST, SECONDS) is None
    assert await queue.claim(document("c", sha256="other"), JobKind.INGEST, SECONDS) is not None
    await queue.finish(first)
    second = await queue.claim(document("b", sha256="same"), JobKind.INGEST, SECONDS)
    assert second is not None
    assert second.leases == 1


async def test_bytes_are_free_when_the_lease_of_their_holder_has_ended(
    queue: StorageJobQueue, clock: Clock
) -> None:
    assert await queue.claim(document("a", sha256="same"), JobKind.INGEST, SECONDS) is not None
    clock.now += SECONDS
    assert await queue.claim(document("b", sha256="same"), JobKind.INGEST, SECONDS) is not None


async def test_a_missing_container_is_no_empty_queue(place: Place) -> None:
    nowhere = StorageJobQueue(place.storage, "forgotten", queue_prefix=place.prefix)
    with pytest.raises(DependencyDown, match="404"):
        await nowhere.progress("d1")
    with pytest.raises(DependencyDown, match="404"):
        await nowhere.enqueue(document("a"), JobKind.INGEST)


@contextmanager
def holder(place: Place, target: Target) -> Iterator[subprocess.Popen[str]]:
    """Another process, which holds the next job until it is killed; it says so when it has it."""
    if target.key is None or target.queue_url is None:
        pytest.skip("the other process is given a key and both addresses")
    arguments = [target.url, target.queue_url, place.container, place.prefix, str(SECONDS)]
    command = [sys.executable, "-c", HOLDING, *arguments]
    environment = {**os.environ, "KEY": target.key}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_a_killed_workers_job_goes_to_the_next(place: Place, storage_target: Target) -> None:
    queue = place.queue()
    await queue.enqueue(document("a", sha256="same"), JobKind.INGEST)
    with holder(place, storage_target) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "a\n"
        end = time.monotonic() + SECONDS + 1
        while time.monotonic() < end:
            assert await queue.lease(SECONDS) is None, "a job was taken from its holder"
            await asyncio.sleep(0.1)
    killed = time.monotonic()
    while (job := await queue.lease(SECONDS)) is None:
        assert time.monotonic() < killed + 2 * SECONDS + 1
        await asyncio.sleep(0.05)
    assert job.leases == 2
    await queue.finish(job)


class Team:
    """Workers who do jobs in no time, and note who did what when."""

    def __init__(self, documents: list[Document]) -> None:
        self._bytes = {each.blob_name: each.sha256 for each in documents}
        self._at_work = set[str]()
        self.finished = Counter[str]()

    async def work(self, queue: StorageJobQueue) -> None:
        while len(self.finished) < len(self._bytes):
            job = await until_it_works(partial(queue.lease, LONG))
            if job is not None:
                await self._do(queue, job)
            await asyncio.sleep(0.02)

    async def _do(self, queue: StorageJobQueue, job: Job) -> None:
        sha256 = self._bytes[job.path.file]
        assert sha256 not in self._at_work, "two are at work on the same bytes"
        self._at_work.add(sha256)
        await until_it_works(partial(queue.report, job, JobProgress(done=1)))
        await until_it_works(partial(queue.renew, job, LONG))
        self._at_work.remove(sha256)
        self.finished[job.path.file] += 1
        await until_it_works(partial(queue.finish, job))


async def until_it_works(call: Callable[[], Awaitable[Result]]) -> Result:
    while True:
        try:
            return await call()
        except DependencyDown as exc:
            assert exc.retryable
            await asyncio.sleep(0.1)


@asynccontextmanager
async def faulty_queues(place: Place, target: Target, number: int) -> AsyncIterator[list[StorageJobQueue]]:
    """As many processes, of whose requests a fifth fails, some of these after they took effect."""
    if target.queue_url is None or not target.url.startswith("http://"):
        pytest.skip("faults can be made on the way to an emulator only")
    async with AsyncExitStack() as stack:
        queues = []
        for seed in range(number):
            blobs = await stack.enter_async_context(proxied(target.url, STORAGE, seed=seed, rate=0.2))
            messages = await stack.enter_async_context(
                proxied(target.queue_url, STORAGE, seed=seed, rate=0.2)
            )
            storage = await stack.enter_async_context(opened(Target(blobs.url, target.key, messages.url)))
            queues.append(place.queue(storage))
        yield queues


async def test_faults_on_the_way_lose_no_job_and_do_none_twice(place: Place, storage_target: Target) -> None:
    documents = [document(f"d{number}", sha256=str(number // 2)) for number in range(8)]
    team = Team(documents)
    async with faulty_queues(place, storage_target, 3) as queues, asyncio.timeout(90):
        for each in documents:
            await until_it_works(partial(queues[0].enqueue, each, JobKind.INGEST))
        await asyncio.gather(*(team.work(queue) for queue in queues))
    assert team.finished == Counter(each.blob_name for each in documents)
