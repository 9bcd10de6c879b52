"""What comes in and goes out over HTTP, beyond the events of a turn."""

import uuid
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StringConstraints, field_validator

from core.contract import MAX_QUESTION_CHARACTERS
from core.documents.models import Document, DocumentStatus
from orc.conversations.models import Failure, Head, Turn, TurnStatus
from orc.events import FieldProblem
from orc.readiness import DependencyState

MAX_NAMES = 50
Question = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARACTERS)
]


class BlobName(BaseModel):
    """A document by name."""

    model_config = ConfigDict(extra="forbid")
    blob_name: str


class ContextRef(BaseModel):
    """A business context; the first of a request is the focus."""

    model_config = ConfigDict(extra="forbid")
    type: Annotated[str, Field(min_length=1, max_length=64)]
    id: Annotated[str, Field(min_length=1, max_length=256)]


class AskRequest(BaseModel):
    """A question, with the documents to ask."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "question": "How many days of leave does a new employee get?",
                    "conversation_id": "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11",
                    "blob_names": ["handbook.pdf"],
                }
            ]
        },
    )
    question: Question
    conversation_id: uuid.UUID | None = Field(default=None, description="absent: a new conversation")
    blob_names: list[str | BlobName] = Field(
        default=[], max_length=MAX_NAMES, description="documents to ask; duplicates collapse"
    )
    contexts: list[ContextRef] = Field(default=[], max_length=20)
    tools: dict[str, StrictBool] = Field(default={}, description="false switches a tool off for this turn")
    model: str | None = None

    @field_validator("question")
    @classmethod
    def _no_nul(cls, question: str) -> str:
        if "\x00" in question:
            raise ValueError("must not contain NUL characters")
        return question

    @property
    def names(self) -> list[str]:
        """The distinct blob names, in the order given."""
        return list(dict.fromkeys(n if isinstance(n, str) else n.blob_name for n in self.blob_names))


class DocumentView(BaseModel):
    """A document of a conversation."""

    document_id: str
    blob_name: str = Field(examples=["handbook.pdf"])
    status: DocumentStatus
    readable: bool = Field(description="it can be asked: its text is there, indexed or not")
    reason_code: str | None = None
    reason: str | None = Field(default=None, description="why it failed, and what to do")
    media_type: str = ""
    size: int = Field(description="bytes")
    pages: int
    pages_without_text: int
    pages_by_ocr: int
    tokens: int
    summary_available: bool = Field(default=False, description="its pages have been analysed")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, document: Document, *, summarised: bool = False) -> "DocumentView":
        facts = document.model_dump(include=set(cls.model_fields))
        return cls.model_validate({**facts, "summary_available": summarised})


class UploadResponse(BaseModel):
    """What was stored, and what was not. A refused file leaves nothing behind."""

    conversation_id: str
    documents: list[DocumentView]
    errors: list[FieldProblem] = Field(default=[], description="one per refused file; `field` is its name")


class TicketRequest(BaseModel):
    """A file that is to be stored without passing through here."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"file_name": "handbook.pdf", "size": 52_428_800}]}
    )
    file_name: str
    size: int = Field(ge=1, description="bytes")


class UploadTicketView(BaseModel):
    """Where to PUT the bytes of one file, with which headers, and until when."""

    blob_name: str = Field(examples=["handbook.pdf"], description="the name that the document will have")
    url: str = Field(repr=False, description="holds a signature: whoever has it may store this file")
    headers: dict[str, str] = Field(
        examples=[{"x-ms-blob-type": "BlockBlob"}], description="to send with the PUT"
    )
    expires_at: datetime


class DocumentsResponse(BaseModel):
    """The documents of a conversation, oldest first."""

    conversation_id: str
    documents: list[DocumentView]


class ConversationView(BaseModel):
    """A conversation in a list."""

    conversation_id: str
    title: str | None = Field(examples=["How many days of leave does a new employee get?"])
    turn_count: int
    last_mcp_tool_used: str | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, head: Head) -> "ConversationView":
        return cls.model_validate(head.model_dump(include=set(cls.model_fields)))


class ConversationsResponse(BaseModel):
    """One page of conversations, latest first."""

    conversations: list[ConversationView]
    next_cursor: str | None = Field(default=None, description="pass as `cursor` for the next page")


class TurnView(BaseModel):
    """One question and what became of it."""

    turn_id: str
    seq: int
    status: TurnStatus
    question: str
    blob_names: list[str]
    answer: str | None = None
    result: dict[str, JsonValue] | None = Field(default=None, description="as /api/orc answered")
    failure: Failure | None = None
    created_at: datetime
    finished_at: datetime | None = None

    @classmethod
    def of(cls, turn: Turn) -> "TurnView":
        answer = turn.assistant.content if turn.assistant else None
        return cls.model_validate({**turn.model_dump(include=set(cls.model_fields)), "answer": answer})


class ConversationResponse(ConversationView):
    """A conversation with its turns; `history` lists the messages of the answered ones."""

    turns: list[TurnView]
    history: list[dict[str, Any]]
    next_seq: int | None = Field(default=None, description="pass as `after_seq` for more turns")


class Health(BaseModel):
    """The process is alive."""

    status: str = Field(default="ok", examples=["ok"])


class DependencyView(BaseModel):
    """One need, and whether what is in use for it answers. Where that is, nobody outside is told."""

    name: str
    backend: str = Field(examples=["SQLite"])
    ok: bool
    latency_ms: float
    detail: str | None = Field(default=None, description="why it does not answer")

    @classmethod
    def of(cls, state: DependencyState) -> "DependencyView":
        return cls.model_validate(state.model_dump(include=set(cls.model_fields)))


class Readiness(BaseModel):
    """Whether turns can be answered now."""

    status: str = Field(examples=["ready", "not_ready"])
    dependencies: list[DependencyView]
