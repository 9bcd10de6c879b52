"""`orc worker`: indexes and analyses documents, beside the processes that answer."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.bootstrap import open_documents
from core.settings import CoreSettings
from orc.child import environment_of, keep_running
from orc.settings import Settings

NICENESS = 10
"""People wait for answers; a document that is indexed a little later costs nobody anything."""


async def work(settings: CoreSettings, *, until_stdin_ends: bool = False) -> None:
    """Work through the queue until a signal arrives, or until standard input ends."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
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
        asyncio.create_task(keep_running("a worker", command, environment))
        for _ in range(settings.ingestion_workers)
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
