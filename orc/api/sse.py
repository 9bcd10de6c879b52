"""Events as server-sent events: the one function that encodes them."""

import json
from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, ServerSentEvent

from orc.events import Event

Numbered = AsyncIterator[tuple[int, Event]]
KEEPALIVE_SECONDS = 15
HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


def stream(events: Numbered) -> EventSourceResponse:
    """The events as they happen, with a `: ping` comment while nothing does."""
    return EventSourceResponse(
        _encoded(events),
        headers=HEADERS,
        ping=KEEPALIVE_SECONDS,
        ping_message_factory=lambda: ServerSentEvent(comment="ping"),
        sep="\n",
    )


async def _encoded(events: Numbered) -> AsyncIterator[ServerSentEvent]:
    async for number, event in events:
        data = json.dumps(event.data(), ensure_ascii=False, separators=(",", ":"))
        yield ServerSentEvent(id=str(number), event=event.kind, data=data)
