"""The models of a conversation (head, turn, message) and the port of the turn log."""

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from orc_core.grounding.models import Citation, with_check
from orc_core.models import FileRef, Record
from orc_core.names import Owner

KEY_CHARACTERS = 128


class ChatMessage(Record):
    """One message of the history, as models see it."""

    role: Literal["user", "assistant"]
    content: str


class TurnContext(Record):
    """A context as a question names it; the first one of a question is its focus.

    `active: False` leaves it out of this turn. `name` is what it was called at that time; empty if the caller
    could not read it.
    """

    type: str
    id: str
    active: bool = True
    name: str = ""


class SessionContext(Record):
    """A context that the conversation has used.

    `named`: a question named it; another one is only where documents of a turn were. `shown` are the turns
    with material of it in their prompts, as pairs of the first and the last `seq`.
    """

    type: str
    context_id: str
    first_seq: int = Field(ge=1)
    last_seq: int = Field(ge=1)
    named: bool = True
    shown: list[tuple[int, int]] = []


class TurnStatus(StrEnum):
    """`pending` while a process answers. `stopped`: its user ended it; what there was of the answer is kept.

    The same request again gives the stored answer of a committed or stopped turn.
    """

    PENDING = "pending"
    COMMITTED = "committed"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def has_result(self) -> bool:
        """Whether a turn with this status has a result, whole or partial."""
        return self in (TurnStatus.COMMITTED, TurnStatus.STOPPED)

    @property
    def is_retried(self) -> bool:
        """Whether a turn with this status may be answered again."""
        return self in (TurnStatus.FAILED, TurnStatus.STOPPED)


class Message(ChatMessage):
    """One side of a turn. Only the assistant's messages have file references, a tool and citations.

    `uploaded_file_refs` and `last_mcp_tool_used` are those of the conversation once this answer was
    given, so the newest message of a history is enough to go on from.
    """

    created_at: datetime
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    citations: list[Citation] = []
    contexts: list[TurnContext] = []


class Failure(Record):
    """Why a turn has no answer. `message` is safe to show to the person who asked."""

    code: str
    message: str


class TurnChoices(Record):
    """What the request chose, besides documents and contexts: a retry needs nothing else of it."""

    tools: dict[str, bool] = Field(default={}, description="false: switched off")
    model: str | None = None
    feature_flags: dict[str, JsonValue] = {}
    closest_passages: bool = False


class Retry(Record):
    """A request to answer a stored turn again. The same key again is the same request."""

    key: str | None = None


Rating = Literal["up", "down"]


class FeedbackReason(StrEnum):
    """Why an answer was rated as it was; a closed list, so that telemetry may have it."""

    WRONG = "wrong"
    INCOMPLETE = "incomplete"
    NOT_FOUND = "not_found"
    SOURCES = "sources"
    UNCLEAR = "unclear"
    OTHER = "other"


class Feedback(Record):
    """What the user says of an answer."""

    rating: Rating = Field(examples=["down"])
    reason: FeedbackReason | None = None
    comment: str | None = None
    given_at: datetime


class NewTurn(Record):
    """A question to be answered. `request_hash` distinguishes a retry from a reused key.

    `attempt` names this attempt at an answer before anything is written, so that it knows its own writes.
    `replaces` names an earlier turn of which this one is a new version. `recalls` and `sent_history` are as
    in the request.
    """

    key: str = Field(min_length=1, max_length=KEY_CHARACTERS, description="the idempotency key")
    attempt: str = Field(default_factory=lambda: uuid.uuid4().hex)
    request_hash: str
    question: str
    blob_names: list[str] = []
    contexts: list[TurnContext] = []
    used: list[TurnContext] = Field(default=[], description="those of the contexts that the caller may read")
    home: str | None = Field(default=None, description="the context that a new conversation is opened in")
    choices: TurnChoices = TurnChoices()
    recalls: bool = True
    sent_history: list[ChatMessage] | None = None
    replaces: str | None = None
    retry: Retry | None = None


class TurnOutcome(Record):
    """An answer as it is committed. None leaves the conversation's own value as it is."""

    answer: str
    stopped: bool = Field(default=False, description="the user stopped it; the answer is what there was")
    result: dict[str, JsonValue] = Field(description="the finished response object, stored verbatim")
    uploaded_file_refs: list[FileRef] | None = None
    last_mcp_tool_used: str | None = None
    citations: list[Citation] = []
    shown: list[TurnContext] = Field(default=[], description="contexts with material in the turn's prompts")


class EarlierAnswer(Record):
    """What there was of the answer when its user stopped an earlier attempt."""

    assistant: Message
    result: dict[str, JsonValue]
    feedback: Feedback | None = None
    retry_key: str | None = None
    finished_at: datetime | None = None


class Turn(Record):
    """One question and what became of it."""

    turn_id: str = Field(description="the idempotency key")
    conversation_id: str
    seq: int = Field(ge=1, description="place in the conversation; from 1, without gaps")
    status: TurnStatus = TurnStatus.PENDING
    attempt: str = Field(
        description="who answers now; a retry gets another, which invalidates the earlier one"
    )
    attempt_number: int = Field(default=1, ge=1, description="goes up with every attempt")
    request_hash: str
    question: str
    blob_names: list[str] = []
    contexts: list[TurnContext] = []
    choices: TurnChoices | None = Field(
        default=None,
        description="what the request chose; None: of an earlier version, which did not store it",
    )
    recalls: bool = Field(default=True, description="the prompts include the memory of the conversation")
    sent_history: list[ChatMessage] | None = Field(
        default=None, description="the history in the request, until the turn is answered"
    )
    replaces: str | None = Field(default=None, description="the turn of which this one is a new version")
    place: int | None = Field(default=None, description="the seq of its first version, if it replaces one")
    replaced_by: str | None = Field(
        default=None, description="the next version; models are not shown this one"
    )
    retry_key: str | None = Field(default=None, description="the idempotency key of the last retry")
    assistant: Message | None = None
    result: dict[str, JsonValue] | None = None
    failure: Failure | None = Field(
        default=None, description="with the status `stopped`: why a later attempt stored no answer"
    )
    earlier: EarlierAnswer | None = Field(
        default=None, description="the turn's again if the present attempt stores no answer"
    )
    feedback: Feedback | None = None
    stop_asked: bool = Field(default=False, description="the process that answers is to stop")
    created_at: datetime
    finished_at: datetime | None = None
    lease_until: datetime | None = Field(default=None, description="set while the status is `pending`")

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_citations(cls, stored: Any) -> Any:
        if not isinstance(stored, dict):
            return stored
        checked = dict(stored)
        for name in ("assistant", "result"):
            answer = stored.get(name)
            if isinstance(answer, dict) and answer.get("citations"):
                # What is known of its citations.
                checked[name] = {**answer, "citations": [with_check(each) for each in answer["citations"]]}
        return checked

    @property
    def listed_as(self) -> str:
        """The status by which stores find a turn: `committed` if it has a result that models are shown, or
        has one again should its retry be interrupted, which no store writes."""
        if not self.status.has_result and self.earlier is None:
            return self.status.value
        return TurnStatus.COMMITTED.value if self.replaced_by is None else "replaced"

    @property
    def citations(self) -> list[Citation]:
        """Those of its answer; none without one."""
        return self.assistant.citations if self.assistant else []

    @property
    def user(self) -> Message:
        message = {"role": "user", "content": self.question, "created_at": self.created_at}
        return Message.model_validate({**message, "contexts": self.contexts})


class TitleBy(StrEnum):
    """Where a title comes from: the first file before any question, the words of the first question, a model,
    or the user. Each takes the place of those before it.
    """

    FILE = "file"
    WORDS = "words"
    MODEL = "model"
    USER = "user"


class Head(Record):
    """What a conversation carries from one turn to the next, in addition to the turns."""

    organization_id: str
    user_id: str
    conversation_id: str
    version: int = Field(default=1, ge=1, description="goes up with every write; the ETag")
    title: str | None = None
    title_by: TitleBy | None = Field(default=None, description="None: of an earlier version, from its words")
    words: str | None = Field(
        default=None, description="what a search finds of the questions; None: of an earlier version"
    )
    title_words: str = Field(default="", description="what a search finds of a title that is not from them")
    is_pinned: bool = Field(default=False, description="lists of conversations begin with it")
    turn_count: int = Field(default=0, ge=0, description="turns begun, failed ones included: the highest seq")
    replaced: list[int] = Field(default=[], description="the turns with a newer version, by seq, in order")
    retried: list[int] = Field(
        default=[], description="the turns that were begun again, by seq, the latest of them last"
    )
    uploaded_file_refs: list[FileRef] = []
    last_mcp_tool_used: str | None = None
    home: str | None = Field(default=None, description="the context that the conversation was opened in")
    contexts: list[SessionContext] = Field(default=[], description="in the order of their first use")
    created_at: datetime
    updated_at: datetime

    @property
    def owner(self) -> Owner:
        return Owner(self.organization_id, self.user_id, self.conversation_id)


class Started(Record):
    """The turn is the caller's to answer. `history`: committed turns before it, oldest first."""

    turn: Turn
    head: Head
    history: list[Turn]


class TurnPage(Record):
    """A conversation, and some of its turns by seq."""

    head: Head
    turns: list[Turn]


class Replayed(Record):
    """The turn was committed or stopped before; its `result` is the answer, or what there was of it."""

    turn: Turn


Begun = Started | Replayed


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


HISTORY_TURNS = 12
NO_SEQ = 2**31 - 1
"""Above the `seq` of every turn."""
