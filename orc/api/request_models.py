"""Questions as they come in over HTTP: one by itself, or the messages of a chat."""

import uuid
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, field_validator

from core.mcp_contract import MAX_QUESTION_CHARACTERS, TOOLS
from orc.conversations.models import ChatMessage
from orc.memory.client_history import cleaned

MAX_NAMES = 50
MAX_MESSAGES = 200
MAX_MESSAGE_CHARACTERS = 100_000
MAX_SESSION_CHARACTERS = 200
Question = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARACTERS)
]
SessionId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SESSION_CHARACTERS)]


def without_nul(text: str) -> str:
    """The text; ValueError if it holds a NUL character, which no store takes everywhere."""
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


class BlobName(BaseModel):
    """A document by name."""

    model_config = ConfigDict(extra="forbid")
    blob_name: str


class ContextRef(BaseModel):
    """A business context; the first of a request is the focus."""

    model_config = ConfigDict(extra="forbid")
    type: Annotated[str, Field(min_length=1, max_length=64)]
    id: Annotated[str, Field(min_length=1, max_length=256)]


class Choices(BaseModel):
    """What may go with a question: the documents to ask, the tools to leave out, the model to use."""

    blob_names: list[str | BlobName] = Field(
        default=[], max_length=MAX_NAMES, description="documents to ask; duplicates collapse"
    )
    contexts: list[ContextRef] = Field(default=[], max_length=20)
    tools: dict[str, StrictBool] = Field(
        default={}, description="false switches the tool of that name off for this turn"
    )
    model: str | None = None

    @field_validator("tools")
    @classmethod
    def _known_tools(cls, tools: dict[str, bool]) -> dict[str, bool]:
        if unknown := tools.keys() - TOOLS:
            raise ValueError(f"no tool is called {min(unknown)!r}; there are {', '.join(sorted(TOOLS))}")
        return tools

    @property
    def names(self) -> list[str]:
        """The distinct blob names, in the order given."""
        return list(dict.fromkeys(n if isinstance(n, str) else n.blob_name for n in self.blob_names))


class AskRequest(Choices):
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

    @field_validator("question")
    @classmethod
    def _no_nul(cls, question: str) -> str:
        return without_nul(question)


class SaidMessage(BaseModel):
    """One message of a chat."""

    model_config = ConfigDict(extra="forbid")
    role: Literal["user", "assistant", "system", "developer", "tool", "function"] = Field(
        description="only what user and assistant said counts: instructions are not taken from outside"
    )
    content: str = Field(max_length=MAX_MESSAGE_CHARACTERS)


class ChatRequest(Choices):
    """The messages of a chat, oldest first. The last is the question, those before it its history."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "session_id": "holiday-planning",
                    "messages": [
                        {"role": "user", "content": "How many days of leave does a new employee get?"},
                        {"role": "assistant", "content": "25 days a year."},
                        {"role": "user", "content": "And after five years?"},
                    ],
                }
            ]
        },
    )
    messages: list[SaidMessage] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="the last one is the user's: 1 to 10,000 characters",
    )
    session_id: SessionId | None = Field(
        default=None,
        description="which chat this is: a name of the caller's own, or a conversation's id; absent: told"
        " by the first message and the client",
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
