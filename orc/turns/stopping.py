"""Stopping a turn at its user's wish, whichever process the wish reaches."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from core.errors import Unavailable

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""How often the process that answers reads whether it is to stop: within 2 s nothing more may begin."""


class StoppedByUser(Exception):
    """The work inside `Stop.ends` was cancelled at the user's wish."""


class Stop:
    """The wish that a turn ends. It may come before the work begins, and more than once."""

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
        """Cancel what is done inside when asked, and raise StoppedByUser."""
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
    """Read every so often whether another process was asked to stop this work, while the context is open."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                if await is_asked():
                    stop.ask()
                    return
            except Unavailable:
                logger.warning("whether a turn is to stop could not be read; trying again")
            except Exception:
                # The outermost edge of this task, which is not awaited while the work runs.
                logger.exception("whether a turn is to stop could not be read; trying again")

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
