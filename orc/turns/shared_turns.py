"""Turns that another process of the same port answers: their events are read from it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from core.infra.siblings import Siblings
from core.names import Owner
from orc.conversations.models import Turn
from orc.events import Event, Failed
from orc.problems import problem_of
from orc.turns.changes import Changes
from orc.turns.event_log import EventLog, RecentTurns
from orc.turns.results import in_flight, live_log


@dataclass(frozen=True)
class Follow:
    """Asks for the events of an attempt: those that there are as a list, then each as it happens."""

    owner: Owner
    turn_id: str
    attempt: str


@dataclass(frozen=True)
class Forget:
    """Says that a conversation was deleted."""

    owner: Owner


@dataclass(frozen=True)
class StopTurn:
    """Says that a user wants this turn to end."""

    owner: Owner
    turn_id: str


@dataclass(frozen=True)
class Changed:
    """Says that something of a conversation has changed."""

    owner: Owner


class SharedTurns:
    """The events of turns that siblings of this process answer, and theirs of those that it answers."""

    def __init__(
        self,
        recent: RecentTurns,
        siblings: Siblings,
        stop: Callable[[Owner, str], object],
        changes: Changes,
    ) -> None:
        """`stop` stops a turn that this process answers; `changes` wakes the followers in this process."""
        self._recent = recent
        self._siblings = siblings
        self._stop = stop
        self._changes = changes
        self._reading: set[asyncio.Task[None]] = set()

    async def answer(self, question: Any) -> AsyncGenerator[list[Event] | Event, None]:
        """The answers to the question of a sibling."""
        match question:
            case Forget(owner):
                self._recent.forget(owner)
            case Changed(owner):
                self._changes.happened(owner)
            case StopTurn(owner, turn_id):
                self._stop(owner, turn_id)
            case Follow(owner, turn_id, attempt):
                log = self._recent.find(owner, turn_id, attempt)
                if log is not None:
                    so_far = log.so_far()
                    yield so_far
                    async for _, event in log.follow(len(so_far)):
                        yield event

    async def find(self, owner: Owner, turn: Turn, trace_id: str) -> EventLog | None:
        """The log of a turn that a sibling answers or has in memory; None if there is none."""
        answers = self._siblings.ask(Follow(owner, turn.turn_id, turn.attempt))
        so_far = await anext(answers, None)
        if so_far is None:
            return None
        log = live_log(turn, so_far)
        lost = Failed(problem=problem_of(in_flight(turn), trace_id))
        task = asyncio.create_task(_read(answers, log))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)
        # The log always ends, so that no reader waits forever. After its last event nothing is published.
        task.add_done_callback(lambda _task: log.publish(lost))
        return log

    async def forget(self, owner: Owner) -> None:
        """Have siblings drop the events of a deleted conversation."""
        await self._siblings.tell(Forget(owner))

    async def stop(self, owner: Owner, turn_id: str) -> None:
        """Have the sibling that answers a turn stop it."""
        await self._siblings.tell(StopTurn(owner, turn_id))

    def changed(self, owner: Owner) -> None:
        """Wake the followers of a conversation in the siblings, without waiting for them."""
        task = asyncio.create_task(self._siblings.tell(Changed(owner)))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    def close(self) -> None:
        """Read no more events; readers of unfinished logs are asked to come back."""
        for task in self._reading:
            task.cancel()


async def _read(answers: AsyncGenerator[Event, None], log: EventLog) -> None:
    with suppress(ConnectionError):
        async with aclosing(answers):
            async for event in answers:
                log.publish(event)
