"""The events of one turn, which any number of readers follow from any point, and changes of conversations."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from orc.events import Event
from orc.limits.models import Taken
from orc_core.names import Owner

MAX_LOGS = 200


# Why turns write to a log that readers follow: docs/decisions/events-and-streams.md.
class EventLog:
    """Append-only. Events are numbered from `after` + 1.

    `allowance`: what is left of the user's messages after a new turn.
    """

    def __init__(
        self,
        events: Sequence[Event] = (),
        *,
        conversation_id: str = "",
        turn_id: str = "",
        after: int = 0,
        restart: Event | None = None,
    ) -> None:
        """`restart` comes first for a reader of events before these, which are of another attempt.

        It has the number `after`.
        """
        self.conversation_id, self.turn_id = conversation_id, turn_id
        self.allowance: Taken | None = None
        self._restart = restart
        self._events = list(events)
        self._numbered_after = after
        self._grown = asyncio.Event()

    def publish(self, event: Event) -> None:
        """Append an event, for which all readers wake; those after the end of the turn are ignored."""
        if not self._has_ended:
            self._events.append(event)
            self._grown.set()
            self._grown = asyncio.Event()

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        """Yield the events with a number above `after`, up to the one that ends the turn.

        The last event is always included, whatever number the reader claims, so that no reader waits forever.
        """
        if self._restart is not None and 0 < after < self._numbered_after:
            yield self._numbered_after, self._restart
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
        """Wait for the event that ends the turn."""
        async for _, event in self.follow():
            if event.ends_turn:
                return event
        raise AssertionError("a log is followed up to its last event")

    def so_far(self) -> list[Event]:
        """The events up to now."""
        return list(self._events)

    def is_read(self, after: int) -> bool:
        """Whether the turn has ended and a reader of the events up to `after` has its last one."""
        return self._has_ended and after >= self._numbered_after + len(self._events)

    @property
    def ending(self) -> Event | None:
        """The event that ended the turn, if it has ended."""
        return self._events[-1] if self._has_ended else None

    @property
    def _has_ended(self) -> bool:
        return bool(self._events) and self._events[-1].ends_turn


class RecentTurns:
    """The event logs of the latest turns of this process, for readers that reconnect."""

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[Owner, str], tuple[str, EventLog]] = OrderedDict()

    def add(self, owner: Owner, turn_id: str, attempt: str, log: EventLog) -> None:
        """Add a log and drop the oldest one above the limit."""
        self._logs[owner, turn_id] = attempt, log
        self._logs.move_to_end((owner, turn_id))
        while len(self._logs) > MAX_LOGS:
            self._logs.popitem(last=False)

    def forget(self, owner: Owner) -> None:
        """Drop the logs of a conversation; readers that follow one keep it to its end."""
        for key in [key for key in self._logs if key[0] == owner]:
            del self._logs[key]

    def find(self, owner: Owner, turn_id: str, attempt: str) -> EventLog | None:
        """The log of this attempt of the owner's turn, if this process ran it last and still has it."""
        kept, log = self._logs.get((owner, turn_id), ("", None))
        return log if kept == attempt else None


class Changes:
    """Signals that a conversation has changed; readers load the change from the stores.

    Changes by other processes are not signalled: readers look into the stores now and then as well.
    """

    def __init__(self) -> None:
        self._followers: dict[Owner, set[asyncio.Event]] = {}

    def happened(self, owner: Owner) -> None:
        """Wake the followers of this conversation."""
        for follower in self._followers.get(owner, ()):
            follower.set()

    @contextmanager
    def followed(self, owner: Owner) -> Iterator[asyncio.Event]:
        """An event that is set at each change; the follower clears it before it reads the stores."""
        follower = asyncio.Event()
        self._followers.setdefault(owner, set()).add(follower)
        try:
            yield follower
        finally:
            self._followers[owner].discard(follower)
            if not self._followers[owner]:
                del self._followers[owner]
