"""The job queue of a storage account: messages say what to do, JSON blobs hold the state of each job."""

import asyncio
import logging
import math
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError
from azure.storage.blob.aio import BlobClient, ContainerClient
from azure.storage.queue.aio import QueueClient
from pydantic import BaseModel, ValidationError

from orc_core.documents.jobs import JOBS, BytesHolder, JobRecord, Notice, record_name
from orc_core.errors import LeaseLost, UnsafeName
from orc_core.infra.resilience import CircuitBreaker, guarded
from orc_core.models import Document, Job, JobKind, JobProgress
from orc_core.storage.blob.account import Storage
from orc_core.storage.blob.client import absence_allowed, bound_to, plain

Value = TypeVar("Value", bound=BaseModel)


class Version(NamedTuple, Generic[Value]):
    """The value in a blob, and the ETag with which it was read."""

    value: Value
    etag: str


class JsonBlobs(Generic[Value]):
    """The blobs of a container that hold values of one kind."""

    def __init__(self, container: ContainerClient, breaker: CircuitBreaker, kind: type[Value]) -> None:
        self._container = container
        self._breaker = breaker
        self._kind = kind

    @guarded
    async def read(self, name: str) -> Version[Value] | None:
        """The value in the blob; None only if the service reports that there is none."""
        with absence_allowed():
            stream = await self._blob(name).download_blob()
            value = self._kind.model_validate_json(await stream.readall())
            return Version(value, plain(stream.properties.etag))
        return None

    async def write(self, name: str, value: Value, over: Version[Value] | None) -> bool:
        """Replace this version, or create the blob; False if another write came in between."""
        if await self._upload(name, value.model_dump_json().encode(), over.etag if over else ""):
            return True
        # The conflicting blob may be our own, from an attempt whose response was lost.
        present = await self.read(name)
        return present is not None and present.value == value

    async def remove(self, name: str, version: Version[Value]) -> bool:
        """Remove the blob if it has this version; returns whether it is absent now."""
        # A deleted blob has no version: an attempt whose response was lost may have deleted it.
        return await self._delete(name, version.etag) or await self.read(name) is None

    @guarded
    async def names(self, prefix: str) -> list[str]:
        """The names that begin with a prefix."""
        return [name async for name in self._container.list_blob_names(name_starts_with=prefix)]

    @guarded
    async def _upload(self, name: str, content: bytes, etag: str) -> bool:
        with suppress(ResourceExistsError, ResourceModifiedError), absence_allowed():
            await self._blob(name).upload_blob(content, overwrite=bool(etag), **bound_to(etag))
            return True
        return False

    @guarded
    async def _delete(self, name: str, etag: str) -> bool:
        with suppress(ResourceModifiedError):
            with absence_allowed():
                await self._blob(name).delete_blob(**bound_to(etag))
            return True
        return False

    def _blob(self, name: str) -> BlobClient:
        return self._container.get_blob_client(name)


GONE = {"MessageNotFound", "PopReceiptMismatch"}

log = logging.getLogger(__name__)


class Received(NamedTuple):
    """A message that is hidden from other workers for a while."""

    notice: Notice
    message_id: str
    pop_receipt: str


class Notices:
    """Messages are JSON as it is, not in base64: host.json says the same to the host of the functions."""

    def __init__(self, queue: QueueClient, breaker: CircuitBreaker) -> None:
        self._queue = queue
        self._breaker = breaker

    @guarded
    async def send(self, notice: Notice, delay_seconds: float) -> None:
        """Send the message, to be visible after the delay; perhaps twice, if the first response was lost."""
        hidden = max(0, math.ceil(delay_seconds))
        await self._queue.send_message(notice.model_dump_json(), visibility_timeout=hidden)

    async def receive(self, seconds: float) -> Received | None:
        """The next message; it is visible again after that time unless it is dropped."""
        hidden = max(1, math.ceil(seconds))
        while True:
            message = await self._breaker.call(lambda: self._queue.receive_message(visibility_timeout=hidden))
            if message is None:
                return None
            message_id, pop_receipt = str(message.id), str(message.pop_receipt)
            try:
                notice = Notice.model_validate_json(message.content)
            except (ValidationError, UnsafeName):
                log.warning("a message that is no notice was removed id=%s", message_id)
                await self.drop(message_id, pop_receipt)
            else:
                return Received(notice, message_id, pop_receipt)

    @guarded
    async def drop(self, message_id: str, pop_receipt: str) -> None:
        """Remove the message, unless it has become visible again meanwhile."""
        try:
            await self._queue.delete_message(message_id, pop_receipt)
        except HttpResponseError as exc:
            if getattr(exc, "error_code", None) not in GONE:
                raise


SAME_BYTES_SECONDS = 1.0
"""After this time a job is tried again if another job was processing the same bytes."""

MOST_PASSED_OVER = 32
"""The most messages of busy organizations that one search for a job hides for a while."""


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
        if (record := await self._queued(document, kind)) is not None:
            await self._send(record)

    async def lease(self, seconds: float, besides: Collection[str] = ()) -> Job | None:
        passed_over = 0
        for notices in self._notices.values():
            while passed_over < MOST_PASSED_OVER and (received := await notices.receive(seconds)) is not None:
                if received.notice.path.owner.organization_id in besides:
                    # It is visible again when the lease would have ended.
                    passed_over += 1
                    continue
                job = await self._take(received.notice, seconds, when_due=True)
                if job is not None:
                    # Left in the queue: it is visible when the lease ends, unless the job has ended then.
                    self._received[job.lease] = received
                    return job
                await notices.drop(received.message_id, received.pop_receipt)
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
        if (released := await self._change(job, {**update, "noticed_at": due_at})) is not None:
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
        for name in await self._records.names(JOBS):
            try:
                found, now = await self._records.read(name), self._clock()
                if found is not None and found.value.is_overdue(now):
                    await self._send_again(found, now)
            except (ValidationError, UnsafeName):
                log.error("a job cannot be read name=%s", name)

    async def _send_again(self, found: Version[JobRecord], at: float) -> bool:
        """Send a notice for this time; False if another process has changed the record."""
        record = found.value.announced(at)
        if written := await self._records.write(record.name, record, found):
            await self._send(record)
        return written

    async def _queued(self, document: Document, kind: JobKind) -> JobRecord | None:
        """Make sure that the job is queued; returns its record if a notice has to be sent."""
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
        """Lease this job. None if it has ended, or is busy: then another notice follows."""
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
        """Make sure that a message is visible at this time or before."""
        name = record_name(document_id, kind)
        while (found := await self._records.read(name)) is not None:
            if self._clock() < found.value.noticed_at <= at:
                return
            if await self._send_again(found, at):
                return

    async def _send(self, record: JobRecord) -> None:
        await self._notices[record.kind].send(record.notice, record.noticed_at - self._clock())

    async def _held(self, job: Job) -> Version[JobRecord] | None:
        found = await self._records.read(record_name(job.path.document_id, job.kind))
        return found if found is not None and found.value.lease == job.lease else None

    async def _change(self, job: Job, update: Mapping[str, object]) -> JobRecord | None:
        """Change the record while the job is held; None if it is not."""
        while (held := await self._held(job)) is not None:
            record = held.value.model_copy(update=update)
            if await self._records.write(record.name, record, held):
                return record
        return None

    async def _drop(self, job: Job) -> None:
        if (received := self._received.pop(job.lease, None)) is not None:
            await self._notices[job.kind].drop(received.message_id, received.pop_receipt)

    async def _take_bytes(self, record: JobRecord) -> bool:
        """Take the lease on these bytes; False while another worker holds it.

        The record has its lease already. So a holder whose record has no lease has ended.
        """
        if not record.sha256:
            return True
        ours = BytesHolder(record_name=record.name, lease=record.lease)
        while True:
            found = await self._holders.read(record.bytes_name)
            if found is not None:
                holder, now = await self._records.read(found.value.record_name), self._clock()
                if holder and holder.value.lease == found.value.lease and holder.value.leased_until > now:
                    return found.value == ours
            if await self._holders.write(record.bytes_name, ours, found):
                return True

    async def _let_go_of_bytes(self, record: JobRecord, lease: str) -> None:
        if record.sha256:
            found = await self._holders.read(record.bytes_name)
            if found is not None and found.value.lease == lease:
                await self._holders.remove(record.bytes_name, found)
