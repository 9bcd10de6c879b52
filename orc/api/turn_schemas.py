"""Stored turns in responses: a page of a conversation, a stop, and what users say of an answer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, JsonValue, StrictBool, StringConstraints

from orc.api.schemas import Body, ConversationView, View, example, visible, without_nul
from orc.contexts.models import ContextType, ReadableRef
from orc.conversations.listing import history_view
from orc.conversations.models import (
    Failure,
    Feedback,
    FeedbackReason,
    Head,
    Rating,
    Turn,
    TurnChoices,
    TurnContext,
    TurnStatus,
)
from orc.described_by import DescribedBy
from orc.events import AnswerKind, TurnMetadata
from orc_core.grounding.models import Citation

COMMENT_CHARACTERS = 2000
Title = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120), AfterValidator(visible)
]
NOT_SHOWN = {"timeline"}
"""Of the metadata of a result: the events of the turn have it."""


class TurnView(View):
    """One question, what it chose, and what became of it."""

    turn_id: str
    seq: int
    status: TurnStatus
    question: str
    blob_names: list[str]
    contexts: list[TurnContext] = Field(default=[], description="with their names at that time")
    choices: TurnChoices = TurnChoices()
    answer: str | None = Field(default=None, description="with the status `stopped`: what there was of it")
    answer_kind: AnswerKind | None = None
    citations: list[Citation] = []
    metadata: Annotated[dict[str, JsonValue], DescribedBy(TurnMetadata)] = Field(
        default_factory=dict, description="of the result, without its timeline"
    )
    failure: Failure | None = None
    created_at: datetime
    finished_at: datetime | None = None
    replaces: str | None = Field(default=None, description="the turn of which this one is a new version")
    place: int = Field(description="the `seq` of its first version; its own if it replaces none")
    replaced_by: str | None = Field(default=None, description="its next version, if there is one")
    feedback: Feedback | None = None
    result: dict[str, JsonValue] | None = Field(
        default=None, description="with `full`: the whole response of /api/orc"
    )

    @classmethod
    def shown(cls, turn: Turn, *, full: bool) -> Self:
        """The view of a turn. What its result repeats of it is left out, unless it is to be `full`."""
        result = turn.result or {}
        metadata = result.get("metadata")
        found = metadata if isinstance(metadata, dict) else {}
        return cls.of(
            turn,
            choices=turn.choices or TurnChoices(),
            place=turn.place or turn.seq,
            answer=turn.assistant and turn.assistant.content,
            answer_kind=result.get("answer_kind"),
            citations=turn.citations,
            metadata={name: value for name, value in found.items() if name not in NOT_SHOWN},
            result=turn.result if full else None,
        )


class SessionContextView(BaseModel):
    """A context of a conversation. `gone`: the caller cannot read it now, and is not shown what it is.

    Without a name and not gone: whether the caller can read it could not be found out.
    """

    type: str
    context_id: str | None
    name: str | None
    gone: bool = False

    @classmethod
    def of_context(cls, kind: str, context_id: str, readable: Mapping[str, ReadableRef] | None) -> Self:
        """The view of a context, if it is readable; None: that could not be found out."""
        ref = readable.get(context_id) if readable is not None else None
        if ref is None:
            return cls(type=kind, context_id=None, name=None, gone=readable is not None)
        return cls(type=ref.type, context_id=context_id, name=ref.name)


class ConversationResponse(ConversationView):
    """A conversation with a page of its turns, the oldest of them first."""

    home: SessionContextView | None = Field(default=None, description="the context that it was opened in")
    contexts: list[SessionContextView] = Field(
        default=[], description="those that questions have named, in the order of their first use"
    )
    turns: list[TurnView]
    earlier_before_seq: int | None = Field(
        default=None, description="pass as `before_seq` for the turns before these; null at the beginning"
    )
    next_seq: int | None = Field(
        default=None, description="with `after_seq`: pass it as such for more; null at the end"
    )
    history: list[dict[str, Any]] | None = Field(
        default=None, description="with `full`: the messages of the turns with an answer"
    )

    @classmethod
    def page(
        cls,
        head: Head,
        turns: Sequence[Turn],
        *,
        full: bool,
        more: bool = False,
        readable: Sequence[ReadableRef] | None = (),
    ) -> Self:
        """The view of these turns. `more`: there are later ones; `readable`: contexts that may be named."""
        refs = None if readable is None else {each.id: each for each in readable}
        view = SessionContextView.of_context
        return cls.of(
            head,
            home=view(ContextType.WORKSPACE, head.home, refs) if head.home else None,
            contexts=[view(each.type, each.context_id, refs) for each in head.contexts if each.named],
            turns=[TurnView.shown(turn, full=full) for turn in turns],
            earlier_before_seq=turns[0].seq if turns and turns[0].seq > 1 else None,
            next_seq=turns[-1].seq if turns and more else None,
            history=history_view(list(turns)) if full else None,
        )


class ConversationChange(Body):
    """The title that the user gives a conversation, and whether lists begin with it; null: as it is."""

    title: Title | None = Field(default=None, examples=["Leave of new employees"])
    is_pinned: StrictBool | None = None


class StopView(View):
    """A turn that was to be stopped; `pending` as long as the process that answers has not ended it."""

    turn_id: str
    status: TurnStatus = Field(examples=["pending"])


class FeedbackChange(Body):
    model_config = example(rating="down", reason="incomplete", comment="The second fee is missing.")
    rating: Rating
    reason: FeedbackReason | None = None
    comment: (
        Annotated[
            str,
            StringConstraints(strip_whitespace=True, min_length=1, max_length=COMMENT_CHARACTERS),
            AfterValidator(without_nul),
        ]
        | None
    ) = None
