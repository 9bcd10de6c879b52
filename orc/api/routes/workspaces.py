"""Chats in a workspace, or in any other context: the same conversations and turns as elsewhere."""

import uuid
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends, Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from orc.api.dependencies import AppDep, CallerDep, ContextId, PrincipalDep, ReaderDep, TraceIdDep, session_of
from orc.api.responses import (
    STREAM_RESPONSES,
    TURN_RESPONSES,
    IdempotencyKey,
    LastEventId,
    Streamed,
    answer,
    responses,
)
from orc.api.routes.conversations import (
    Limit,
    SeqParameter,
    get_conversation,
    list_conversations,
    of_chat_sessions,
)
from orc.api.schemas import Choices, ConversationsResponse, ConversationView, Question, example
from orc.contexts.rights import Right
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import TurnContext
from orc.events import TurnResult
from orc.turns.requests import TurnRequest
from orc_core.documents.places import Accessible, session_place
from orc_core.documents.service import DocumentService
from orc_core.errors import Conflict
from orc_core.grounding.models import Citation
from orc_core.models import DocumentStatus
from orc_core.names import Owner

MOST_FAILED = 100
"""Of so many documents that could not be read, it is not asked whether there are others."""
RETRY_SECONDS = 5
"""After which a retry may find a document that is being read now."""


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


class InCamelCase(BaseModel):
    """Part of a response whose fields are in camel case, as clients of chats in workspaces have them."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True)


class CitedPage(InCamelCase):
    document_id: str
    page_number: int
    page_id: str


class WorkspaceMessage(InCamelCase):
    """A question or an answer; `id` is the turn."""

    id: str
    role: Literal["user", "assistant"] = "assistant"
    content: str
    citations: list[CitedPage] = Field(default=[], description="each page once")
    created_at: datetime

    @classmethod
    def answering(cls, turn_id: str, answer: str, cited: list[Citation], at: datetime) -> Self:
        """The message of an answer."""
        pages = {
            each.page_id: CitedPage(document_id=each.document_id, page_number=each.page, page_id=each.page_id)
            for each in cited
        }
        return cls(id=turn_id, content=answer, citations=list(pages.values()), created_at=at)


class WorkspaceAnswer(TurnResult):
    model_config = ConfigDict(serialize_by_alias=True)
    session_id: str
    same_session_id: str = Field(serialization_alias="sessionId")
    message: WorkspaceMessage

    @classmethod
    def of_result(cls, result: TurnResult) -> "WorkspaceAnswer":
        """The result with its session and its message."""
        session, now = result.conversation_id, datetime.now(UTC)
        message = WorkspaceMessage.answering(result.turn_id, result.answer, result.citations, now)
        fields = {name: getattr(result, name) for name in TurnResult.model_fields}
        return cls(**fields, session_id=session, same_session_id=session, message=message)


class ChatSession(InCamelCase):
    """A session; its newest messages, oldest first, are not in a list of sessions."""

    session_id: str
    title: str | None = Field(examples=["Cooling of transformers"])
    message_count: int = Field(description="a question and an answer for each turn")
    last_message_at: datetime
    created_at: datetime
    messages: list[WorkspaceMessage] | None = None

    @classmethod
    def of(cls, found: ConversationView, messages: list[WorkspaceMessage] | None = None) -> Self:
        """The session of a conversation."""
        return cls(
            session_id=found.conversation_id,
            title=found.title,
            message_count=2 * found.turn_count,
            last_message_at=found.updated_at,
            created_at=found.created_at,
            messages=messages,
        )


class ChatSessionsResponse(InCamelCase):
    """One page of the sessions of a workspace, latest used first."""

    sessions: list[ChatSession]
    next_cursor: str | None = Field(default=None, description="pass as `cursor` for the next page")


class ChatSessionResponse(InCamelCase):
    session: ChatSession
    earlier_before_seq: int | None = Field(
        default=None, description="pass as `before_seq` for the messages before these; null at the beginning"
    )


router = APIRouter(prefix="/workspaces/{context_id}", tags=["workspaces"])


async def chat_turn(
    body: WorkspaceQuestion,
    context_id: ContextId,
    caller: CallerDep,
    app: AppDep,
    trace: TraceIdDep,
    streamed: Streamed,
    idempotency_key: IdempotencyKey = None,
) -> TurnRequest:
    """The turn that a message in a workspace asks for; Conflict while nothing here can be read."""
    readable = await app.contexts.read(caller, context_id, Right.READ_DOCUMENTS)
    if body.session_id is not None:
        await session_of(str(body.session_id), context_id, caller, app)
    here = TurnContext(type=readable.context.type, id=context_id)
    turn = TurnRequest(
        question=body.message,
        conversation_id=str(body.session_id) if body.session_id else None,
        **body.for_turn,
        home=None if body.session_id else context_id,
        stream=body.stream or streamed,
        idempotency_key=idempotency_key,
        trace_id=trace,
    )
    turn = turn.model_copy(update={"contexts": [here, *turn.contexts]})
    who = caller.principal
    owner = who.owner_of(turn.conversation_for(who.organization_id, who.user_id))
    scope = await app.scopes.of_turn(who, [here], None)
    assert scope is not None
    await check_ready(app.library, owner, scope)
    return turn


ChatTurn = Annotated[TurnRequest, Depends(chat_turn)]


@router.post(
    "/chat/stream", name="chat_in_workspace_streaming", response_class=Response, responses=STREAM_RESPONSES
)
@router.post("/chat", response_model=WorkspaceAnswer, responses=TURN_RESPONSES)
async def chat_in_workspace(
    turn: ChatTurn, caller: CallerDep, app: AppDep, last_event_id: LastEventId = None
) -> Response:
    """Ask in a workspace; without `session_id` a new session is opened in it.

    409 `workspace_empty`, `workspace_not_ready`, or `workspace_unreadable` if all documents failed (with
    counts), while nothing here can be read.
    """
    return await answer(
        app.turn_service, turn, caller.principal, last_event_id, shown=WorkspaceAnswer.of_result
    )


@router.get("/sessions", responses=responses(404))
async def list_sessions(
    context_id: ContextId, caller: CallerDep, app: AppDep, limit: Limit = 50, cursor: str | None = None
) -> ConversationsResponse:
    """The caller's own sessions that were opened here, latest used first."""
    await app.contexts.read(caller, context_id)
    who = caller.principal
    return await list_conversations(who, app, context_id=context_id, limit=limit, cursor=cursor)


@router.get("/chat/sessions", responses=responses(404))
async def list_chat_sessions(
    context_id: ContextId, caller: CallerDep, app: AppDep, limit: Limit = 50, cursor: str | None = None
) -> ChatSessionsResponse:
    """The same as `.../sessions`, in camel case."""
    found = await list_sessions(context_id, caller, app, limit, cursor)
    sessions = [ChatSession.of(each) for each in found.conversations]
    return ChatSessionsResponse(sessions=sessions, next_cursor=found.next_cursor)


@of_chat_sessions.get("", responses=responses(404))
async def get_chat_session(
    owner: ReaderDep, caller: PrincipalDep, app: AppDep, before_seq: SeqParameter = None, limit: Limit = 50
) -> ChatSessionResponse:
    """A session that was opened here as a list of messages, in camel case."""
    found = await get_conversation(owner, caller, app, before_seq, None, limit)
    messages = []
    for turn in found.turns:
        turn_id, at = turn.turn_id, turn.created_at
        messages.append(WorkspaceMessage(id=turn_id, role="user", content=turn.question, created_at=at))
        if turn.answer is not None:
            ended = turn.finished_at or at
            messages.append(WorkspaceMessage.answering(turn_id, turn.answer, turn.citations, ended))
    session = ChatSession.of(found, messages)
    return ChatSessionResponse(session=session, earlier_before_seq=found.earlier_before_seq)


async def check_ready(library: DocumentService, owner: Owner, scope: TurnScope) -> None:
    """Raise Conflict with counts if nothing of the focus, nor of the session, can be read."""
    near = tuple(place for place in scope.places if place.near)
    accessible = Accessible(owner, (session_place(owner), *near))
    counted = await library.count(accessible)
    total, ready = sum(each.total for each in counted), sum(each.readable for each in counted)
    if ready:
        return
    page = await library.page(accessible, limit=MOST_FAILED, status=DocumentStatus.FAILED)
    failed = len(page.documents)
    if not total:
        error = Conflict("There are no documents here yet.", code="workspace_empty")
    elif failed == min(total, MOST_FAILED):
        why = page.documents[0].reason or ""
        error = Conflict(f"None of the documents could be read. {why}".strip(), code="workspace_unreadable")
    else:
        error = Conflict("None of the documents can be read yet.", code="workspace_not_ready")
        error.retryable, error.retry_after = True, RETRY_SECONDS
    error.documents = {"uploaded": total, "ready": ready, "failed": failed}
    raise error
