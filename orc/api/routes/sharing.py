"""Links by which others of the organization read a conversation, and what such a reader is shown."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, Field, JsonValue

from orc.api.dependencies import AppDep, CallerDep, OwnerDep, PrincipalDep
from orc.api.responses import responses
from orc.api.routes.conversations import Limit, SeqParameter
from orc.api.schemas import Body, View, example
from orc.conversations.models import Turn, TurnStatus
from orc.events import AnswerKind
from orc_core.errors import Forbidden, NotFound
from orc_core.grounding.models import Citation

router = APIRouter(tags=["sharing"])
LINKS = "/conversations/{conversation_id}/links"
_OF_METADATA: Mapping[str, set[str]] = {
    "route": {"intent"},
    "critic_summary": {"coverage", "uncited"},
    "lookups": {"tool", "status"},
    "retrieval_mode": set(),
    "files": {"blob_name", "status", "pages"},
    "not_searched": {"total"},
}
"""What a reader needs of the metadata to judge an answer, without names of files that it does not use."""
_UNREADABLE = {"context_id": None, "context_name": None, "document_version": ""}
"""What a citation of a document has for a reader without a right to the document."""


class LinkRequest(Body):
    model_config = example(days=30)
    days: int = Field(default=30, ge=1, le=365, description="it is valid for so long")


class LinkView(View):
    """A link without its secret."""

    link_id: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    created_at: datetime
    ends_at: datetime
    turn_count: int = Field(
        description="questions that the conversation had when it was made: later ones stay out"
    )


class NewLink(LinkView):
    """A link that was made, with its secret, which is not stored and not shown again."""

    secret: str = Field(
        repr=False,
        examples=["mF_9B5f-41JqMmF_9B5f-41JqMmF_9B5f-41JqMmF_9"],
        description="anyone of the organization who has it reads the conversation",
    )


class LinksResponse(BaseModel):
    """The valid links of a conversation, latest first."""

    links: list[LinkView]


class SharedTurn(View):
    """A question with its answer, as those read it who have a link."""

    seq: int
    place: int = Field(description="the `seq` of its first version: they are read in this order")
    status: TurnStatus
    question: str
    blob_names: list[str]
    answer: str
    answer_kind: AnswerKind | None = None
    citations: list[Citation]
    metadata: dict[str, JsonValue] = Field(description="what a reader needs of it to judge the answer")
    created_at: datetime

    @classmethod
    def shown(cls, turn: Turn, readable: Collection[str]) -> Self:
        """The view of a turn that has an answer, for a reader of the documents of these contexts."""
        result: dict[str, Any] = turn.result or {}
        metadata = result.get("metadata") or {}
        return cls.of(
            turn,
            place=turn.place or turn.seq,
            blob_names=[name.rpartition("/")[2] for name in turn.blob_names],
            answer=turn.assistant.content if turn.assistant else "",
            answer_kind=result.get("answer_kind"),
            citations=[
                each if each.context_id in readable else each.model_copy(update=_UNREADABLE)
                for each in turn.citations
            ],
            metadata={
                name: _only(metadata[name], fields)
                for name, fields in _OF_METADATA.items()
                if metadata.get(name)
            },
        )


class SharedConversation(View):
    """A conversation as those read it who have a link, with some of its turns."""

    title: str | None = Field(examples=["Annual leave"])
    owner_name: str | None = Field(description="of the user who has made the link; null: not known")
    created_at: datetime = Field(description="when the link was made: what came later is not shown")
    ends_at: datetime
    turns: list[SharedTurn]
    next_seq: int | None = Field(default=None, description="pass as `after_seq` for more; null at the end")


class Withdrawn(BaseModel):
    model_config = example(withdrawn=2)
    withdrawn: int


@router.post(LINKS, status_code=201, responses=responses(400, 404, 409, 413, 415))
async def make_link(body: LinkRequest, owner: OwnerDep, caller: CallerDep, app: AppDep) -> NewLink:
    """Make a link to the conversation as it is now. Others of the organization who sign in can read it.

    It opens no document: that needs a right of the reader's own. 403 `no_sharing` in `local` mode, which has
    one user, and if an operator has switched links off.
    """
    link, secret = await app.sharing.share(caller, owner, body.days)
    return NewLink.of(link, secret=secret)


@router.get(LINKS, responses=responses(404))
async def list_links(owner: OwnerDep, app: AppDep) -> LinksResponse:
    """The links of a conversation that are valid."""
    await app.log.known_head(owner)
    found = await app.sharing.links(owner)
    return LinksResponse(links=[LinkView.of(link) for link in found])


@router.delete(LINKS + "/{link_id}", status_code=204, responses=responses(404))
async def withdraw_link(
    link_id: Annotated[str, Path(max_length=64, description="the link")],
    owner: OwnerDep,
    caller: CallerDep,
    app: AppDep,
) -> None:
    """End a link at once."""
    if not (named := [link for link in await app.sharing.links(owner) if link.link_id == link_id]):
        raise NotFound("There is no such link.")
    await app.sharing.withdraw(caller, named)


@router.get("/shared", responses=responses(404))
async def read_shared(
    # Not in the address, which proxies and browsers keep.
    x_share_link: Annotated[str, Header(min_length=1, max_length=100, description="the secret of a link")],
    reader: PrincipalDep,
    app: AppDep,
    after_seq: SeqParameter = None,
    limit: Limit = 50,
) -> SharedConversation:
    """A conversation that was shared by a link, from its first turn on: the turns that have an answer.

    404 for a link that was withdrawn or has ended, of another organization, or of a deleted conversation.
    """
    link, head = await app.sharing.follow(reader, x_share_link)
    turns, next_seq = await app.sharing.shown(reader, link, head, after_seq=after_seq or 0, limit=limit)
    cited = {each.context_id for turn in turns for each in turn.citations if each.context_id}
    readable = await app.scopes.readable_ids(reader, [*cited])
    shown = [SharedTurn.shown(turn, readable) for turn in turns]
    return SharedConversation.of(link, turns=shown, next_seq=next_seq)


@router.delete("/admin/links", responses=responses())
async def withdraw_links_of_user(
    user_id: Annotated[str, Query(min_length=1, max_length=256, description="who has made them")],
    caller: CallerDep,
    app: AppDep,
) -> Withdrawn:
    """End all links of a user, such as one whose account was closed. For administrators."""
    if not caller.is_admin:
        raise Forbidden("This is for administrators of the installation.")
    return Withdrawn(withdrawn=await app.sharing.withdraw_all(caller, user_id))


def _only(part: Any, fields: set[str]) -> JsonValue:
    if isinstance(part, list):
        return [_only(each, fields) for each in part]
    if not isinstance(part, dict):
        shown: JsonValue = part
        return shown
    return {name: value for name, value in part.items() if name in fields}
