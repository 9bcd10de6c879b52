"""Chats in a workspace, or in any other context: the same conversations and turns as elsewhere."""

import uuid
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from orc.api.dependencies import AppDep, CallerDep, ContextId, TraceIdDep
from orc.api.responses import (
    STREAM_RESPONSES,
    TURN_RESPONSES,
    IdempotencyKey,
    LastEventId,
    answer,
    prefers_stream,
    responses,
)
from orc.api.routes.conversations import (
    EXPORTED,
    FullParameter,
    Limit,
    SeqParameter,
    SuggestionsResponse,
    WantedFile,
    delete_conversation,
    export_conversation,
    get_conversation,
    list_conversations,
    session_suggestions,
)
from orc.api.schemas import Choices, ConversationsResponse, ConversationView, Question, example
from orc.api.turn_schemas import ConversationResponse
from orc.bootstrap import App
from orc.contexts.rights import Right
from orc.contexts.service import Caller
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import Head, TurnContext
from orc.events import TurnResult
from orc.turns.requests import TurnRequest
from orc_core.documents.places import Accessible, session_place
from orc_core.documents.service import DocumentService
from orc_core.errors import Conflict, NotFound
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
    """A page that a message cites."""

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
    """The answer to a message in a workspace."""

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
    """A session with its messages."""

    session: ChatSession
    earlier_before_seq: int | None = Field(
        default=None, description="pass as `before_seq` for the messages before these; null at the beginning"
    )


router = APIRouter(prefix="/workspaces/{context_id}", tags=["workspaces"])

SessionPath = Annotated[uuid.UUID, Path(description="a conversation that was opened here")]


async def session(session_id: SessionPath, context_id: ContextId, caller: CallerDep, app: AppDep) -> Owner:
    """The owner of a session of this workspace; NotFound for any other, and for a workspace out of sight."""
    return (await _session(str(session_id), context_id, caller, app)).owner


SessionDep = Annotated[Owner, Depends(session)]


async def chat_turn(
    body: WorkspaceQuestion,
    context_id: ContextId,
    caller: CallerDep,
    app: AppDep,
    trace: TraceIdDep,
    idempotency_key: IdempotencyKey = None,
) -> TurnRequest:
    """The turn that a message in a workspace asks for; Conflict while nothing here can be read."""
    readable = await app.contexts.read(caller, context_id, Right.READ_DOCUMENTS)
    if body.session_id is not None:
        await _session(str(body.session_id), context_id, caller, app)
    here = TurnContext(type=readable.context.type, id=context_id)
    turn = TurnRequest(
        question=body.message,
        conversation_id=str(body.session_id) if body.session_id else None,
        **body.for_turn,
        home=None if body.session_id else context_id,
        stream=body.stream,
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


@router.post("/chat", response_model=WorkspaceAnswer, responses=TURN_RESPONSES)
async def chat_in_workspace(
    turn: ChatTurn, request: Request, caller: CallerDep, app: AppDep, last_event_id: LastEventId = None
) -> Response:
    """Ask in a workspace; without `session_id` a new session is opened in it.

    409 `workspace_empty`, `workspace_not_ready`, or `workspace_unreadable` if all documents failed (with
    counts), while nothing here can be read.
    """
    streams = turn.stream or prefers_stream(request.headers.get("accept", ""))
    turn = turn.model_copy(update={"stream": streams})
    return await answer(
        app.turn_service, turn, caller.principal, last_event_id, shown=WorkspaceAnswer.of_result
    )


@router.post("/chat/stream", response_class=Response, responses=STREAM_RESPONSES)
async def chat_in_workspace_streaming(
    turn: ChatTurn, caller: CallerDep, app: AppDep, last_event_id: LastEventId = None
) -> Response:
    """Ask in a workspace; the response is always a stream of events."""
    turn = turn.model_copy(update={"stream": True})
    return await answer(app.turn_service, turn, caller.principal, last_event_id)


@router.get("/sessions", response_model=ConversationsResponse, responses=responses(404))
async def list_sessions(
    context_id: ContextId,
    caller: CallerDep,
    app: AppDep,
    limit: Limit = 50,
    cursor: str | None = None,
) -> ConversationsResponse:
    """The caller's own sessions that were opened here, latest used first."""
    await app.contexts.read(caller, context_id)
    who = caller.principal
    return await list_conversations(who, app, context_id=context_id, limit=limit, cursor=cursor)


@router.get("/chat/sessions", response_model=ChatSessionsResponse, responses=responses(404))
async def list_chat_sessions(
    context_id: ContextId,
    caller: CallerDep,
    app: AppDep,
    limit: Limit = 50,
    cursor: str | None = None,
) -> ChatSessionsResponse:
    """The same as `.../sessions`, in camel case."""
    found = await list_sessions(context_id, caller, app, limit, cursor)
    sessions = [ChatSession.of(each) for each in found.conversations]
    return ChatSessionsResponse(sessions=sessions, next_cursor=found.next_cursor)


@router.get("/chat/sessions/{session_id}", response_model=ChatSessionResponse, responses=responses(404))
async def get_chat_session(
    owner: SessionDep, caller: CallerDep, app: AppDep, before_seq: SeqParameter = None, limit: Limit = 50
) -> ChatSessionResponse:
    """A session that was opened here as a list of messages, in camel case."""
    found = await get_conversation(owner, caller.principal, app, before_seq, None, limit)
    messages = []
    for turn in found.turns:
        turn_id, at = turn.turn_id, turn.created_at
        messages.append(WorkspaceMessage(id=turn_id, role="user", content=turn.question, created_at=at))
        if turn.answer is not None:
            ended = turn.finished_at or at
            messages.append(WorkspaceMessage.answering(turn_id, turn.answer, turn.citations, ended))
    session = ChatSession.of(found, messages)
    return ChatSessionResponse(session=session, earlier_before_seq=found.earlier_before_seq)


@router.get("/sessions/{session_id}", response_model=ConversationResponse, responses=responses(404))
async def get_session(
    owner: SessionDep,
    caller: CallerDep,
    app: AppDep,
    before_seq: SeqParameter = None,
    after_seq: SeqParameter = None,
    limit: Limit = 50,
    full: FullParameter = False,
) -> ConversationResponse:
    """A session that was opened here with its newest turns, as for a conversation."""
    who = caller.principal
    return await get_conversation(owner, who, app, before_seq, after_seq, limit, full)


@router.get(
    "/chat/sessions/{session_id}/export",
    name="export_chat_session",
    response_class=Response,
    responses={**responses(404, 409, 429), 200: EXPORTED},
)
@router.get(
    "/sessions/{session_id}/export",
    response_class=Response,
    responses={**responses(404, 409, 429), 200: EXPORTED},
)
async def export_session(owner: SessionDep, caller: CallerDep, app: AppDep, wanted: WantedFile) -> Response:
    """The session as a file, as for a conversation."""
    return await export_conversation(owner, caller.principal, app, wanted)


@router.get(
    "/chat/sessions/{session_id}/suggestions",
    name="suggest_in_chat_session",
    response_model=SuggestionsResponse,
    responses=responses(404),
)
@router.get(
    "/sessions/{session_id}/suggestions", response_model=SuggestionsResponse, responses=responses(404)
)
async def suggest_in_session(owner: SessionDep, caller: CallerDep, app: AppDep) -> SuggestionsResponse:
    """Questions to go on with in the session, about its documents and those of the workspace."""
    return await session_suggestions(owner, caller.principal, app)


@router.delete(
    "/chat/sessions/{session_id}", name="delete_chat_session", status_code=204, responses=responses(404)
)
@router.delete("/sessions/{session_id}", status_code=204, responses=responses(404))
async def delete_session(owner: SessionDep, app: AppDep) -> None:
    """Delete the session with its turns, its documents, its memory and its traces."""
    await delete_conversation(owner, app)


async def _session(session_id: str, context_id: str, caller: Caller, app: App) -> Head:
    await app.contexts.read(caller, context_id)
    head = await app.log.head(caller.principal.owner_of(session_id))
    if head is None or head.home != context_id:
        raise NotFound("There is no such session here.")
    return head


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
