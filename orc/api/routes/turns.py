"""Asking: `/api/orc` as JSON or as a stream, and a turn's events again."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Response

from orc.api.dependencies import DIGITS, AppDep, OwnerDep, PrincipalDep, TraceIdDep
from orc.api.responses import (
    EVENTS,
    STREAM_RESPONSES,
    TURN_HEADERS,
    TURN_RESPONSES,
    IdempotencyKey,
    LastEventId,
    Streamed,
    answer,
    reply,
    responses,
)
from orc.api.schemas import AskRequest
from orc.api.turn_schemas import FeedbackChange, StopView
from orc.conversations.models import KEY_CHARACTERS, Feedback, TurnStatus, utc_now
from orc.events import TurnResult
from orc.turns.ratings import rate
from orc.turns.requests import TurnRequest

router = APIRouter(tags=["turns"])

_FOLLOWED: dict[int | str, dict[str, Any]] = {
    **responses(404, 429),
    200: {"description": "The remaining events, as they happen.", "content": EVENTS, "headers": TURN_HEADERS},
    204: {"description": "The turn has ended, and `Last-Event-ID` is its last event or a later one."},
}


_STOPPED: dict[int | str, dict[str, Any]] = {
    **responses(404),
    200: {"description": "The turn had ended before.", "model": StopView},
    202: {"description": "The turn ends within 2 seconds."},
}
_RETRIED: dict[int | str, dict[str, Any]] = {
    **TURN_RESPONSES,
    409: TURN_RESPONSES[409]
    | {"description": "The turn is running: follow it; or it is answered (`turn_not_failed`) or replaced."},
}
_RATED: dict[int | str, dict[str, Any]] = responses(400, 404, 409, 413, 415)
_RATED[409] |= {"description": "The turn has no answer (`turn_not_answered`)."}
TurnId = Annotated[str, Path(min_length=1, max_length=KEY_CHARACTERS, description="the turn")]


async def asked_turn(
    body: AskRequest,
    app: AppDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    streamed: Streamed,
    idempotency_key: IdempotencyKey = None,
) -> TurnRequest:
    """The turn that the question asks for."""
    named = body.conversation_id
    return TurnRequest(
        question=body.question,
        conversation_id=named and app.sessions.identified(caller, named),
        **body.for_turn,
        stream=streamed,
        idempotency_key=idempotency_key,
        trace_id=trace,
    )


AskedTurn = Annotated[TurnRequest, Depends(asked_turn)]


@router.post("/orc/stream", name="ask_streaming", response_class=Response, responses=STREAM_RESPONSES)
@router.post("/orc", response_model=TurnResult, responses=TURN_RESPONSES)
async def ask(
    turn: AskedTurn, app: AppDep, caller: PrincipalDep, last_event_id: LastEventId = None
) -> Response:
    """Ask a question, about documents or in general."""
    return await answer(app.turn_service, turn, caller, last_event_id)


@router.get(
    "/conversations/{conversation_id}/turns/{turn_id}/events", responses=_FOLLOWED, response_class=Response
)
async def resume(
    turn_id: str,
    owner: OwnerDep,
    caller: PrincipalDep,
    app: AppDep,
    trace: TraceIdDep,
    last_event_id: Annotated[int, Header(ge=0, description="the last event that arrived"), DIGITS] = 0,
) -> Response:
    """Follow a turn again, from the event after `Last-Event-ID`."""
    log = await app.turn_service.events_of(owner, turn_id, caller, after=last_event_id, trace_id=trace)
    if log is None:
        # The status that tells event sources not to connect again.
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return await reply(log, streaming=True, trace_id=trace, after=last_event_id)


@router.post(
    "/conversations/{conversation_id}/turns/{turn_id}/stop",
    status_code=HTTPStatus.ACCEPTED,
    responses=_STOPPED,
)
async def stop(turn_id: TurnId, owner: OwnerDep, app: AppDep, response: Response) -> StopView:
    """Stop a turn: within 2 seconds no model or tool is called for it; what there is of its answer is kept.

    Its stream ends in `stopped`. A turn that has ended stays as it ended.
    """
    turn = await app.turn_service.stop(owner, turn_id)
    if turn.status is not TurnStatus.PENDING:
        response.status_code = HTTPStatus.OK
    return StopView.of(turn)


@router.post(
    "/conversations/{conversation_id}/turns/{turn_id}/retry", response_model=TurnResult, responses=_RETRIED
)
async def retry(
    turn_id: TurnId,
    owner: OwnerDep,
    caller: PrincipalDep,
    app: AppDep,
    trace: TraceIdDep,
    streamed: Streamed,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answer a turn that failed, was interrupted or was stopped again, as it was asked.

    The turn keeps its id and place. A repeated retry with the same key gives the stored answer.
    """
    log = await app.turn_service.retry(
        owner, turn_id, caller, key=idempotency_key, stream=streamed, trace_id=trace
    )
    return await reply(log, streaming=streamed, trace_id=trace)


@router.put("/conversations/{conversation_id}/turns/{turn_id}/feedback", responses=_RATED)
async def give_feedback(body: FeedbackChange, turn_id: TurnId, owner: OwnerDep, app: AppDep) -> Feedback:
    """Say whether an answer was good, and why not. Another feedback takes its place.

    Telemetry has the rating and the reason, never the comment.
    """
    feedback = Feedback(**body.model_dump(), given_at=utc_now())
    await rate(app.log, app.traces, owner, turn_id, feedback)
    return feedback


@router.delete(
    "/conversations/{conversation_id}/turns/{turn_id}/feedback", status_code=204, responses=responses(404)
)
async def withdraw_feedback(turn_id: TurnId, owner: OwnerDep, app: AppDep) -> None:
    """Take the feedback on an answer back; none is no error."""
    await rate(app.log, app.traces, owner, turn_id, None)
