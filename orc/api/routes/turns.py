"""Asking: `/api/orc` as JSON or as a stream, and a turn's events again."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse

from orc.api.dependencies import DIGITS, OwnerDep, PrincipalDep, ServicesDep, TraceIdDep
from orc.api.errors import render
from orc.api.openapi import EVENT_STREAM, EVENTS, responses
from orc.api.schemas import AskRequest
from orc.api.sse import stream
from orc.conversations.models import KEY_CHARACTERS
from orc.event_log import EventLog
from orc.events import Done, Failed, TurnResult
from orc.requests import TurnRequest

router = APIRouter(tags=["turns"])

_ANSWERED = {
    "description": "The answer, or with `Accept: text/event-stream` the events of the turn, "
    "ending in `done` (the same object) or `error` (a problem document).",
    "content": EVENTS,
}
_FOLLOWED = {"description": "The events that are left, as they come.", "content": EVENTS}
_RESPONSES: dict[int | str, dict[str, Any]] = {**responses(400, 404, 409, 413, 415, 429, 504), 200: _ANSWERED}

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=KEY_CHARACTERS,
        description="a retry with the same key gives the stored answer",
    ),
]


@router.post("/orc", response_model=TurnResult, responses=_RESPONSES)
async def ask(
    body: AskRequest,
    request: Request,
    services: ServicesDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask a question, of documents or just so."""
    streaming = prefers_stream(request.headers.get("accept", ""))
    log = await services.orchestrator.start(_turn(body, trace, idempotency_key, streaming), caller)
    if streaming:
        return stream(log.follow(), ping_seconds=services.settings.ping_seconds)
    return await _as_json(log)


@router.post("/orc/stream", response_model=TurnResult, responses=_RESPONSES)
async def ask_streaming(
    body: AskRequest,
    services: ServicesDep,
    caller: PrincipalDep,
    trace: TraceIdDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask a question and always get the stream."""
    log = await services.orchestrator.start(_turn(body, trace, idempotency_key, True), caller)
    return stream(log.follow(), ping_seconds=services.settings.ping_seconds)


@router.get(
    "/conversations/{conversation_id}/turns/{turn_id}/events",
    responses={**responses(404), 200: _FOLLOWED},
    response_class=Response,
)
async def resume(
    turn_id: str,
    owner: OwnerDep,
    services: ServicesDep,
    trace: TraceIdDep,
    last_event_id: Annotated[int, Header(ge=0, description="the last event that arrived"), DIGITS] = 0,
) -> Response:
    """Follow a turn again, from the event after `Last-Event-ID`."""
    log = await services.orchestrator.events_of(owner, turn_id, after=last_event_id, trace_id=trace)
    return stream(log.follow(last_event_id), ping_seconds=services.settings.ping_seconds)


def prefers_stream(accept: str) -> bool:
    """Whether the Accept header asks for events at least as much as for JSON."""
    weights = dict(map(_media_and_weight, accept.lower().split(",")))
    stream = weights.get(EVENT_STREAM, 0.0)
    return stream > 0 and stream >= weights.get("application/json", 0.0)


def _media_and_weight(part: str) -> tuple[str, float]:
    media, *parameters = (piece.strip() for piece in part.split(";"))
    weight = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
    try:
        return media, float(weight)
    except ValueError:
        return media, 0.0


def _turn(body: AskRequest, trace: str, key: str | None, streaming: bool) -> TurnRequest:
    return TurnRequest(
        question=body.question,
        conversation_id=str(body.conversation_id) if body.conversation_id else None,
        blob_names=body.names,
        contexts=[context.model_dump() for context in body.contexts],
        tools=body.tools,
        model=body.model,
        idempotency_key=key,
        stream=streaming,
        trace_id=trace,
    )


async def _as_json(log: EventLog) -> Response:
    match await log.last():
        case Done(result=result):
            return JSONResponse(result.model_dump(mode="json"))
        case Failed(problem=problem):
            return render(problem)
        case other:
            raise AssertionError(f"a turn cannot end with {other.kind}")
