"""Deletes sessions with all that belongs to them: if their user asks for it, or after their retention."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from orc.contexts.models import BY_ORC, Action, AuditEntry
from orc.contexts.store import ContextStore
from orc.conversations.models import utc_now
from orc.conversations.turn_log import TurnLog
from orc.memory.service import MemoryStore
from orc.sharing import forget_links
from orc.traces.models import TraceStore
from orc_core.bootstrap import Documents
from orc_core.documents.proposals import ProposalStore
from orc_core.errors import Conflict, NotFound
from orc_core.infra.items import Items, Raced, create
from orc_core.infra.settings import StorageSettings
from orc_core.models import Document
from orc_core.names import Owner

SECONDS_BETWEEN = 6 * 3600
_NO_USER = ("-", "-")
"""The partition of what is no limit of a user."""


@dataclass(frozen=True)
class SessionStores:
    """All stores that have something of a session."""

    documents: Documents
    log: TurnLog
    memory: MemoryStore
    traces: TraceStore
    shared: Items
    """The collection of contexts, which has proposals and links too."""

    async def delete(self, owner: Owner) -> bool:
        """Remove a session with its turns, documents, memory, traces and links; False if there was none."""
        documents = await self.documents.library.list_documents(owner)
        await self.documents.library.delete_all(owner)
        await self.memory.delete(owner)
        deleted = await self.log.delete(owner)
        # Again: an update may have written in between, while the conversation still existed.
        await self.memory.delete(owner)
        await self.traces.delete(owner)
        await ProposalStore(self.shared).forget(owner)
        await forget_links(self.shared, owner)
        return deleted or bool(documents)


# What is kept for how long, and why by a sweep: docs/decisions/deletion.md.
@dataclass(frozen=True)
class Retention:
    """Deletes sessions that were not used for `seconds`; `of_contexts`: and documents of contexts as old.

    Each deletion is in the audit. `marks`: items by which processes agree that one of them does this.
    """

    sessions: SessionStores
    contexts: ContextStore
    marks: Items
    seconds: int | None
    of_contexts: bool = False
    clock: Callable[[], datetime] = utc_now

    async def sweep(self) -> None:
        """Delete what has expired, unless a process has done so in the last six hours."""
        if self.seconds is None or not await self._is_first():
            return
        end = self.clock() - timedelta(seconds=self.seconds)
        documents, _ = await self.sessions.documents.stores.catalog.everything()
        old = [document for document in documents if document.updated_at < end]
        # Those without a conversation are left by versions that let it expire alone.
        owners = {*await self.sessions.log.unused_since(end), *(document.owner for document in old)}
        for owner in owners:
            if owner.context_id is None and await self._is_unused(owner, end):
                await self.sessions.delete(owner)
                await self._note(owner, Action.SESSION_EXPIRED)
        for document in old if self.of_contexts else []:
            if document.owner.context_id is not None:
                await self._delete(document)

    async def _is_first(self) -> bool:
        try:
            await self.marks.write(_NO_USER, create({"id": "retention", "ttl": SECONDS_BETWEEN}))
        except Raced:
            return False
        return True

    async def _is_unused(self, owner: Owner, end: datetime) -> bool:
        head = await self.sessions.log.head(owner)
        uploads = [each.updated_at for each in await self.sessions.documents.library.recorded(owner)]
        return all(at < end for at in [*uploads, *([head.updated_at] if head else [])])

    async def _delete(self, document: Document) -> None:
        owner, document_id = document.owner, document.document_id
        # Deleted or replaced meanwhile.
        with suppress(NotFound, Conflict):
            await self.sessions.documents.library.delete(owner, document_id, etag=document.etag)
            await self._note(owner, Action.DOCUMENT_EXPIRED, document_id)

    async def _note(self, owner: Owner, action: Action, document_id: str | None = None) -> None:
        await self.contexts.note(
            AuditEntry(
                organization_id=owner.organization_id,
                at=self.clock(),
                actor=BY_ORC,
                action=action,
                context_id=owner.context_id,
                principal=None if owner.context_id else f"user:{owner.user_id}",
                conversation_id=None if owner.context_id else owner.conversation_id,
                document_id=document_id,
            )
        )


async def open_session_stores(settings: StorageSettings, documents: Documents) -> SessionStores:
    """The stores of sessions."""
    items, turns, traces = documents.clients.items, settings.session_seconds, settings.retention_seconds
    return SessionStores(
        documents,
        TurnLog(await items("conversations"), retention_seconds=turns),
        MemoryStore(await items("memory"), retention_seconds=turns),
        TraceStore(await items("traces", ttl=traces), retention_seconds=traces),
        await items("contexts"),
    )


async def open_retention(
    settings: StorageSettings, documents: Documents, contexts: ContextStore
) -> Retention:
    """What deletes expired sessions, if the settings ask for that."""
    return Retention(
        await open_session_stores(settings, documents),
        contexts,
        await documents.clients.items("limits"),
        settings.session_seconds,
        of_contexts=settings.retention_covers == "contexts",
    )
