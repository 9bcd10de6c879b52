"""What becomes of a proposal: its user confirms it, declines it, or takes it back once it was carried out."""

from contextlib import suppress
from dataclasses import dataclass

from orc.contexts.models import Action, AuditEntry
from orc.contexts.rights import Right
from orc.contexts.service import Caller, ContextService
from orc.contexts.store import entry_item
from orc.conversations.models import utc_now
from orc_core.documents.proposals import Proposal, ProposalState, ProposalStore
from orc_core.documents.service import READING_SECONDS, DocumentService
from orc_core.errors import Conflict, Forbidden, NotFound
from orc_core.infra.items import create
from orc_core.mcp_contract import ADD_TO_CONTEXT
from orc_core.names import BlobPath, Owner


# Why a stored proposal and not an interrupted graph: docs/decisions/tools-that-change.md.
@dataclass(frozen=True)
class Proposals:
    """Carries out proposals for the user who confirms them, with the rights that the user has then."""

    store: ProposalStore
    contexts: ContextService
    library: DocumentService

    async def confirm(self, caller: Caller, owner: Owner, proposal_id: str) -> Proposal:
        """Add the file to the context; a proposal that was carried out is returned as it is.

        Raises NotFound or Forbidden without the right by now, and Conflict if the file has changed since, if
        the context has one of its name, or if the proposal is closed.
        """
        proposal, version = await self.store.read(owner, proposal_id)
        if proposal.state is ProposalState.DONE:
            return proposal
        _check_state(proposal, ProposalState.OPEN)
        target = await self._target(caller, proposal)
        document = await self.library.find(owner, proposal.document_id)
        if document.version != proposal.version:
            raise Conflict(f'"{proposal.blob_name}" was replaced since. Ask again.', code="changed_meanwhile")
        is_new = True
        try:
            async with self.library.local_copy(document) as path:
                added = await self.library.upload(
                    target, proposal.blob_name, path, seconds=READING_SECONDS, replaces=False
                )
        except Conflict:
            # Another confirmation has added it, or one that was interrupted before that was stored.
            stored, _ = await self.store.read(owner, proposal_id)
            if stored.state is ProposalState.DONE:
                return stored
            [added] = await self.library.resolve(target, [proposal.blob_name])
            if added.version != proposal.version:
                raise
            is_new = False
        done = proposal.model_copy(update={"state": ProposalState.DONE, "added_etag": added.etag})
        try:
            await self._target(caller, proposal)
            return await self._close(caller, done, version, Action.ADDED)
        except (Conflict, Forbidden, NotFound):
            # Declined, deleted, or not allowed any more, while the file was added.
            with suppress(Conflict, NotFound):
                if is_new:
                    await self.library.delete(target, added.document_id, etag=added.etag)
            raise

    async def decline(self, caller: Caller, owner: Owner, proposal_id: str) -> Proposal:
        """Close an open proposal; nothing is changed by it."""
        proposal, version = await self.store.read(owner, proposal_id)
        if proposal.state is ProposalState.DECLINED:
            return proposal
        _check_state(proposal, ProposalState.OPEN)
        declined = proposal.model_copy(update={"state": ProposalState.DECLINED})
        return await self._close(caller, declined, version, None)

    async def undo(self, caller: Caller, owner: Owner, proposal_id: str) -> Proposal:
        """Remove from the context what the proposal added; Conflict if it was replaced since."""
        proposal, version = await self.store.read(owner, proposal_id)
        if proposal.state is ProposalState.UNDONE:
            return proposal
        _check_state(proposal, ProposalState.DONE)
        target = await self.contexts.owner(caller, proposal.context_id, Right.CHANGE_DOCUMENTS)
        with suppress(NotFound):
            added = BlobPath(target, proposal.blob_name).document_id
            await self.library.delete(target, added, etag=proposal.added_etag)
        undone = proposal.model_copy(update={"state": ProposalState.UNDONE})
        return await self._close(caller, undone, version, Action.TAKEN_BACK)

    async def _target(self, caller: Caller, proposal: Proposal) -> Owner:
        """The owner of the context's documents, if the caller may change them by this tool now."""
        readable = await self.contexts.read(caller, proposal.context_id, Right.CHANGE_DOCUMENTS)
        if any(ADD_TO_CONTEXT in each.tools_off for each in (*readable.path, readable.context)):
            raise Forbidden("The context has this tool switched off.", code="tool_off")
        return Owner.of_context(proposal.organization_id, proposal.context_id)

    async def _close(
        self, caller: Caller, proposal: Proposal, version: str, action: Action | None
    ) -> Proposal:
        """Store the new state with its entry of the audit, once; or what another request has stored."""
        entries = []
        if action:
            target = Owner.of_context(proposal.organization_id, proposal.context_id)
            entry = AuditEntry(
                organization_id=proposal.organization_id,
                at=utc_now(),
                actor=caller.principal.user_id,
                action=action,
                context_id=proposal.context_id,
                document_id=BlobPath(target, proposal.blob_name).document_id,
                trace_id=caller.trace_id,
            )
            entries.append(create(entry_item(entry)))
        if await self.store.replace(proposal, version, entries):
            return proposal
        stored, _ = await self.store.read(proposal.owner, proposal.proposal_id)
        _check_state(stored, proposal.state)
        return stored


def _check_state(proposal: Proposal, wanted: ProposalState) -> None:
    if proposal.state is not wanted:
        raise Conflict(f"The proposal is {proposal.state} by now.", code="proposal_closed")
