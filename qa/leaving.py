"""Streaming clients that go away, at a point of their own, and what each of them has seen by then."""

import asyncio
import json
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from qa.asking import STREAM, Event, whole_events
from qa.ledger import Asked, Json
from tests.faults.messages import read_head, response_pieces
from tests.faults.proxy import reset

LONGEST_SILENCE = 0.25
MOST_EVENTS = 14
MOST_BYTES = 2500


class Point(StrEnum):
    """Where a client goes."""

    BEFORE_HEADERS = "before the headers"
    AFTER_EVENTS = "after some events"
    WITHIN_AN_EVENT = "within an event"


@dataclass(frozen=True)
class Departure:
    """How one client goes: at which point, how far there, and whether its end is a reset."""

    point: Point
    far: float
    abrupt: bool

    @classmethod
    def drawn(cls, random: Random) -> "Departure":
        return cls(random.choice(list(Point)), random.random(), random.random() < 0.5)


@dataclass
class Left:
    """What a client has that went: the events that arrived whole."""

    conversation_id: str
    asked: Asked
    departure: Departure
    events: list[Event] = field(default_factory=list)

    @property
    def last_number(self) -> int:
        """What it says as Last-Event-ID when it comes back."""
        return self.events[-1][0] if self.events else 0


async def ask_and_leave(port: int, left: Left, body: Json) -> None:
    """Ask for a stream and go as the departure says; what arrived until then is noted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_request(port, left.asked.key, body))
        await writer.drain()
        if left.departure.point is Point.BEFORE_HEADERS:
            await asyncio.sleep(left.departure.far * LONGEST_SILENCE)
        else:
            left.events += await _read_some(reader, left.departure)
    finally:
        if left.departure.abrupt:
            reset(writer)
        writer.close()


async def _read_some(reader: asyncio.StreamReader, departure: Departure) -> list[Event]:
    head = await read_head(reader)
    assert head is not None and head.status == 200, head and head.first
    text = ""
    async for piece in response_pieces(reader, head, "POST"):
        text += piece.split(b"\r\n", 1)[1].removesuffix(b"\r\n").decode()
        if _is_far_enough(text, departure):
            break
    return whole_events(text)


def _is_far_enough(text: str, departure: Departure) -> bool:
    if departure.point is Point.AFTER_EVENTS:
        return len(whole_events(text)) >= departure.far * MOST_EVENTS
    return len(text) >= departure.far * MOST_BYTES


def _request(port: int, key: str, body: Json) -> bytes:
    content = json.dumps(body).encode()
    headers = {**STREAM, "host": f"127.0.0.1:{port}", "content-type": "application/json"}
    headers |= {"idempotency-key": key, "content-length": str(len(content))}
    lines = ["POST /api/orc HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "\r\n"]).encode() + content
