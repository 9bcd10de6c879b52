"""What processes hold when nothing happens: asyncio tasks and file descriptors, before and after."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from resilience.checks import Tally
from resilience.deployment import Instance

TASKS = "asyncio tasks left over"
FILES = "file descriptors left over"
IDLE_SECONDS = 6.0
"""Longer than a server keeps an idle connection."""
QUIET_SECONDS = 1.0


@dataclass(frozen=True)
class Reading:
    """One process at rest."""

    name: str
    tasks: Counter[str]
    files: int

    def __str__(self) -> str:
        return f"{self.tasks.total()} tasks, {self.files} file descriptors"


class Rest:
    """Reads processes at rest. `ask` has them do one ordinary thing, so that pools drop what is dead."""

    def __init__(
        self, http: httpx.AsyncClient, instances: Sequence[Instance], ask: Callable[[], Awaitable[None]]
    ) -> None:
        self._http, self._instances, self._ask = http, instances, ask

    async def readings(self) -> list[Reading]:
        """The processes, each time after the same that happened to them."""
        await asyncio.sleep(IDLE_SECONDS)
        await self._ask()
        await asyncio.sleep(QUIET_SECONDS)
        return [await self._reading(each, name) for each, name in zip(self._instances, _NAMES, strict=True)]

    async def _reading(self, instance: Instance, name: str) -> Reading:
        tasks = (await self._http.get(f"{instance.address}/_tasks")).raise_for_status().json()
        return Reading(name, Counter(tasks), instance.process.num_fds() - _pooled(instance.process))


_NAMES = ("API", "tools server")


def _pooled(process: psutil.Process) -> int:
    """Descriptors of the database, whose connections are opened as they are needed, a few, and kept."""
    return sum(Path(file.path).name.startswith("orc.db") for file in process.open_files())


def compare(before: Sequence[Reading], after: Sequence[Reading], tally: Tally) -> None:
    """Note what the processes hold more of than before."""
    for old, new in zip(before, after, strict=True):
        more = new.tasks - old.tasks
        tally.expect(TASKS, not more, f"{new.name}: {dict(more)}")
        tally.expect(FILES, new.files <= old.files, f"{new.name}: {old.files} before, {new.files} after")
