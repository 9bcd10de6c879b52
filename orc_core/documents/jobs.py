"""Job records, and the queue messages that point to them, for queues without a database."""

import hashlib
from typing import Self

from orc_core.models import Document, Job, JobKind, JobProgress, Record
from orc_core.names import BlobPath

JOBS = "jobs/"
SILENT_SECONDS = 300.0


class Notice(Record):
    """A queue message that names a job. It may be late, duplicated or lost; the record decides."""

    path: BlobPath
    kind: JobKind

    @property
    def record_name(self) -> str:
        return record_name(self.path.document_id, self.kind)


class JobRecord(Record):
    """An unfinished job. Times are seconds since the epoch."""

    path: BlobPath
    kind: JobKind
    etag: str
    sha256: str
    queued_at: float
    due_at: float
    noticed_at: float
    """When its latest message becomes visible."""
    leases: int = 0
    lease: str = ""
    leased_until: float = 0.0
    progress: JobProgress = JobProgress()

    @classmethod
    def of(cls, document: Document, kind: JobKind, now: float) -> Self:
        times = {"queued_at": now, "due_at": now, "noticed_at": now}
        return cls(path=document.path, kind=kind, etag=document.etag, sha256=document.sha256, **times)

    @property
    def notice(self) -> Notice:
        return Notice(path=self.path, kind=self.kind)

    @property
    def name(self) -> str:
        return self.notice.record_name

    @property
    def free_at(self) -> float:
        return max(self.due_at, self.leased_until)

    @property
    def bytes_name(self) -> str:
        """The name of the blob that records which job works on these bytes of this user."""
        whose = "/".join((*self.path.owner.key[:2], self.sha256))
        return f"bytes/{hashlib.sha256(whose.encode()).hexdigest()}"

    @property
    def leased(self) -> Job:
        return Job(kind=self.kind, path=self.path, etag=self.etag, lease=self.lease, leases=self.leases)

    def is_overdue(self, now: float) -> bool:
        """Whether its last message must have been lost.

        In a long queue it may only be waiting, so the time limit grows with the time in the queue.
        """
        patience = max(SILENT_SECONDS, self.noticed_at - self.queued_at)
        return self.free_at <= now and self.noticed_at + patience <= now

    def announced(self, at: float) -> Self:
        return self.model_copy(update={"noticed_at": at})


class BytesHolder(Record):
    """The lease for work on some bytes. It is valid while the job record has the same lease."""

    record_name: str
    lease: str


def record_name(document_id: str, kind: JobKind) -> str:
    return f"{JOBS}{document_id}/{kind}"
