"""Responses: server-sent events, JSON, and how routes document both."""

import json
import logging
import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema
from sse_starlette import EventSourceResponse, ServerSentEvent

from orc.api.dependencies import DIGITS
from orc.api.errors import CONVERSATION_HEADER, MEDIA_TYPE, TURN_HEADER, limit_headers, render, turn_headers
from orc.conversations.models import KEY_CHARACTERS
from orc.events import Done, Event, Failed, Stopped, TurnResult
from orc.identity import Principal
from orc.problems import Problem, problem
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.service import TurnService
from orc_core.errors import INTERNAL
from orc_core.text.normal_forms import normalized

Numbered = AsyncIterator[tuple[int, Event]]
KEEPALIVE_SECONDS = 15
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
"""Line ends in Unicode, escaped: many clients split lines at them, although a stream of events does not."""
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

logger = logging.getLogger(__name__)


def stream(events: Numbered, trace_id: str) -> EventSourceResponse:
    """The events as they happen. If an event cannot be made or encoded, the stream ends with `error`."""

    async def encoded() -> AsyncIterator[bytes]:
        number = 0
        try:
            async for number, event in events:
                yield _encode(number, event)
        except Exception:
            # The outermost edge of a stream: its reader would otherwise wait for an end.
            logger.exception("a stream of events broke off at event %d", number)
            broken = problem(500, "The events could not be sent to their end.", trace_id, code=INTERNAL)
            yield _encode(number, Failed(problem=broken))

    return event_stream(encoded())


def event_stream(
    encoded: AsyncIterator[bytes | ServerSentEvent], headers: Mapping[str, str] = {}
) -> EventSourceResponse:
    """The encoded events as they come, with a `: ping` comment while none does."""
    return EventSourceResponse(
        encoded,
        headers={**HEADERS, **headers},
        ping=KEEPALIVE_SECONDS,
        ping_message_factory=lambda: ServerSentEvent(comment="ping"),
        sep="\n",
    )


def _encode(number: int, event: Event) -> bytes:
    data = json.dumps(event.data(), ensure_ascii=False, separators=(",", ":")).translate(_LINE_ENDS)
    return ServerSentEvent(id=str(number), event=event.kind, data=data, sep="\n").encode()


EVENT_STREAM = "text/event-stream"
EVENTS: dict[str, Any] = {
    EVENT_STREAM: {"schema": {"type": "string"}, "example": 'id: 7\nevent: token\ndata: {"text":"..."}\n\n'}
}
"""The content of a response that is a stream of events: text, as OpenAPI 3.1 has no word for events."""
REFERENCES = "#/components/schemas/{model}"
_ALWAYS = {401, 403, 422, 500, 503, 507}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route; those that any route may give are always in."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in map(HTTPStatus, sorted({*_ALWAYS, *statuses})):
        detail, trace_id = "What went wrong, for the person who asked.", "0af7651916cd43dd8448eb211c80319c"
        shown = problem(status, detail, trace_id).model_dump(mode="json", exclude_none=True)
        content = {"schema": {"$ref": REFERENCES.format(model=Problem.__name__)}, "example": shown}
        found[int(status)] = {"description": status.phrase, "content": {MEDIA_TYPE: content}}
    return found


_UUID = {"type": "string", "format": "uuid"}
TURN_HEADERS: dict[str, Any] = {
    CONVERSATION_HEADER: {"description": "the conversation", "schema": _UUID},
    TURN_HEADER: {"description": "the turn, whose events can be followed again", "schema": _UUID},
}
_REFUSED = responses(400, 404, 409, 413, 415, 429, 504)
_REFUSED[409] |= {"description": "The turn of this key is running: follow it.", "headers": TURN_HEADERS}
_ENDING = (
    "ending in `done` (the object of the JSON response), `stopped` (the same of a turn that was stopped) or"
    " `error` (a problem document)."
)
TURN_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_REFUSED,
    200: {
        "description": f"The answer, or with `Accept: text/event-stream` the events of the turn, {_ENDING}",
        "content": EVENTS,
        "headers": TURN_HEADERS,
    },
}
"""What a route that asks may answer, for its documentation."""
STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    **_REFUSED,
    200: {"description": f"The events of the turn, {_ENDING}", "content": EVENTS, "headers": TURN_HEADERS},
}
"""The same of a route that always streams."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=KEY_CHARACTERS,
        description="a retry with the same key gives the stored answer",
    ),
]
LastEventId = Annotated[
    # A header has no null; for a union with null, generated clients send a number that HTTP clients refuse.
    Annotated[int, Field(ge=0)] | SkipJsonSchema[None],
    Header(
        description="takes up the stream of the same request with the same `Idempotency-Key` after it;"
        " no turn is begun"
    ),
    DIGITS,
]


Shown = Callable[[TurnResult], BaseModel]


def _unchanged(result: TurnResult) -> BaseModel:
    return result


async def answer(
    turn_service: TurnService,
    turn: TurnRequest,
    caller: Principal,
    last_event_id: int | None,
    shown: Shown = _unchanged,
) -> Response:
    """Start the turn, or take up the one that the same request began; the response to either.

    `shown` makes the JSON response from the result.
    """
    if last_event_id is None:
        log = await turn_service.start(turn, caller)
    else:
        log = await turn_service.resume(turn, caller, after=last_event_id)
    after = last_event_id or 0
    return await reply(log, streaming=turn.stream, trace_id=turn.trace_id, after=after, shown=shown)


async def reply(
    log: EventLog, *, streaming: bool, trace_id: str, after: int = 0, shown: Shown = _unchanged
) -> Response:
    """The turn's events after this one, or what it ended in; with the ids of the turn in the headers."""
    response: Response
    if streaming:
        response = stream(log.follow(after), trace_id)
    else:
        match await log.last():
            case Done(result=result) | Stopped(result=result):
                response = Response(shown(result).model_dump_json(), media_type="application/json")
            case Failed(problem=failure):
                response = render(failure)
            case other:
                raise AssertionError(f"a turn cannot end with {other.kind}")
    response.headers.update(turn_headers(log.conversation_id, log.turn_id))
    response.headers.update(limit_headers(log.allowance))
    return response


async def _is_streamed(request: Request) -> bool:
    return request.url.path.endswith("/stream") or prefers_stream(request.headers.get("accept", ""))


Streamed = Annotated[bool, Depends(_is_streamed)]
"""Whether the response is a stream: at an address for streams, or because the caller prefers one."""


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


MAX_NAME_BYTES = 200
_NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]+')
_DROPPED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def content_disposition(file_name: str) -> str:
    """The header that names a file to be saved (RFC 6266): in ASCII, and as it is in UTF-8."""
    name = safe_file_name(file_name)
    ascii_name = normalized("NFKD", name).encode("ascii", "ignore").decode()
    stem = _NOT_IN_NAMES.sub("_", ascii_name).strip(" .%") or "file"
    fallback = re.sub(r"[%;]", "_", stem)
    return f"attachment; filename=\"{fallback}\"; filename*=UTF-8''{quote(name, safe='')}"


def safe_file_name(name: str) -> str:
    """The name without what file systems refuse or people cannot see, its stem cut to a length they take."""
    visible = "".join(c for c in name if unicodedata.category(c) not in _DROPPED)
    stem, dot, extension = _NOT_IN_NAMES.sub("_", visible).rpartition(".")
    if not dot:
        stem, extension = extension, ""
    short = stem.encode()[: MAX_NAME_BYTES - len(extension.encode())].decode(errors="ignore")
    return f"{short.strip(' .') or 'file'}{dot}{extension}"
