"""Keeps leased work ours, and stops it when it no longer is."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from core.errors import OrcError, Unavailable

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 3


@asynccontextmanager
async def held(renew: Callable[[], Awaitable[object]], *, seconds: float) -> AsyncIterator[None]:
    """Call `renew` often enough for as long as the context is open.

    A renewal that fails as Unavailable is tried again; after any other OrcError the lease is lost: the
    work inside is cancelled and the context raises that error, unless another caller cancels it too.
    """
    holder = asyncio.current_task()
    assert holder is not None
    cancelled_before = holder.cancelling()
    lost: list[OrcError] = []

    async def keep() -> None:
        while not lost:
            await asyncio.sleep(seconds / RENEWALS_PER_LEASE)
            try:
                await renew()
            except Unavailable:
                logger.warning("a lease was not renewed; trying again")
            except OrcError as exc:
                lost.append(exc)
                holder.cancel()
            except Exception:
                # The outermost edge of this task, which is not awaited while the work runs.
                logger.exception("a lease was not renewed; trying again")

    renewing = asyncio.create_task(keep())
    try:
        yield
    except asyncio.CancelledError:
        if not lost or holder.uncancel() > cancelled_before:
            raise
        raise lost[0] from None
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
