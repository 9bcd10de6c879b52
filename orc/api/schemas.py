"""The bodies of requests and responses."""

import unicodedata
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StringConstraints,
    field_validator,
)

from orc.conversations.models import KEY_CHARACTERS, ChatMessage, Rating, TitleBy
from orc.identity import CONVERSATION_NAME
from orc.intents import Retriever
from orc.memory.client_history import cleaned
from orc.problems import FieldProblem
from orc.traces.models import DayTotals, Status, TurnTrace
from orc.turns.requests import FeatureFlags
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS, TOOLS
from orc_core.models import DocumentStatus, JobProgress, Usage
from orc_core.names import name_in_context
from orc_core.text.normal_forms import normalized

MAX_NAMES = 50
MAX_MESSAGES = 200
MAX_MESSAGE_CHARACTERS = 100_000
MAX_SESSION_CHARACTERS = 200


def without_nul(text: str) -> str:
    """The text; ValueError if it holds a NUL character, which not every store accepts."""
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


def visible(text: str) -> str:
    """The text in normal form C; ValueError if it holds characters that cannot be seen."""
    if any(unicodedata.category(character)[0] == "C" for character in text):
        raise ValueError("must not contain control or invisible characters")
    return normalized("NFC", text)


Question = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARACTERS),
    AfterValidator(without_nul),
]
SessionId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SESSION_CHARACTERS)]


class Body(BaseModel):
    """Part of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    """Part of a response that shows fields of a record."""

    @classmethod
    def of(cls, record: object, **others: object) -> Self:
        """What the record has of the fields, and `others`."""
        shown = {name: getattr(record, name) for name in cls.model_fields if hasattr(record, name)}
        return cls.model_validate(shown | others)


def example(**fields: JsonValue) -> ConfigDict:
    """The configuration of a body with this example in its schema."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class ContextRef(Body):
    """A context; the first of a request is the focus.

    Ids of other systems are kept with the question, and nothing is read for them.
    """

    type: Annotated[str, Field(min_length=1, max_length=64)]
    id: Annotated[str, Field(min_length=1, max_length=256)]
    active: StrictBool = Field(default=True, description="false leaves the context out of this turn")


class DocumentContext(Body):
    """The context that a document belongs to. It is active in the turn, or the focus if none is named."""

    type: Annotated[str, Field(min_length=1, max_length=64)]
    id: Annotated[str, Field(min_length=1, max_length=256)]


class BlobName(Body):
    """A document by name: one of the conversation, or of the context that is given."""

    blob_name: str
    context: DocumentContext | None = None

    @property
    def name(self) -> str:
        """The name by which the turn knows the document."""
        return name_in_context(self.context.id, self.blob_name) if self.context else self.blob_name


class Choices(Body):
    """Options of a question: the documents to ask about, the tools to switch off, the model to use."""

    blob_names: Annotated[list[str | BlobName], Field(max_length=MAX_NAMES)] | None = Field(
        default=None,
        description="documents to ask about; duplicates count once. Null or []: all of the conversation",
    )
    contexts: list[ContextRef] = Field(
        default=[],
        max_length=MAX_NAMES,
        description="the contexts whose documents may be used; none: the one that the conversation was opened"
        " in. Contexts that it used earlier are searched if these do not suffice",
    )
    tools: dict[str, StrictBool] = Field(
        default={},
        description="false switches the tool off for this turn; true, one that proposes changes on",
    )
    model: str | None = None
    replaces: str | None = Field(
        default=None,
        min_length=1,
        max_length=KEY_CHARACTERS,
        description="the turn of the conversation that this question replaces, edited or asked again: models"
        " are not shown the replaced turn",
    )
    feature_flags: FeatureFlags = Field(
        default=FeatureFlags(), description="what this turn does differently from the settings"
    )
    closest_passages: StrictBool = Field(
        default=False,
        description="before the `error` of a model that cannot be reached, the stream has the event"
        " `closest_passages`: what a search finds",
    )

    @field_validator("tools")
    @classmethod
    def _known_tools(cls, tools: dict[str, bool]) -> dict[str, bool]:
        if unknown := tools.keys() - TOOLS:
            raise ValueError(f"no tool is called {min(unknown)!r}; there are {', '.join(sorted(TOOLS))}")
        return tools

    @property
    def for_turn(self) -> dict[str, Any]:
        """The options as fields of a TurnRequest; blob names are distinct and in the order given."""
        named = self.blob_names or []
        names = dict.fromkeys(n if isinstance(n, str) else n.name for n in named)
        contexts: dict[str, ContextRef | DocumentContext] = {}
        given: list[ContextRef | DocumentContext] = [*self.contexts]
        given += [n.context for n in named if isinstance(n, BlobName) and n.context]
        for context in given:
            contexts.setdefault(context.id, context)
        return {
            "blob_names": list(names),
            "contexts": [context.model_dump() for context in contexts.values()],
            "tools": self.tools,
            "model": self.model,
            "replaces": self.replaces,
            "flags": self.feature_flags,
            "closest_passages": self.closest_passages,
        }


class AskRequest(Choices):
    model_config = example(
        question="How many days of leave does a new employee get?",
        conversation_id="3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11",
        blob_names=["handbook.pdf"],
    )
    question: Question
    conversation_id: str | None = Field(
        default=None,
        pattern=CONVERSATION_NAME,
        description="chosen by the client, a UUID or a name: an unknown one opens a conversation. None: a"
        " new id",
    )


class SaidMessage(Body):
    role: Literal["user", "assistant", "system", "developer", "tool", "function"] = Field(
        description="only messages of user and assistant count; system messages of the client are ignored"
    )
    content: str = Field(max_length=MAX_MESSAGE_CHARACTERS)
    file_id: str | None = Field(
        default=None,
        max_length=MAX_SESSION_CHARACTERS,
        description="a document of the conversation by its `document_id`: the question is about all that"
        " messages name, unless it has `blob_names`",
    )


class ChatRequest(Choices):
    """The messages of a chat, oldest first. The last is the question, those before it its history."""

    model_config = example(
        session_id="holiday-planning",
        messages=[
            {"role": "user", "content": "How many days of leave does a new employee get?"},
            {"role": "assistant", "content": "25 days a year."},
            {"role": "user", "content": "And after five years?"},
        ],
    )
    messages: list[SaidMessage] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="the last one is the user's: 1 to 10,000 characters",
    )
    session_id: SessionId | None = Field(
        default=None,
        description="identifies the chat: a name that the caller chooses, or a conversation's id; without"
        " it, the first message and the client identify the chat",
    )

    @field_validator("messages")
    @classmethod
    def _ends_in_a_question(cls, messages: list[SaidMessage]) -> list[SaidMessage]:
        counting = [message for message in messages if message.role in ("user", "assistant")]
        if not counting or counting[-1].role != "user":
            raise ValueError("the last message must be the user's")
        question = cleaned(without_nul(counting[-1].content))
        if not 1 <= len(question) <= MAX_QUESTION_CHARACTERS:
            raise ValueError(f"the last message must have 1 to {MAX_QUESTION_CHARACTERS:,} characters")
        return messages

    @property
    def said(self) -> list[ChatMessage]:
        """What counts of the messages, as it came; the last one is the question."""
        return [
            ChatMessage(role=message.role, content=message.content)
            for message in self.messages
            if message.role == "user" or message.role == "assistant"
        ]


class DocumentView(View):
    document_id: str
    blob_name: str = Field(examples=["handbook.pdf"])
    version: str = Field(
        default="", description="as `document_version` of citations: another one for other bytes"
    )
    status: DocumentStatus
    readable: bool = Field(description="you can ask about it: its text is extracted, indexed or not")
    reason_code: str | None = Field(default=None, description="why it failed, such as `encrypted`")
    reason: str | None = Field(default=None, description="why it failed, and what to do")
    media_type: str = ""
    size: int = Field(description="bytes")
    pages: int
    pages_without_text: int
    pages_by_ocr: int
    tokens: int
    summary_available: bool = Field(default=False, description="its pages are analysed")
    created_at: datetime
    updated_at: datetime


class UploadResponse(BaseModel):
    """The stored documents and the refused files. Nothing of a refused file is stored."""

    conversation_id: str
    documents: list[DocumentView]
    errors: list[FieldProblem] = Field(default=[], description="one per refused file; `field` is its name")


class TicketRequest(Body):
    """A file to be uploaded directly to the storage service."""

    model_config = example(file_name="handbook.pdf", size=52_428_800)
    file_name: str
    size: int = Field(ge=1, description="bytes")


class UploadTicketView(BaseModel):
    """Where to PUT the bytes of one file, with which headers, and until when."""

    blob_name: str = Field(examples=["handbook.pdf"], description="the name that the document will have")
    url: str = Field(repr=False, description="contains a signature: anyone who has it can store this file")
    headers: dict[str, str] = Field(
        examples=[{"x-ms-blob-type": "BlockBlob"}], description="to send with the PUT"
    )
    expires_at: datetime


class DocumentsResponse(BaseModel):
    """The documents of a conversation, oldest first."""

    conversation_id: str
    documents: list[DocumentView]


class ReadingResponse(BaseModel):
    """How much of each file is read, by its name."""

    files: dict[str, JobProgress] = Field(examples=[{"handbook.pdf": {"done": 3, "total": 12}}])


class ConversationView(View):
    conversation_id: str
    title: str | None = Field(examples=["How many days of leave does a new employee get?"])
    title_by: TitleBy | None = None
    is_pinned: bool = Field(default=False, description="lists begin with it")
    turn_count: int
    last_mcp_tool_used: str | None
    created_at: datetime
    updated_at: datetime
    passage: str | None = Field(
        default=None, description="of a search: a part of an answer or a question that has the words"
    )
    turn_id: str | None = Field(default=None, description="of a search: the turn of the passage")


class ConversationsResponse(BaseModel):
    """One page of conversations, latest first."""

    conversations: list[ConversationView]
    next_cursor: str | None = Field(default=None, description="pass as `cursor` for the next page")


class Health(BaseModel):
    status: str = Field(default="ok", examples=["ok"])


class DependencyView(View):
    """One dependency, and whether the service in use answers. Its address is not shown."""

    name: str
    backend: str = Field(examples=["SQLite"])
    ok: bool
    latency_ms: float
    detail: str | None = Field(default=None, description="why it does not answer")


class Readiness(BaseModel):
    """Whether turns can be answered now."""

    status: str = Field(examples=["ready", "not_ready"])
    dependencies: list[DependencyView]


class TurnSummary(View):
    """A turn in a list: a summary of its trace."""

    trace_id: str = Field(examples=["0af7651916cd43dd8448eb211c80319c"])
    turn_id: str
    attempt: str
    user_id: str
    conversation_id: str
    started_at: datetime
    duration_ms: float
    first_token_ms: float | None
    status: Status
    error_code: str | None
    intent: str | None
    model: str | None
    retriever: Retriever | None
    rating: Rating | None
    usage: Usage
    cost_usd: float | None = Field(description="an estimate in US dollars; null if it is not known")


class TelemetryResponse(BaseModel):
    """One page of an organization's turns, latest first."""

    turns: list[TurnSummary]
    next_cursor: str | None = Field(default=None, description="pass as `cursor` for the next page")


class TraceResponse(BaseModel):
    """The turns under one trace id, oldest first; `next_cursor` leads to earlier ones."""

    trace_id: str = Field(examples=["0af7651916cd43dd8448eb211c80319c"])
    turns: list[TurnTrace]
    next_cursor: str | None = Field(default=None, description="pass as `cursor` for the next page")


class DaysResponse(BaseModel):
    """An organization's days in order; days without turns are left out."""

    days: list[DayTotals]
