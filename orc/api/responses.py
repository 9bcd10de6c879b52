"""Responses: server-sent events, JSON, and how routes document both."""

import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Header, Response
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse, ServerSentEvent

from orc.api.errors import MEDIA_TYPE, render
from orc.conversations.models import KEY_CHARACTERS
from orc.events import Done, Event, Failed, Problem
from orc.problems import problem
from orc.turns.event_log import EventLog

Numbered = AsyncIterator[tuple[int, Event]]
KEEPALIVE_SECONDS = 15
HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


def stream(events: Numbered) -> EventSourceResponse:
    """The events as they happen, with a `: ping` comment while nothing does."""

    async def encoded() -> AsyncIterator[ServerSentEvent]:
        async for number, event in events:
            data = json.dumps(event.data(), ensure_ascii=False, separators=(",", ":"))
            yield ServerSentEvent(id=str(number), event=event.kind, data=data)

    ping = ServerSentEvent(comment="ping")
    return EventSourceResponse(
        encoded(), headers=HEADERS, ping=KEEPALIVE_SECONDS, ping_message_factory=lambda: ping, sep="\n"
    )


EVENT_STREAM = "text/event-stream"
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "a number, for `Last-Event-ID`"},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
EVENTS: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {"type": "array", "items": _EVENT},
        "itemSchema": _EVENT,
        "example": 'id: 1\nevent: token\ndata: {"text":"..."}\n\n',
    }
}
"""The content of a response that is a stream of events."""
_DISPOSITION = {
    "description": "the file's name, whose extension says what it is",
    "schema": {"type": "string", "example": 'form-data; name="file"; filename="handbook.txt"'},
}
_REFERENCES = "#/components/schemas/{model}"
_ALWAYS = {401, 403, 422, 500, 503}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route; those that any route may give are always in."""
    return {status: _response(HTTPStatus(status)) for status in sorted({*_ALWAYS, *statuses})}


class DocumentedApp(FastAPI):
    """FastAPI whose document holds the schema that `responses` refers to.

    FastAPI itself would put a response's model under `application/json`, whatever its media type.
    """

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schema = Problem.model_json_schema(ref_template=_REFERENCES)
        document["components"]["schemas"].update({**schema.pop("$defs"), Problem.__name__: schema})
        operations = [each for path in document["paths"].values() for each in path.values()]
        for operation in operations:
            # A file's name says what it is, which the schema of the form cannot tell.
            content = operation.get("requestBody", {}).get("content", {})
            if form := content.get("multipart/form-data"):
                form["encoding"] = {"file": {"headers": {"Content-Disposition": _DISPOSITION}}}
        return document


def _response(status: HTTPStatus) -> dict[str, Any]:
    detail, trace_id = "What went wrong, for the person who asked.", "0af7651916cd43dd8448eb211c80319c"
    example = problem(status, detail, trace_id).model_dump(mode="json", exclude_none=True)
    content = {"schema": {"$ref": _REFERENCES.format(model=Problem.__name__)}, "example": example}
    return {"description": status.phrase, "content": {MEDIA_TYPE: content}}


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
    match await log.last():
        case Done(result=result):
            return JSONResponse(result.model_dump(mode="json"))
        case Failed(problem=problem):
            return render(problem)
        case other:
            raise AssertionError(f"a turn cannot end with {other.kind}")


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
