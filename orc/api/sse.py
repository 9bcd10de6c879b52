"""Events as server-sent events: the one function that encodes them."""

import json
from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, ServerSentEvent

from orc.event_log import EventLog

HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


def stream(log: EventLog, *, after: int, ping_seconds: int) -> EventSourceResponse:
    """The events above number `after`, as they happen, with a `: ping` comment while nothing does."""
    return EventSourceResponse(
        _encoded(log, after),
        headers=HEADERS,
        ping=ping_seconds,
        ping_message_factory=lambda: ServerSentEvent(comment="ping"),
        sep="\n",
    )


async def _encoded(log: EventLog, after: int) -> AsyncIterator[ServerSentEvent]:
    async for number, event in log.follow(after):
        data = json.dumps(event.data(), ensure_ascii=False, separators=(",", ":"))
        yield ServerSentEvent(id=str(number), event=event.kind, data=data)
