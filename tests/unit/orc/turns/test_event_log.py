"""Any number of readers can follow the events from any position to the end, and never past it."""

import asyncio

from devkit.fakes import collect
from orc.events import Event, Failed, Reset, Token
from orc.problems import problem
from orc.turns.event_log import MAX_LOGS, EventLog, RecentTurns
from orc_core.names import Owner

END = Failed(problem=problem(503, "no", "trace"))


def texts(numbered: list[tuple[int, Event]]) -> list[tuple[int, str]]:
    return [(number, event.text if isinstance(event, Token) else event.kind) for number, event in numbered]


async def test_a_late_reader_sees_every_event_in_order() -> None:
    log = EventLog()
    early = asyncio.create_task(collect(log.follow()))
    await asyncio.sleep(0)
    log.publish(Token(text="a"))
    late = asyncio.create_task(collect(log.follow()))
    await asyncio.sleep(0)
    log.publish(Token(text="b"))
    log.publish(END)
    expected = [(1, "a"), (2, "b"), (3, "error")]
    assert texts(await early) == expected
    assert texts(await late) == expected


async def test_a_reader_resumes_after_its_last_event() -> None:
    log = EventLog([Token(text="a"), Token(text="b"), END])
    assert texts(await collect(log.follow(after=1))) == [(2, "b"), (3, "error")]


async def test_a_reader_that_has_everything_still_gets_the_end() -> None:
    log = EventLog([Token(text="a"), END])
    for after in (2, 3, 100):
        assert texts(await asyncio.wait_for(collect(log.follow(after=after)), 1)) == [(2, "error")]


async def test_a_reader_that_leaves_does_not_stop_the_others() -> None:
    log = EventLog()
    leaving = asyncio.create_task(collect(log.follow()))
    staying = asyncio.create_task(log.last())
    await asyncio.sleep(0)
    leaving.cancel()
    log.publish(END)
    assert await staying == END


async def read_until(log: EventLog, count: int) -> list[tuple[int, float]]:
    """The numbers of the first events of a log, and when each was read."""
    clock, found = asyncio.get_running_loop().time, list[tuple[int, float]]()
    async for number, _ in log.follow():
        found.append((number, clock()))
        if number == count:
            break
    return found


async def test_text_wakes_readers_at_once_with_what_came_before_it() -> None:
    log = EventLog()
    reading = asyncio.create_task(read_until(log, 2))
    await asyncio.sleep(0)
    log.publish(Reset(reason="a"))
    log.publish(Token(text="b"))
    for _ in range(3):
        await asyncio.sleep(0)
    assert reading.done()
    assert [number for number, _ in await reading] == [1, 2]


def test_the_oldest_logs_are_dropped_and_owners_are_separate() -> None:
    recent, owner = RecentTurns(), Owner("o", "u", "c")
    for n in range(MAX_LOGS + 1):
        recent.add(owner, f"t{n}", "first", EventLog())
    assert recent.find(owner, "t0", "first") is None
    assert recent.find(owner, f"t{MAX_LOGS}", "first") is not None
    assert recent.find(owner, f"t{MAX_LOGS}", "second") is None
    assert recent.find(Owner("o", "u", "d"), f"t{MAX_LOGS}", "first") is None


async def test_nothing_follows_the_event_that_ends_a_turn() -> None:
    log = EventLog([Token(text="a")])
    log.publish(failed := Failed(problem=problem(500, "It broke.", "trace")))
    log.publish(Token(text="late"))
    assert log.ending is failed
    assert [event async for _, event in log.follow()] == [Token(text="a"), failed]


def test_the_logs_of_a_deleted_conversation_are_dropped() -> None:
    recent, deleted, other = RecentTurns(), Owner("o", "u", "c"), Owner("o", "u", "d")
    recent.add(deleted, "t1", "first", EventLog())
    recent.add(other, "t1", "first", EventLog())
    recent.forget(deleted)
    assert recent.find(deleted, "t1", "first") is None
    assert recent.find(other, "t1", "first") is not None
