"""What tools have proposed in a conversation, and the user's decisions on it."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from orc.api.dependencies import AppDep, CallerDep, OwnerDep
from orc.api.responses import responses
from orc.api.schemas import View
from orc.contexts.proposals import Proposals
from orc_core.documents.places import PlaceType
from orc_core.documents.proposals import ProposalState

router = APIRouter(prefix="/conversations/{conversation_id}/proposals", tags=["contexts"])

DECISIONS = {"confirm": Proposals.confirm, "decline": Proposals.decline, "undo": Proposals.undo}


class ProposalView(View):
    """A file of the conversation that a tool proposed to add to a context."""

    proposal_id: str
    document_id: str
    blob_name: str = Field(examples=["fee.pdf"])
    context_type: PlaceType
    context_id: str
    context_name: str
    state: ProposalState
    created_at: datetime


class ProposalsResponse(BaseModel):
    """The proposals of a conversation of the last 30 days, oldest first."""

    proposals: list[ProposalView]


@router.get("", responses=responses(404))
async def list_proposals(owner: OwnerDep, app: AppDep) -> ProposalsResponse:
    """What tools have proposed, and what became of it. Nothing is changed before you confirm it."""
    found = await app.proposals.store.of(owner)
    if not found:
        await app.log.known_head(owner)
    return ProposalsResponse(proposals=[ProposalView.of(each) for each in found])


@router.post("/{proposal_id}/{decision}", responses=responses(403, 404, 409))
async def decide_proposal(
    proposal_id: Annotated[str, Path(max_length=64)],
    decision: Literal["confirm", "decline", "undo"],
    owner: OwnerDep,
    caller: CallerDep,
    app: AppDep,
) -> ProposalView:
    """Carry out a proposal, decline it, or take back what it did. A repeated decision changes nothing more.

    Your role on the context counts at this moment (403 `role_too_low`). 409 `changed_meanwhile` if the file
    was replaced, `name_taken` if the context has one of its name, `proposal_closed` if it is decided.
    """
    return ProposalView.of(await DECISIONS[decision](app.proposals, caller, owner, proposal_id))
