"""The bodies of requests in a workspace, and of responses."""

import uuid
from datetime import UTC, datetime
from typing import Literal

from pydantic import AliasChoices, BaseModel, Field

from orc.api.schemas import Choices, Question, example
from orc.events import TurnResult
from orc_core.grounding.models import Citation


class WorkspaceQuestion(Choices):
    """A message in a workspace. The workspace is the focus; `contexts` are others that may be used too."""

    model_config = example(message="What did the quay repairs cost?")
    message: Question
    session_id: uuid.UUID | None = Field(
        default=None,
        validation_alias=AliasChoices("session_id", "sessionId"),
        description="a session that was opened here; none: a new one",
    )
    stream: bool = Field(default=False, description="the response is a stream of events")


class WorkspaceMessage(BaseModel):
    """The answer as a message."""

    id: str = Field(description="the turn")
    role: Literal["assistant"] = "assistant"
    content: str
    citations: list[Citation] = []
    created_at: datetime


class WorkspaceAnswer(TurnResult):
    """The answer to a message in a workspace."""

    session_id: str
    message: WorkspaceMessage

    @classmethod
    def of_result(cls, result: TurnResult) -> "WorkspaceAnswer":
        """The result with its session and its message."""
        message = WorkspaceMessage(
            id=result.turn_id,
            content=result.answer,
            citations=result.citations,
            created_at=datetime.now(UTC),
        )
        fields = {name: getattr(result, name) for name in TurnResult.model_fields}
        return cls(**fields, session_id=result.conversation_id, message=message)
