"""The queue worker: leases jobs, runs them and retries those that fail, up to a limit."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from opentelemetry import metrics
from opentelemetry.trace import SpanKind

from orc_core.documents.ingestion import Ingestion
from orc_core.documents.stores import Stores
from orc_core.errors import LeaseLost, NotFound, OrcError, Unavailable
from orc_core.infra.exhaustion import exhausted
from orc_core.infra.telemetry.spans import SCOPE, span
from orc_core.models import Job, JobKind, JobProgress
from orc_core.names import BlobPath

RETRY_SECONDS = 5.0
REPAIR_SECONDS = 300.0
"""Delay of a retry after an error that only a change of the settings can fix."""
MAX_LEASES = 25
"""Limit for a document whose processing kills its worker each time."""
FAILED_REPEATEDLY = "Processing this file failed repeatedly. Save it in another format and upload that."
FOR_OTHERS = 1
"""Jobs of other organizations that run in addition to those of one that has all that it may have."""
SECONDS_BETWEEN_REPORTS = 0.25

log = logging.getLogger(__name__)
_OLDEST = metrics.get_meter(SCOPE).create_gauge(
    "orc.documents.oldest", unit="s", description="Age of the oldest document that is not read yet, or 0."
)


class Pace(NamedTuple):
    """How often a worker polls for jobs: less and less often while there are none."""

    shortest_wait: float
    longest_wait: float
    between_sweeps: float


LOCAL = Pace(0.2, 0.2, 30.0)
"""An idle worker uses 0.3 % of a processor, and a new job waits 0.1 s on average."""
REMOTE = Pace(0.1, 2.0, 60.0)
"""Polling a remote queue is one billed request for each kind of job."""


class Worker:
    """Runs queued jobs, up to `at_once` of one organization at the same time, and one more of another.

    Any number of workers may run.
    """

    def __init__(
        self,
        stores: Stores,
        ingestion: Ingestion,
        *,
        lease_seconds: float,
        at_once: int = 1,
        pace: Pace = LOCAL,
        upkeep: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """`upkeep`: a further part of each sweep."""
        self._stores = stores
        self._ingestion = ingestion
        self._lease_seconds = lease_seconds
        self._at_once = at_once
        self._pace = pace
        self._upkeep = upkeep
        self._running: Counter[str] = Counter()
        self._looking = asyncio.Lock()

    async def run(self) -> None:
        """Work until cancelled; unfinished jobs are then released to the queue."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sweep_for_ever())
            for _ in range(self._at_once + FOR_OTHERS):
                tasks.create_task(self._work_for_ever())

    async def drain(self) -> None:
        """Work until no job can be done now."""
        await self.sweep()
        while await self.work_once():
            pass

    async def sweep(self) -> None:
        """Queue documents that a crash left without a job; delete expired files at providers.

        An error in one part is logged and does not stop the others.
        """
        await _attempt("documents without a job", self._queue_unfinished)
        await _attempt("jobs without a message", self._stores.queue.sweep)
        if self._stores.files is not None:
            await _attempt("files of providers", self._stores.files.sweep)
        if self._upkeep is not None:
            await _attempt("the upkeep of the database", self._upkeep)

    async def work_once(self) -> bool:
        """Run the next job; returns whether there was one."""
        async with self._looking:
            job = await self._lease()
        return await self._finish(job)

    async def work_on(self, path: BlobPath, kind: JobKind) -> bool:
        """Run this job; returns False if it is not queued or another worker holds it."""
        queue = self._stores.queue
        if kind not in await queue.progress(path.document_id):
            return False
        document = await self._stores.get(path)
        if document is None:
            await self._ingestion.settle(path)
            await queue.delete(path.document_id)
            return False
        job = await queue.claim(document, kind, self._lease_seconds)
        if job is not None:
            await self._handle(job)
        return job is not None

    async def _lease(self) -> Job | None:
        """The next job of an organization that may have one more; `_finish` must follow."""
        full = [whose for whose, jobs in self._running.items() if jobs >= self._at_once]
        job = await self._stores.queue.lease(self._lease_seconds, full)
        if job is not None:
            self._running[job.path.owner.organization_id] += 1
        return job

    async def _finish(self, job: Job | None) -> bool:
        if job is None:
            return False
        try:
            await self._handle(job)
        finally:
            self._running[job.path.owner.organization_id] -= 1
        return True

    async def _queue_unfinished(self) -> None:
        unfinished = await self._stores.catalog.unfinished()
        now = datetime.now(UTC)
        oldest = min((document.created_at for document in unfinished), default=now)
        _OLDEST.set((now - oldest).total_seconds())
        for document in unfinished:
            await self._stores.queue.enqueue(document, JobKind.INGEST)

    async def _handle(self, job: Job) -> None:
        if job.leases > MAX_LEASES:
            await self._give_up(job, FAILED_REPEATEDLY)
            return
        try:
            await self._do(job)
        except asyncio.CancelledError:
            # If the queue does not answer, the lease expires instead. The worker ends in any case.
            with suppress(Exception):
                await self._stores.queue.release(job)
            raise
        except LeaseLost:
            log.info("job lost kind=%s document_id=%s", job.kind, job.path.document_id)
            await self._ingestion.after_loss(job)
            await self._stores.queue.release(job)
        except NotFound:
            await self._ingestion.settle(job.path)
            await self._stores.queue.finish(job)
        except Unavailable as exc:
            log.warning("job waits kind=%s document_id=%s: %s", job.kind, job.path.document_id, exc.code)
            await self._stores.queue.release(job, RETRY_SECONDS if exc.retryable else REPAIR_SECONDS)
        except OrcError as exc:
            await self._give_up(job, exc.message)

    async def _do(self, job: Job) -> None:
        reports = _Reports(lambda progress: self._stores.queue.report(job, progress))
        with span(f"process {job.kind}", kind=SpanKind.CONSUMER):
            async with self._ingestion.keep_lease(job):
                try:
                    await self._ingestion.run(job, reports.note)
                finally:
                    await reports.settle()
            await self._stores.queue.finish(job)

    async def _give_up(self, job: Job, reason: str) -> None:
        log.warning("job given up kind=%s document_id=%s", job.kind, job.path.document_id)
        await self._ingestion.give_up(job, reason)
        await self._stores.queue.finish(job)

    async def _work_for_ever(self) -> None:
        while True:
            try:
                await self._finish(await self._next())
            except Exception as exc:
                # The outermost edge of a job: its lease expires, and it is retried.
                if (known := _known(exc)) is not None:
                    log.warning("a job is retried later: %s", known.code)
                else:
                    log.exception("a job failed unexpectedly")
                await asyncio.sleep(RETRY_SECONDS)

    async def _next(self) -> Job:
        """The next job, as soon as there is one. One task at a time asks the queue."""
        wait = self._pace.shortest_wait
        async with self._looking:
            while (job := await self._lease()) is None:
                await asyncio.sleep(wait)
                wait = min(2 * wait, self._pace.longest_wait)
            return job

    async def _sweep_for_ever(self) -> None:
        while True:
            await self.sweep()
            await asyncio.sleep(self._pace.between_sweeps)


def _known(exc: Exception) -> OrcError | None:
    """The error of ours that an exception is or means; None for an unforeseen one."""
    return exc if isinstance(exc, Unavailable) else exhausted(exc)


async def _attempt(what: str, part: Callable[[], Awaitable[object]]) -> None:
    try:
        await part()
    except Exception as exc:
        # The outermost edge of a part of the sweep.
        if (known := _known(exc)) is not None:
            log.warning("the sweep left out %s: %s", what, known.code)
        else:
            log.exception("the sweep left out %s", what)


class _Reports:
    """Stores progress in the background, at most four times a second.

    A report that fails is logged and does not fail the job.
    """

    def __init__(self, send: Callable[[JobProgress], Awaitable[None]]) -> None:
        self._send = send
        self._sending: asyncio.Task[None] | None = None
        self._last = 0.0

    def note(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_REPORTS or (self._sending and not self._sending.done()):
            return
        self._last = now
        self._sending = asyncio.create_task(self._report(JobProgress(done=done, total=total, what=what)))

    async def settle(self) -> None:
        """Wait for the report that is being sent."""
        if self._sending is not None:
            await self._sending

    async def _report(self, progress: JobProgress) -> None:
        try:
            await self._send(progress)
        except OrcError as exc:
            log.warning("progress was not reported: %s", exc.code)
