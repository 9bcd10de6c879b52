"""`python -m tests.campaigns.planted BUG`: an API instance with a planted bug."""

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator
from typing import Any
from zlib import crc32

from orc.conversations import transitions
from orc.conversations.models import Begun, NewTurn, Started, Turn, TurnOutcome
from orc.conversations.stored import turn_id_of
from orc.conversations.transitions import open_turn
from orc.conversations.turn_log import TurnLog
from orc.events import Event
from orc.identity import Principal
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.service import TurnService
from orc_core.errors import DependencyDown
from orc_core.infra.items import Item, delete, upsert
from orc_core.names import Owner
from resilience import instance

begin, commit, follow, start = TurnLog.begin, TurnLog.commit, EventLog.follow, TurnService.start
FOR_EVER = 3600.0
kept: list[object] = []
"""Holds what is leaked, and counts answers."""


def acknowledge_without_writing() -> None:
    """Every third answer is given to its client and not to the store."""

    async def forgetful(self: TurnLog, *turn: Any) -> Turn | None:
        kept.append(None)
        return await commit(self, *turn) if len(kept) % 3 else None

    replace(TurnLog, "commit", forgetful)


def forget_the_key() -> None:
    """A question that is asked again becomes another turn."""

    async def forgetful(self: TurnLog, owner: Owner, new: NewTurn, **options: Any) -> Begun:
        return await begin(self, owner, new.model_copy(update={"key": str(uuid.uuid4())}), **options)

    replace(TurnLog, "begin", forgetful)


def swap_two_turns() -> None:
    """The second turn of a conversation is stored as the third, and the third as the second."""

    def swapped(*given: Any) -> Any:
        head, turn = open_turn(*given)
        return head, turn.model_copy(update={"seq": {2: 3, 3: 2}.get(turn.seq, turn.seq)})

    replace(transitions, "open_turn", swapped)


def store_with_the_answer() -> None:
    """A question is stored when it has been answered, and not before."""
    started: dict[str, Item] = {}

    async def without(self: TurnLog, owner: Owner, new: NewTurn, **options: Any) -> Begun:
        begun = await begin(self, owner, new, **options)
        if isinstance(begun, Started):
            conversation = await self._found(owner)
            item_id = turn_id_of(conversation.life, new.key)
            started[new.key] = await self._items.read(owner.key, item_id) or {}
            await self._items.write(owner.key, delete(item_id))
        return begun

    async def late(self: TurnLog, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        await self._items.write(owner.key, upsert(started[turn_id]))
        return await commit(self, owner, turn_id, attempt, outcome)

    replace(TurnLog, "begin", without)
    replace(TurnLog, "commit", late)


def never_let_go() -> None:
    """A third of the answers meets a store that is down, and the lease of their turns does not run out."""

    async def holding(self: TurnLog, owner: Owner, new: NewTurn, **options: Any) -> Begun:
        return await begin(self, owner, new, **(options | {"lease_seconds": FOR_EVER}))

    async def failing(self: TurnLog, owner: Owner, turn_id: str, *rest: Any) -> Turn:
        if crc32(turn_id.encode()) % 3 == 0:
            raise DependencyDown("planted", dependency="store")
        return await commit(self, owner, turn_id, *rest)

    async def silent(self: TurnLog, *_turn: Any) -> None: ...

    replace(TurnLog, "begin", holding)
    replace(TurnLog, "commit", failing)
    replace(TurnLog, "fail", silent)
    replace(TurnLog, "renew", silent)


def stop_with_the_client() -> None:
    """A turn is given up when the one who asked goes away."""
    tasks: dict[EventLog, set[asyncio.Task[None]]] = {}

    async def noting(self: TurnService, request: TurnRequest, principal: Principal) -> EventLog:
        before = set(self._running)
        log = await start(self, request, principal)
        tasks[log] = self._running - before
        return log

    def stop(log: EventLog) -> None:
        for task in tasks.get(log, ()):
            task.cancel()

    replace(TurnService, "start", noting)
    when_a_client_goes(stop)


def leak_a_task() -> None:
    """Something waits for ever for every client that has gone."""
    when_a_client_goes(lambda _log: kept.append(asyncio.ensure_future(asyncio.Event().wait())))


def leak_a_file() -> None:
    """A descriptor stays open for every client that has gone."""
    when_a_client_goes(lambda _log: kept.append(os.dup(sys.stderr.fileno())))


def begin_again() -> None:
    """Who comes back gets the events from the first, whatever they have."""

    def forgetful(self: EventLog, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        return follow(self)

    replace(EventLog, "follow", forgetful)


def when_a_client_goes(then: Any) -> None:
    async def watched(self: EventLog, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        try:
            async for numbered in follow(self, after):
                yield numbered
        finally:
            if not self._has_ended:
                then(self)

    replace(EventLog, "follow", watched)


def replace(owner: Any, name: str, planted: Any) -> None:
    """Have the product use `planted` from now on."""
    setattr(owner, name, planted)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    instance.main()
