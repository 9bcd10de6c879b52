"""Watches how much processor time a child process uses, and stops one that makes no progress."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum
from typing import NamedTuple

from core.infra.children import Child
from core.infra.priority import LONG_SECONDS, give_more_way, processor_seconds

POLL_SECONDS = 0.5
LEAST_WORK = 0.02
"""Seconds of processor time between two polls that show that a child works."""


class TimeLimits(NamedTuple):
    """How long a child may read a file: seconds of processor time, for `idle` and `wall` on the clock.

    `page`: for one page, or for opening the file. `share`: what each page that was read adds to `page` for
    the whole file, up to `most`. `idle`: without using the processor. Only `wall` depends on how busy the
    machine is.
    """

    page: float = 15.0
    share: float = 0.25
    most: float = 900.0
    idle: float = 120.0
    wall: float = 1800.0

    def whole_file(self, pages: int) -> float:
        """Processor time that a child may have used after reading `pages`."""
        return min(self.page + self.share * pages, self.most)


class Verdict(Enum):
    """Why a child was killed: for one page, or for the whole file."""

    SLOW_PAGE = "slow page"
    TOO_SLOW = "too slow"


class Watch:
    """Kills a child beyond its limits, and sets `verdict`. Its pages are counted in `pages` by the caller.

    `wall` is for how long the child was watched, in seconds.
    """

    def __init__(self, process: Child, limits: TimeLimits) -> None:
        self.pages = 0
        self.wall = 0.0
        self.verdict: Verdict | None = None
        self._process = process
        self._limits = limits

    async def run(self) -> None:
        """Watch until the child has ended."""
        limits, seen, idle = self._limits, self.pages, 0.0
        start = since = used = await self._used()
        gave_way = False
        poll = min(POLL_SECONDS, limits.page / 2, limits.idle / 2)
        while self._process.returncode is None:
            await asyncio.sleep(poll)
            before, used = used, await self._used()
            if not gave_way and used - start > LONG_SECONDS:
                gave_way = True
                give_more_way(self._process.pid)
            self.wall += poll  # polls are counted, not seconds: a machine may have slept in between
            idle = 0.0 if used - before >= LEAST_WORK or self.pages != seen else idle + poll
            if self.pages != seen:
                seen, since = self.pages, used
            if used - since > limits.page:
                self._stop(Verdict.SLOW_PAGE)
            elif used - start > limits.whole_file(seen) or idle > limits.idle or self.wall > limits.wall:
                self._stop(Verdict.TOO_SLOW)

    async def _used(self) -> float:
        return await asyncio.to_thread(processor_seconds, self._process.pid)

    def _stop(self, verdict: Verdict) -> None:
        if self._process.returncode is None:
            self.verdict = verdict
            self._process.kill()


@asynccontextmanager
async def watched(process: Child, limits: TimeLimits) -> AsyncIterator[Watch]:
    """Watches the child while the context is open."""
    watch = Watch(process, limits)
    task = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.wait([task])
