"""Changes that a tool proposes and the user confirms: files of a conversation for a context."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

from orc_core.documents.places import PlaceType
from orc_core.errors import NotFound
from orc_core.infra.items import (
    VERSION,
    All,
    Change,
    Item,
    Items,
    Raced,
    equal,
    over,
    remove,
    replace,
    unraced,
)
from orc_core.models import Record
from orc_core.names import Owner

KEPT_SECONDS = 30 * 24 * 60 * 60
_KIND = "proposal"


class ProposalState(StrEnum):
    """`open` until the user decides. `undone`: it was carried out, and taken back."""

    OPEN = "open"
    DONE = "done"
    DECLINED = "declined"
    UNDONE = "undone"


class Proposal(Record):
    """A file of a conversation that a tool proposes to add to a context. It changes nothing by itself.

    `version` is that of the file's bytes when it was proposed; `added_etag` is that of its copy, once there
    is one.
    """

    organization_id: str
    user_id: str
    conversation_id: str
    proposal_id: str
    document_id: str
    blob_name: str
    version: str
    context_type: PlaceType
    context_id: str
    context_name: str
    state: ProposalState = ProposalState.OPEN
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    added_etag: str = ""

    @property
    def owner(self) -> Owner:
        """The conversation that it was proposed in."""
        return Owner(self.organization_id, self.user_id, self.conversation_id)


class AddToContextResult(BaseModel):
    """What was proposed. Nothing has been changed: the user has to confirm it."""

    filename: str
    context_type: PlaceType
    context_name: str
    state: Literal["waits_for_confirmation"] = "waits_for_confirmation"


def proposal_id_of(owner: Owner, document_id: str, version: str, context_id: str) -> str:
    """The id of a proposal: the same file for the same context is one proposal."""
    return hashlib.sha256("\n".join([*owner.key, document_id, version, context_id]).encode()).hexdigest()[:32]


class ProposalStore:
    """Proposals are items of the collection of contexts, so that one write closes a proposal and notes it in
    the audit. They are kept for 30 days.
    """

    def __init__(self, items: Items) -> None:
        self._items = items

    async def propose(self, proposal: Proposal) -> Proposal:
        """Store a proposal, or open it again if the user has decided on it before."""

        async def work() -> Proposal:
            stored = await self._items.read([proposal.organization_id], _item_id(proposal.proposal_id))
            if stored is not None and (known := _proposal(stored)).state is ProposalState.OPEN:
                return known
            await self._items.write([proposal.organization_id], over(stored, _item(proposal)))
            return proposal

        return await unraced(work)

    async def of(self, owner: Owner) -> list[Proposal]:
        """The proposals of a conversation, oldest first."""
        found = await self._items.query([owner.organization_id], _of(owner))
        return sorted(map(_proposal, found), key=lambda each: (each.created_at, each.proposal_id))

    async def read(self, owner: Owner, proposal_id: str) -> tuple[Proposal, str]:
        """A proposal of this conversation with the version of its item. Raises NotFound for any other id."""
        stored = await self._items.read([owner.organization_id], _item_id(proposal_id))
        if stored is None or (proposal := _proposal(stored)).owner != owner:
            raise NotFound("There is no such proposal.")
        return proposal, str(stored[VERSION])

    async def replace(self, proposal: Proposal, version: str, others: Sequence[Change]) -> bool:
        """Write a proposal over this version of it, together with others; False if it has changed since."""
        try:
            await self._items.write([proposal.organization_id], replace(_item(proposal), version), *others)
        except Raced:
            return False
        return True

    async def forget(self, owner: Owner) -> None:
        """Remove the proposals of a conversation."""
        partition = [owner.organization_id]
        await remove(self._items, partition, lambda: self._items.query(partition, _of(owner)))


def _of(owner: Owner) -> All:
    return equal(kind=_KIND, user_id=owner.user_id, conversation_id=owner.conversation_id)


def _item_id(proposal_id: str) -> str:
    return f"{_KIND}:{proposal_id}"


def _proposal(item: Item) -> Proposal:
    return Proposal.model_validate(item["item"])


def _item(proposal: Proposal) -> Item:
    return {
        "id": _item_id(proposal.proposal_id),
        "kind": _KIND,
        "user_id": proposal.user_id,
        "conversation_id": proposal.conversation_id,
        "ttl": KEPT_SECONDS,
        "item": proposal.model_dump(mode="json"),
    }
