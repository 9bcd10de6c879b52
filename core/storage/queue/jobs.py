"""Jobs on documents in a storage account: a record in a blob for each, and messages that say to look at it.

A record changes only from the version that was read, so what it says is true; a notice is sent whenever
there may be something to do. One that comes too often finds nothing to do, and one that is lost is sent
anew. While somebody holds a job there is a notice on its way that comes up when the lease ends.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from core.documents.jobs import JOBS, BytesHolder, JobRecord, Notice, record_name
from core.errors import LeaseLost, UnsafeName
from core.models import Document, Job, JobKind, JobProgress
from core.storage.blob.json_records import JsonBlobs, Version
from core.storage.queue.messages import Notices, Received
from core.storage.storage_account import Storage

SAME_BYTES_SECONDS = 1.0
"""After that a job is tried again whose bytes another one was at work on."""


log = logging.getLogger(__name__)


def queue_names(prefix: str = "orc") -> dict[JobKind, str]:
    """The queue of each kind, those that matter more first."""
    return {kind: f"{prefix}-{kind}" for kind in JobKind}


class StorageJobQueue:
    """Records in this container, notices in one queue of each kind. Both have to be there already."""

    def __init__(
        self,
        storage: Storage,
        container_name: str,
        *,
        queue_prefix: str = "orc",
        clock: Callable[[], float] = time.time,
    ) -> None:
        container = storage.container(container_name)
        self._records = JsonBlobs(container, storage.blobs, JobRecord)
        self._holders = JsonBlobs(container, storage.blobs, BytesHolder)
        self._notices = {
            kind: Notices(storage.queue(name), storage.queues)
            for kind, name in queue_names(queue_prefix).items()
        }
        self._received: dict[str, Received] = {}
        self._clock = clock

    async def enqueue(self, document: Document, kind: JobKind) -> None:
        record = await self._queued(document, kind)
        if record is not None:
            await self._send(record)

    async def lease(self, seconds: float) -> Job | None:
        for notices in self._notices.values():
            while (received := await notices.receive(seconds)) is not None:
                job = await self._take(received.notice, seconds, when_due=True)
                if job is not None:
                    # Left in the queue: it comes up when the lease ends, unless the job has by then.
                    self._received[job.lease] = received
                    return job
                await notices.drop(received)
        return None

    async def claim(self, document: Document, kind: JobKind, seconds: float) -> Job | None:
        """As in the port, and None too while a job with the same bytes is held."""
        await self._queued(document, kind)
        job = await self._take(Notice(path=document.path, kind=kind), seconds, when_due=False)
        if job is not None:
            await self._announce(job.path.document_id, kind, self._clock() + seconds)
        return job

    async def renew(self, job: Job, seconds: float) -> None:
        if await self._change(job, {"leased_until": self._clock() + seconds}) is None:
            raise LeaseLost(f"The work on {job.path.file} was taken over.")

    async def finish(self, job: Job) -> None:
        while (held := await self._held(job)) is not None:
            if await self._records.remove(held.value.name, held):
                await self._let_go_of_bytes(held.value, job.lease)
                break
        await self._drop(job)

    async def release(self, job: Job, delay_seconds: float = 0.0) -> None:
        due_at = self._clock() + delay_seconds
        update = {"lease": "", "leased_until": 0.0, "due_at": due_at, "leases": job.leases - 1}
        released = await self._change(job, {**update, "noticed_at": due_at})
        if released is not None:
            await self._let_go_of_bytes(released, job.lease)
            await self._send(released)
        await self._drop(job)

    async def report(self, job: Job, progress: JobProgress) -> None:
        await self._change(job, {"progress": progress})

    async def progress(self, document_id: str) -> dict[JobKind, JobProgress]:
        names = [record_name(document_id, kind) for kind in JobKind]
        found = await asyncio.gather(*(self._records.read(name) for name in names))
        return {each.value.kind: each.value.progress for each in found if each is not None}

    async def delete(self, document_id: str) -> None:
        for kind in JobKind:
            name = record_name(document_id, kind)
            while (found := await self._records.read(name)) is not None:
                if found.value.leased_until > self._clock() or await self._records.remove(name, found):
                    break

    async def sweep(self) -> None:
        """Send another notice of every job whose last one must have been lost."""
        async for name in self._records.names(JOBS):
            try:
                await self._announce_again(name)
            except (ValidationError, UnsafeName):
                log.error("a job cannot be read name=%s", name)

    async def _announce_again(self, name: str) -> None:
        found, now = await self._records.read(name), self._clock()
        if found is not None and found.value.is_overdue(now):
            record = found.value.announced(now)
            if await self._records.write(name, record, found):
                await self._send(record)

    async def _queued(self, document: Document, kind: JobKind) -> JobRecord | None:
        """See that the job is queued; its record where a notice has to be sent."""
        name = record_name(document.document_id, kind)
        while True:
            found, now = await self._records.read(name), self._clock()
            if found is None or found.value.etag != document.etag:
                record = JobRecord.of(document, kind, now)
            elif found.value.is_overdue(now):
                record = found.value.announced(now)
            else:
                return None
            if await self._records.write(name, record, found):
                return record

    async def _take(self, notice: Notice, seconds: float, *, when_due: bool) -> Job | None:
        """Lease this very job. None where it has ended, or is busy: then there will be another notice."""
        name = notice.record_name
        while (found := await self._records.read(name)) is not None:
            record, now = found.value, self._clock()
            free_at = record.free_at if when_due else record.leased_until
            if free_at > now:
                await self._announce(record.path.document_id, record.kind, free_at)
                return None
            lease = {"lease": uuid.uuid4().hex, "leased_until": now + seconds, "leases": record.leases + 1}
            taken = record.model_copy(update=lease)
            if not await self._records.write(name, taken, found):
                continue
            if await self._take_bytes(taken):
                return taken.leased
            await self.release(taken.leased, SAME_BYTES_SECONDS)
            return None
        return None

    async def _announce(self, document_id: str, kind: JobKind, at: float) -> None:
        """See that a notice comes up at this time, unless one does by then in any case."""
        name = record_name(document_id, kind)
        while (found := await self._records.read(name)) is not None:
            if self._clock() < found.value.noticed_at <= at:
                return
            record = found.value.announced(at)
            if await self._records.write(name, record, found):
                await self._send(record)
                return

    async def _send(self, record: JobRecord) -> None:
        await self._notices[record.kind].send(record.notice, record.noticed_at - self._clock())

    async def _held(self, job: Job) -> Version[JobRecord] | None:
        found = await self._records.read(record_name(job.path.document_id, job.kind))
        return found if found is not None and found.value.lease == job.lease else None

    async def _change(self, job: Job, update: Mapping[str, object]) -> JobRecord | None:
        """Change the record while the job is held; None where it is not."""
        while (held := await self._held(job)) is not None:
            record = held.value.model_copy(update=update)
            if await self._records.write(record.name, record, held):
                return record
        return None

    async def _drop(self, job: Job) -> None:
        received = self._received.pop(job.lease, None)
        if received is not None:
            await self._notices[job.kind].drop(received)

    async def _take_bytes(self, record: JobRecord) -> bool:
        """Become the one who works on these bytes; False while somebody else does.

        The record has its lease by now: who finds that a holder's record has not, knows that it is over.
        """
        if not record.sha256:
            return True
        ours = BytesHolder(record_name=record.name, lease=record.lease)
        while True:
            found = await self._holders.read(record.bytes_name)
            if found is not None and await self._works(found.value):
                return found.value == ours
            if await self._holders.write(record.bytes_name, ours, found):
                return True

    async def _works(self, holder: BytesHolder) -> bool:
        found = await self._records.read(holder.record_name)
        held = found is not None and found.value.lease == holder.lease
        return found is not None and held and found.value.leased_until > self._clock()

    async def _let_go_of_bytes(self, record: JobRecord, lease: str) -> None:
        if record.sha256:
            found = await self._holders.read(record.bytes_name)
            if found is not None and found.value.lease == lease:
                await self._holders.remove(record.bytes_name, found)
