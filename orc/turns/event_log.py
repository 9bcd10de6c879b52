"""The events of one turn, kept so that any number of readers can follow them, from any point."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence

from core.names import Owner
from orc.events import Event

KEPT_TURNS = 200


class EventLog:
    """Append-only; events are numbered from 1, or from the one after `after` where a reader goes on."""

    def __init__(self, events: Sequence[Event] = (), *, after: int = 0) -> None:
        self._events = list(events)
        self._numbered_after = after
        self._grown = asyncio.Event()

    def publish(self, event: Event) -> None:
        """Append an event and wake every reader; after the one that ends the turn nothing is taken."""
        if self._has_ended:
            return
        self._events.append(event)
        self._grown.set()
        self._grown = asyncio.Event()

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        """The events with a number above `after`, as they come, up to the one that ends the turn.

        That one comes whatever the reader claims to have, so that nobody waits for what is over.
        """
        position = min(max(after - self._numbered_after, 0), len(self._events) - self._has_ended)
        while True:
            while position < len(self._events):
                event = self._events[position]
                position += 1
                yield self._numbered_after + position, event
                if event.ends_turn:
                    return
            await self._grown.wait()

    async def last(self) -> Event:
        """The event that ends the turn, once it is there."""
        async for _, event in self.follow():
            if event.ends_turn:
                return event
        raise AssertionError("a log is followed up to its last event")

    @property
    def ending(self) -> Event | None:
        """The event that ended the turn, if it has ended."""
        return self._events[-1] if self._has_ended else None

    @property
    def _has_ended(self) -> bool:
        return bool(self._events) and self._events[-1].ends_turn


class RecentTurns:
    """The event logs of this process's latest turns, for readers that come back."""

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[Owner, str], tuple[str, EventLog]] = OrderedDict()

    def add(self, owner: Owner, turn_id: str, attempt: str, log: EventLog) -> None:
        """Keep a log; the oldest is dropped past two hundred."""
        self._logs[owner, turn_id] = attempt, log
        self._logs.move_to_end((owner, turn_id))
        while len(self._logs) > KEPT_TURNS:
            self._logs.popitem(last=False)

    def find(self, owner: Owner, turn_id: str, attempt: str) -> EventLog | None:
        """The owner's log of this attempt, if it ran here, is still kept, and no later one did since."""
        kept, log = self._logs.get((owner, turn_id), ("", None))
        return log if kept == attempt else None
