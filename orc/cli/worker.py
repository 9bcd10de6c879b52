"""`orc worker`: indexes and analyses documents in separate processes, and one job at a time on Functions."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from core.bootstrap import open_documents
from core.documents.jobs import Notice
from core.documents.worker import Worker
from core.infra.log_redaction import keep_content_out
from core.infra.settings import CoreSettings
from core.infra.telemetry.setup import start_telemetry
from orc.cli.processes import environment_of, keep_running
from orc.settings import Settings

SERVICE = "orc-worker"
NICENESS = 10
"""Users wait for answers; a document may be indexed a little later."""


async def work(settings: CoreSettings, *, until_stdin_ends: bool = False) -> None:
    """Work through the queue until a signal arrives, or until standard input ends."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    with contextlib.closing(start_telemetry(settings, SERVICE)):
        async with open_documents(settings, analyser=True) as documents:
            working = asyncio.create_task(documents.worker.run())
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, working.cancel)
            if until_stdin_ends:
                loop.add_reader(sys.stdin, _stop_at_end_of_input, working)
            with contextlib.suppress(asyncio.CancelledError):
                await working


def _stop_at_end_of_input(working: "asyncio.Task[None]") -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        asyncio.get_running_loop().remove_reader(sys.stdin)
        working.cancel()


@asynccontextmanager
async def workers(settings: Settings) -> AsyncIterator[None]:
    """As many worker processes as the settings ask for, while the context is open."""
    environment = environment_of(settings)
    command = ["-m", "orc", "worker", "--until-stdin-ends"]
    tasks = [
        asyncio.create_task(keep_running("a worker", command, environment)) for _ in range(settings.workers)
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class WorkerProvider:
    """Opens a worker on first use and keeps it, for a host that hands out jobs by calling."""

    def __init__(self, settings: CoreSettings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._worker: Worker | None = None

    async def work_on(self, notice: bytes) -> None:
        """Do the job that a message of the job queue names, unless it is done or another worker has it.

        Raises unexpected errors, and ValueError or UnsafeName if the message names no job.
        """
        job = Notice.model_validate_json(notice)
        await (await self._get()).work_on(job.path, job.kind)

    async def sweep(self) -> None:
        """Find jobs without a queue message, or whose message was lost."""
        await (await self._get()).sweep()

    async def close(self) -> None:
        """Close what was opened."""
        await self._stack.aclose()

    async def _get(self) -> Worker:
        async with self._lock:
            if self._worker is None:
                keep_content_out()
                start_telemetry(self._settings, SERVICE)
                opening = open_documents(self._settings, analyser=True)
                self._worker = (await self._stack.enter_async_context(opening)).worker
            return self._worker
