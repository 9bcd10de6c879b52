"""Stops a running turn if its user asks for it, in this process or in another one."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from orc_core.errors import Unavailable
from orc_core.infra.resilience import repeated

logger = logging.getLogger(__name__)

# Why a flag that is read, and no message: docs/decisions/stop-retry-edit.md.
POLL_SECONDS = 1.0
"""How often the process that answers reads whether it is to stop: within 2 s nothing more may begin."""


class StoppedByUser(Exception):
    """The work inside `Stop.ends` was cancelled because the user asked to stop it."""


class Stop:
    """Cancels the work of one turn if its user asks to stop it, before or while it runs."""

    def __init__(self) -> None:
        self._asked = False
        self._scope: asyncio.Timeout | None = None

    def ask(self) -> None:
        """Cancel the work, now or as soon as it begins."""
        if not self._asked and self._scope is not None:
            self._scope.reschedule(0)
        self._asked = True

    @asynccontextmanager
    async def ends(self) -> AsyncIterator[None]:
        """Run the work inside; `ask` cancels it, and StoppedByUser is raised."""
        scope = asyncio.timeout(0 if self._asked else None)
        try:
            async with scope:
                self._scope = scope
                try:
                    yield
                finally:
                    self._scope = None
        except TimeoutError:
            if scope.expired():
                raise StoppedByUser from None
            raise


@asynccontextmanager
async def watched(
    is_asked: Callable[[], Awaitable[bool]], stop: Stop, *, seconds: float = POLL_SECONDS
) -> AsyncIterator[None]:
    """While the context is open, read every `seconds` whether another process was asked to stop the work."""

    async def look() -> None:
        try:
            if await is_asked():
                stop.ask()
        except Unavailable:
            logger.warning("whether a turn is to stop could not be read; trying again")
        except Exception:
            # The outermost edge of this task, which is not awaited while the work runs.
            logger.exception("whether a turn is to stop could not be read; trying again")

    async with repeated(look, seconds=seconds):
        yield
