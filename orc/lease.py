"""Keeps a running turn ours, and stops it when it no longer is."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.documents.names import Owner
from core.errors import OrcError, Unavailable
from orc.conversations.models import Turn
from orc.conversations.ports import TurnLog

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 3


@asynccontextmanager
async def held(log: TurnLog, owner: Owner, turn: Turn, *, seconds: float) -> AsyncIterator[None]:
    """Renew the turn's lease for as long as the context is open.

    A renewal that the store could not take is tried again; where the turn was taken over or is gone,
    the work inside is cancelled and the context raises what the log said.
    """
    holder = asyncio.current_task()
    assert holder is not None
    lost: list[OrcError] = []

    async def renew() -> None:
        while not lost:
            await asyncio.sleep(seconds / RENEWALS_PER_LEASE)
            try:
                await log.renew(owner, turn.turn_id, turn.attempt, lease_seconds=seconds)
            except Unavailable:
                logger.warning("the lease of turn %s was not renewed; trying again", turn.turn_id)
            except OrcError as exc:
                lost.append(exc)
                holder.cancel()

    renewing = asyncio.create_task(renew())
    try:
        yield
    except asyncio.CancelledError:
        if not lost:
            raise
        holder.uncancel()
        raise lost[0] from None
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
