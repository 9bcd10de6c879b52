"""Asking: `/api/orc` as JSON or as a stream, and a turn's events again."""

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from orc.api.dependencies import DIGITS, AppDep, OwnerDep, PrincipalDep, TraceIdDep
from orc.api.responses import EVENTS, TURN_RESPONSES, IdempotencyKey, prefers_stream, reply, responses, stream
from orc.api.schemas import AskRequest
from orc.events import TurnResult
from orc.turns.requests import TurnRequest

router = APIRouter(tags=["turns"])

_FOLLOWED = {"description": "The remaining events, as they happen.", "content": EVENTS}


@router.post("/orc", response_model=TurnResult, responses=TURN_RESPONSES)
async def ask(
    body: AskRequest,
    request: Request,
    app: AppDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask a question, about documents or in general."""
    streaming = prefers_stream(request.headers.get("accept", ""))
    log = await app.orchestrator.start(_turn(body, trace, idempotency_key, streaming), caller)
    return await reply(log, streaming=streaming)


@router.post("/orc/stream", response_model=TurnResult, responses=TURN_RESPONSES)
async def ask_streaming(
    body: AskRequest,
    app: AppDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask a question; the response is always a stream of events."""
    log = await app.orchestrator.start(_turn(body, trace, idempotency_key, True), caller)
    return await reply(log, streaming=True)


@router.get(
    "/conversations/{conversation_id}/turns/{turn_id}/events",
    responses={**responses(404), 200: _FOLLOWED},
    response_class=Response,
)
async def resume(
    turn_id: str,
    owner: OwnerDep,
    app: AppDep,
    trace: TraceIdDep,
    last_event_id: Annotated[int, Header(ge=0, description="the last event that arrived"), DIGITS] = 0,
) -> Response:
    """Follow a turn again, from the event after `Last-Event-ID`."""
    log = await app.orchestrator.events_of(owner, turn_id, after=last_event_id, trace_id=trace)
    return stream(log.follow(last_event_id))


def _turn(body: AskRequest, trace: str, key: str | None, streaming: bool) -> TurnRequest:
    return TurnRequest(
        question=body.question,
        conversation_id=str(body.conversation_id) if body.conversation_id else None,
        **body.for_turn,
        idempotency_key=key,
        stream=streaming,
        trace_id=trace,
    )
