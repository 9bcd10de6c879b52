"""A stream of events always ends."""

import json
from collections.abc import AsyncIterator
from typing import Any

from orc.api.responses import stream
from orc.events import Event, Token

Sent = list[tuple[str, dict[str, Any]]]


async def sent(*events: Event, failure: Exception | None = None) -> Sent:
    """What a client gets of these events, and of a failure after them."""

    async def numbered() -> AsyncIterator[tuple[int, Event]]:
        for number, event in enumerate(events, 1):
            yield number, event
        if failure is not None:
            raise failure

    blocks = [part async for part in stream(numbered(), "trace").body_iterator]
    lines = [dict(line.split(": ", 1) for line in _text(block).strip().split("\n")) for block in blocks]
    return [(line["event"], json.loads(line["data"])) for line in lines]


def _text(block: Any) -> str:
    return block.decode() if isinstance(block, bytes) else str(block)


async def test_an_event_that_cannot_be_encoded_ends_the_stream_with_an_error() -> None:
    events = await sent(Token(text="a"), Token(text="\ud83d"), Token(text="b"))
    assert [kind for kind, _ in events] == ["token", "error"]
    assert (events[-1][1]["code"], events[-1][1]["trace_id"]) == ("internal", "trace")


async def test_a_source_of_events_that_fails_ends_the_stream_with_an_error() -> None:
    assert [kind for kind, _ in await sent(Token(text="a"), failure=ValueError("bug"))] == ["token", "error"]


async def test_line_ends_of_unicode_do_not_split_an_event() -> None:
    [(_, data)] = await sent(Token(text="a\u2028b\x85c\u2029d"))
    assert data["text"] == "a\u2028b\x85c\u2029d"
    [block] = [part async for part in stream(_one(Token(text="a\u2028b")), "").body_iterator]
    assert len(_text(block).splitlines()) == 4


async def _one(event: Event) -> AsyncIterator[tuple[int, Event]]:
    yield 1, event
