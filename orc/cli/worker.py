"""`orc worker`: indexes and analyses documents in separate processes, and one job at a time on Functions."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial

from orc.contexts.models import BY_ORC, Action, AuditEntry
from orc.contexts.store import ContextStore
from orc.conversations.models import utc_now
from orc.retention import Retention, open_retention
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.jobs import Notice
from orc_core.errors import OrcError
from orc_core.infra.logs import keep_content_out, start_logging
from orc_core.infra.processes import hold_on
from orc_core.infra.settings import CoreSettings
from orc_core.infra.telemetry.setup import start_telemetry
from orc_core.names import Owner

SERVICE = "orc-worker"
NICENESS = 10
"""Users wait for answers; a document may be indexed a little later."""
SECONDS_BETWEEN_SWEEPS = 30.0

log = logging.getLogger(__name__)


async def work(settings: CoreSettings, *, until_stdin_ends: bool = False) -> None:
    """Work through the queue until a signal arrives, or until standard input ends."""
    start_logging(settings)
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    with contextlib.closing(start_telemetry(settings, SERVICE)):
        async with open_documents(settings, analyser=True) as documents:
            contexts = ContextStore(await documents.clients.items("contexts"))
            retention = await open_retention(settings, documents, contexts)
            working = asyncio.create_task(_work(documents, contexts, retention))
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, working.cancel)
            if until_stdin_ends:
                hold_on(working.cancel)
            with contextlib.suppress(asyncio.CancelledError):
                await working


async def _work(documents: Documents, contexts: ContextStore, retention: Retention) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(documents.worker.run())
        of_contexts = partial(sweep, contexts, documents.library.delete_all)
        tasks.create_task(sweep_for_ever("deleted contexts", of_contexts))
        tasks.create_task(sweep_for_ever("what has expired", retention.sweep))


class WorkerProvider:
    """Opens a worker on first use and keeps it, for a host that hands out jobs by calling."""

    def __init__(self, settings: CoreSettings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._documents: Documents | None = None

    async def work_on(self, notice: bytes) -> None:
        """Do the job that a message of the job queue names, unless it is done or another worker has it.

        Raises unexpected errors, and ValueError or UnsafeName if the message names no job.
        """
        job = Notice.model_validate_json(notice)
        await (await self._get()).worker.work_on(job.path, job.kind)

    async def sweep(self) -> None:
        """Find jobs without a message; remove deleted contexts and what has expired."""
        documents = await self._get()
        await documents.worker.sweep()
        contexts = ContextStore(await documents.clients.items("contexts"))
        await sweep(contexts, documents.library.delete_all)
        await (await open_retention(self._settings, documents, contexts)).sweep()

    async def close(self) -> None:
        """Close what was opened."""
        await self._stack.aclose()

    async def _get(self) -> Documents:
        async with self._lock:
            if self._documents is None:
                keep_content_out()
                start_telemetry(self._settings, SERVICE)
                opening = open_documents(self._settings, analyser=True)
                self._documents = await self._stack.enter_async_context(opening)
            return self._documents


async def sweep(
    store: ContextStore,
    remove_documents: Callable[[Owner], Awaitable[object]],
    clock: Callable[[], datetime] = utc_now,
) -> None:
    """Remove every deleted context with all below it, the deepest first.

    It can be interrupted anywhere and repeated, also by several processes at once.
    """
    for top in await store.deleting():
        for context in await store.at_or_below(top.organization_id, top.context_id):
            await remove_documents(Owner.of_context(context.organization_id, context.context_id))
            entry = AuditEntry(
                organization_id=context.organization_id,
                at=clock(),
                actor=BY_ORC,
                action=Action.REMOVED,
                context_id=context.context_id,
            )
            await store.remove(context, entry)


async def sweep_for_ever(what: str, sweep: Callable[[], Awaitable[None]]) -> None:
    """Sweep now and then until cancelled; a failed sweep is repeated."""
    while True:
        try:
            await sweep()
        except OrcError as exc:
            log.warning("%s: removed later: %s", what, exc.code)
        except Exception:
            # The outermost edge of a sweep: documents are processed in the meantime.
            log.exception("%s: could not be removed", what)
        await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)
