"""Chatting: a list of messages at `/api/chat`, as JSON or as a stream; the same turns as of `/api/orc`."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response

from orc.api.dependencies import AppDep, PrincipalDep, TraceIdDep
from orc.api.errors import SESSION_HEADER
from orc.api.responses import (
    STREAM_RESPONSES,
    TURN_HEADERS,
    TURN_RESPONSES,
    IdempotencyKey,
    LastEventId,
    Streamed,
    answer,
)
from orc.api.schemas import MAX_NAMES, ChatRequest
from orc.events import TurnResult
from orc.memory.client_history import first_words, latest_turns, question_and_history
from orc.turns.requests import TurnRequest
from orc_core.errors import NotFound

router = APIRouter(tags=["chat"])

CLIENT_CHARACTERS = 200

_SESSION = {
    "description": "the `session_id` to send next time: the id of the session's conversation",
    "schema": {"type": "string", "format": "uuid"},
}


def _with_session(responses: dict[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
    return {**responses, 200: {**responses[200], "headers": {SESSION_HEADER: _SESSION, **TURN_HEADERS}}}


ClientId = Annotated[
    str | None,
    Header(
        alias="x-client-id",
        max_length=CLIENT_CHARACTERS,
        description="distinguishes clients of chats without a `session_id`; default: the user agent",
    ),
]


async def chat_turn(
    body: ChatRequest,
    request: Request,
    app: AppDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    streamed: Streamed,
    client_id: ClientId = None,
    idempotency_key: IdempotencyKey = None,
) -> TurnRequest:
    """The turn that the messages ask for, in the conversation of their session.

    Earlier messages count as they were sent. Only a named session that sends just its question continues
    from the stored turns, and only a named session uses the memory of the conversation.
    """
    question, earlier = question_and_history(body.said)
    goes_on = body.session_id is not None and not earlier
    if body.session_id is not None:
        session = app.sessions.named(caller, body.session_id)
    else:
        client = client_id or request.headers.get("user-agent", "")
        session = app.sessions.begun_with(caller, first_words(body.said), client)
    # So that a refusal contains it, too.
    request.state.session_id = session
    turn = TurnRequest(
        question=question,
        conversation_id=session,
        # Two chats that begin alike are one conversation: only what was sent is surely of this one.
        recalls=body.session_id is not None,
        history=None if goes_on else latest_turns(earlier, app.settings.history_turns),
        **body.for_turn,
        stream=streamed,
        idempotency_key=idempotency_key,
        trace_id=trace,
    )
    if turn.blob_names or not (ids := [each.file_id for each in body.messages if each.file_id]):
        return turn
    documents = await app.library.list_documents(caller.owner_of(session))
    names = {document.document_id: document.blob_name for document in documents}
    if (latest := body.messages[-1].file_id) and latest not in names:
        raise NotFound(f"There is no document {latest} in this conversation.")
    # What an earlier message names may have been removed since.
    latest_first = dict.fromkeys(names[each] for each in reversed(ids) if each in names)
    return turn.model_copy(update={"blob_names": list(latest_first)[:MAX_NAMES][::-1]})


ChatTurn = Annotated[TurnRequest, Depends(chat_turn)]


_STREAMED = _with_session(STREAM_RESPONSES)


@router.post("/chat/stream", name="chat_streaming", response_class=Response, responses=_STREAMED)
@router.post("/chat", response_model=TurnResult, responses=_with_session(TURN_RESPONSES))
async def chat(
    turn: ChatTurn, app: AppDep, caller: PrincipalDep, last_event_id: LastEventId = None
) -> Response:
    """Go on with a chat: the last message is answered, the ones before it are what was said."""
    response = await answer(app.turn_service, turn, caller, last_event_id)
    response.headers[SESSION_HEADER] = str(turn.conversation_id)
    return response
