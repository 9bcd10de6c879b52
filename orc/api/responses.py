"""A turn as a response: its result as JSON, or its events as they come."""

from typing import Annotated, Any

from fastapi import Header, Response
from fastapi.responses import JSONResponse

from orc.api.errors import render
from orc.api.openapi import EVENT_STREAM, EVENTS, responses
from orc.api.sse import stream
from orc.conversations.models import KEY_CHARACTERS
from orc.events import Done, Failed
from orc.turns.event_log import EventLog

_ANSWERED = {
    "description": "The answer, or with `Accept: text/event-stream` the events of the turn, "
    "ending in `done` (the same object) or `error` (a problem document).",
    "content": EVENTS,
}
TURN_RESPONSES: dict[int | str, dict[str, Any]] = {
    **responses(400, 404, 409, 413, 415, 429, 504),
    200: _ANSWERED,
}
"""What a route that asks may answer, for its documentation."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=KEY_CHARACTERS,
        description="a retry with the same key gives the stored answer",
    ),
]


async def reply(log: EventLog, *, streaming: bool) -> Response:
    """The turn's events from the first, or what it ended in."""
    if streaming:
        return stream(log.follow())
    return await _as_json(log)


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


async def _as_json(log: EventLog) -> Response:
    match await log.last():
        case Done(result=result):
            return JSONResponse(result.model_dump(mode="json"))
        case Failed(problem=problem):
            return render(problem)
        case other:
            raise AssertionError(f"a turn cannot end with {other.kind}")
