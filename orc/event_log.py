"""The events of one turn, kept so that any number of readers can follow them, from any point."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence

from core.documents.names import Owner
from orc.events import Event

KEPT_TURNS = 1000


class EventLog:
    """Append-only; the n-th event has the number n, from 1."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._events = list(events)
        self._grown = asyncio.Event()

    def publish(self, event: Event) -> None:
        """Append an event and wake every reader."""
        self._events.append(event)
        self._grown.set()
        self._grown = asyncio.Event()

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        """The events with a number above `after`, as they come, up to the one that ends the turn."""
        position = after
        while True:
            while position < len(self._events):
                event = self._events[position]
                position += 1
                yield position, event
                if event.ends_turn:
                    return
            await self._grown.wait()

    async def last(self) -> Event:
        """The event that ends the turn, once it is there."""
        async for _, event in self.follow():
            if event.ends_turn:
                return event
        raise AssertionError("a log is followed up to its last event")


class RecentTurns:
    """The event logs of this process's latest turns, for readers that come back."""

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[Owner, str], EventLog] = OrderedDict()

    def add(self, owner: Owner, turn_id: str, log: EventLog) -> None:
        """Keep a log; the oldest is dropped past a thousand."""
        self._logs[owner, turn_id] = log
        self._logs.move_to_end((owner, turn_id))
        while len(self._logs) > KEPT_TURNS:
            self._logs.popitem(last=False)

    def find(self, owner: Owner, turn_id: str) -> EventLog | None:
        """The owner's log of this turn, if it ran here and is still kept."""
        return self._logs.get((owner, turn_id))
