"""Turns that another process of the port answers are followed from it, with the same numbers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest

from core.infra.shared_port import members_in
from core.infra.siblings import Siblings
from core.names import Owner
from orc.conversations.models import Turn
from orc.events import Done, Event, Failed, Token, TurnMetadata, TurnResult
from orc.turns.changes import Changes
from orc.turns.event_log import EventLog, RecentTurns
from orc.turns.shared_turns import SharedTurns

OWNER = Owner("contoso", "ada", "conversation-1")
TURN = Turn(
    turn_id="turn-1",
    conversation_id=OWNER.conversation_id,
    seq=1,
    attempt="attempt-1",
    request_hash="hash",
    question="Why?",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)
RESULT = TurnResult(
    conversation_id=OWNER.conversation_id, turn_id="turn-1", answer="a", metadata=TurnMetadata(trace_id="t")
)
EVENTS: list[Event] = [Token(text="a"), Token(text="b"), Done(result=RESULT)]
SECONDS = 10.0


class Process:
    """The recent turns of a process; `end` stops its answers, as if it were killed."""

    def __init__(self, siblings: Siblings) -> None:
        self.recent = RecentTurns()
        self.stopped: list[tuple[Owner, str]] = []
        self.changes = Changes()
        self.shared = SharedTurns(
            self.recent, siblings, lambda owner, turn_id: self.stopped.append((owner, turn_id)), self.changes
        )
        self._siblings = siblings
        self._running = AsyncExitStack()

    async def start(self) -> None:
        await self._running.enter_async_context(self._siblings.answered(self.shared.answer))

    async def end(self) -> None:
        self.shared.close()
        await self._running.aclose()


@pytest.fixture
async def two(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[Process]]:
    made = [Process(Siblings(member)) for member in members_in(tmp_path_factory.mktemp("t"), 2)]
    for process in made:
        await process.start()
    yield made
    for process in made:
        await process.end()


def begin(process: Process) -> EventLog:
    log = EventLog(EVENTS[:1], conversation_id=OWNER.conversation_id, turn_id=TURN.turn_id)
    process.recent.add(OWNER, TURN.turn_id, TURN.attempt, log)
    return log


async def found(process: Process, turn: Turn = TURN) -> EventLog:
    log = await process.shared.find(OWNER, turn, "trace")
    assert log is not None
    return log


async def followed(log: EventLog, after: int = 0) -> list[tuple[int, Event]]:
    async with asyncio.timeout(SECONDS):
        return [each async for each in log.follow(after)]


async def test_a_running_turn_of_a_sibling_is_followed_to_its_end(two: list[Process]) -> None:
    here, there = two
    original = begin(there)
    log = await found(here)
    for event in EVENTS[1:]:
        original.publish(event)
    assert await followed(log) == list(enumerate(EVENTS, 1))
    assert await followed(log, 1) == await followed(original, 1)


async def test_a_turn_that_has_ended_is_found_with_all_events(two: list[Process]) -> None:
    here, there = two
    original = begin(there)
    for event in EVENTS[1:]:
        original.publish(event)
    log = await found(here)
    assert await followed(log) == list(enumerate(EVENTS, 1))
    assert log.is_read(len(EVENTS))


async def test_another_attempt_or_owner_is_not_found(two: list[Process]) -> None:
    here, there = two
    begin(there)
    assert await here.shared.find(OWNER, TURN.model_copy(update={"attempt": "attempt-2"}), "trace") is None
    assert await here.shared.find(Owner("contoso", "bob", "conversation-1"), TURN, "trace") is None
    assert await there.shared.find(OWNER, TURN, "trace") is None


async def test_a_deleted_conversation_is_forgotten_by_siblings(two: list[Process]) -> None:
    here, there = two
    begin(there)
    await here.shared.forget(OWNER)
    assert there.recent.find(OWNER, TURN.turn_id, TURN.attempt) is None


async def test_if_reading_ends_early_the_reader_is_asked_to_come_back(two: list[Process]) -> None:
    here, there = two
    begin(there)
    log = await found(here)
    here.shared.close()
    [(_, first), (number, ending)] = await followed(log)
    assert (first, number) == (EVENTS[0], 2)
    assert isinstance(ending, Failed)
    assert (ending.problem.status, ending.problem.retryable) == (409, True)


async def test_a_stop_reaches_every_sibling(two: list[Process]) -> None:
    await two[0].shared.stop(OWNER, "turn-1")
    assert [process.stopped for process in two] == [[], [(OWNER, "turn-1")]]


async def test_a_change_wakes_the_followers_in_every_sibling(two: list[Process]) -> None:
    stranger = Owner(OWNER.organization_id, "bob", OWNER.conversation_id)
    with two[1].changes.followed(OWNER) as woken, two[1].changes.followed(stranger) as other:
        two[0].shared.changed(OWNER)
        await asyncio.wait_for(woken.wait(), 60)
        assert not other.is_set()
