"""Deletes sessions with all that belongs to them: if their user asks for it, or after their retention."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError

from orc.contexts.models import BY_ORC, Action, AuditEntry
from orc.contexts.store import ContextStore
from orc.conversations.models import Head, utc_now
from orc.conversations.turn_log import TurnLog
from orc.memory.service import MemoryStore
from orc.sharing import forget_links
from orc.traces.models import TraceStore
from orc_core.bootstrap import Documents
from orc_core.documents.proposals import ProposalStore
from orc_core.errors import Conflict, NotFound, OrcError
from orc_core.infra.items import Items, Raced, create
from orc_core.infra.settings import StorageSettings
from orc_core.models import Document
from orc_core.names import Owner

SECONDS_BETWEEN = 6 * 3600
_NO_USER = ("-", "-")
"""The partition of what is no limit of a user."""

log = logging.getLogger(__name__)


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
        had_documents = await self.documents.library.delete_all(owner)
        await self.memory.delete(owner)
        deleted = await self.log.delete(owner)
        # The memory again: an update may have written in between, while the conversation still existed.
        await self._delete_rest(owner)
        return deleted or had_documents

    async def delete_unchanged(self, owner: Owner, head: Head | None, documents: Sequence[Document]) -> bool:
        """Remove a session that still has this head; False if it was used meanwhile.

        Of its documents only these, and none that was replaced. What begins after the head is gone stays.
        """
        if not await self.log.end(owner, lambda present: present.head == head):
            return False
        # At once: documents take a while, and the rest of what begins meanwhile has no version to know it by.
        await self._delete_rest(owner)
        for document in documents:
            # Deleted or replaced meanwhile.
            with suppress(NotFound, Conflict):
                await self.documents.library.delete(owner, document.document_id, etag=document.etag)
        # Last: until then the next sweep finds what an interruption has left.
        await self.log.delete_ended(owner)
        return True

    async def _delete_rest(self, owner: Owner) -> None:
        await self.memory.delete(owner)
        await self.traces.delete(owner)
        await ProposalStore(self.shared).forget(owner)
        await forget_links(self.shared, owner)


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
            if owner.context_id is None:
                with _kept_if_it_fails(owner):
                    await self._expire(owner, end)
        for document in old if self.of_contexts else []:
            if document.owner.context_id is not None:
                with _kept_if_it_fails(document.owner):
                    await self._delete(document)

    async def _is_first(self) -> bool:
        try:
            await self.marks.write(_NO_USER, create({"id": "retention", "ttl": SECONDS_BETWEEN}))
        except Raced:
            return False
        return True

    async def _expire(self, owner: Owner, end: datetime) -> None:
        library = self.sessions.documents.library
        head, documents = await self.sessions.log.head(owner), await library.recorded(owner)
        uses = [each.updated_at for each in documents] + ([head.updated_at] if head else [])
        if any(at >= end for at in uses):
            # A deletion that was cut short has left turns, and a new session has the id by now.
            await self.sessions.log.delete_ended(owner)
            return
        # The listing makes a record of a file that has none, as after a direct upload: that was a use.
        is_as_recorded = await library.list_documents(owner) == documents
        if is_as_recorded and await self.sessions.delete_unchanged(owner, head, documents):
            await self._note(owner, Action.SESSION_EXPIRED)

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


@contextmanager
def _kept_if_it_fails(owner: Owner) -> Iterator[None]:
    """Go on after a failure, such as a record of a newer version, which no retention may delete."""
    try:
        yield
    except (OrcError, ValidationError) as exc:
        log.error("what has expired stays conversation_id=%s: %s", owner.conversation_id, type(exc).__name__)


async def open_session_stores(settings: StorageSettings, documents: Documents) -> SessionStores:
    """The stores of sessions."""
    items, traces = documents.clients.items, settings.retention_seconds
    return SessionStores(
        documents,
        TurnLog(await items("conversations")),
        MemoryStore(await items("memory")),
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
