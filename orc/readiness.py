"""Asking a dependency whether it answers, for `/api/ready` and `orc doctor`."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from core.errors import OrcError
from core.models import Record

SECONDS = 5.0


class DependencyState(Record):
    """What is in use for one need, and whether it answers. `where` is for the operator's eyes only."""

    name: str
    backend: str
    where: str
    ok: bool
    latency_ms: float
    detail: str | None = None
    needed: bool = True

    @property
    def allows_turns(self) -> bool:
        """Whether turns can be answered as far as this goes."""
        return self.ok or not self.needed


Check = Callable[[], Awaitable[DependencyState]]


def check(
    name: str,
    backend: str,
    where: str,
    ping: Callable[[], Awaitable[None]] | None,
    *,
    needed: bool = True,
) -> Check:
    """A check of one dependency; None for one that is in this process or costs money to ask.

    Turns can be answered without one that is not `needed`.
    """

    async def run() -> DependencyState:
        started = time.perf_counter()
        detail = await _failure(ping) if ping else None
        latency = round((time.perf_counter() - started) * 1000, 1)
        return DependencyState(
            name=name,
            backend=backend,
            where=where,
            ok=detail is None,
            latency_ms=latency,
            detail=detail,
            needed=needed,
        )

    return run


async def _failure(ping: Callable[[], Awaitable[None]]) -> str | None:
    try:
        async with asyncio.timeout(SECONDS):
            await ping()
    except OrcError as exc:
        return exc.message
    except TimeoutError:
        return f"No answer within {SECONDS:.0f} s."
    return None
