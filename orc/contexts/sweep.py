"""Removes what deleted contexts leave behind: documents, members and the contexts themselves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from orc.contexts.models import Action, AuditEntry
from orc.contexts.store import ContextStore
from orc.conversations.models import utc_now
from orc_core.errors import OrcError
from orc_core.names import Owner

SECONDS_BETWEEN_SWEEPS = 30.0
BY_ORC = "orc"
"""The actor of the audit if no user is."""

log = logging.getLogger(__name__)


async def sweep(
    store: ContextStore,
    remove_documents: Callable[[Owner], Awaitable[None]],
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


async def sweep_for_ever(store: ContextStore, remove_documents: Callable[[Owner], Awaitable[None]]) -> None:
    """Sweep now and then until cancelled; a failed sweep is repeated."""
    while True:
        try:
            await sweep(store, remove_documents)
        except OrcError as exc:
            log.warning("deleted contexts are removed later: %s", exc.code)
        except Exception:
            # The outermost edge of a sweep: documents are processed in the meantime.
            log.exception("deleted contexts could not be removed")
        await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)
