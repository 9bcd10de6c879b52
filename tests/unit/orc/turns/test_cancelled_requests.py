"""Turns whose request is cancelled while they begin, with and without a shutdown."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from devkit.held_turns import (
    CALLER,
    ELSEWHERE,
    OWNER,
    Log,
    SlowScopes,
    SlowTools,
    WatchedMemory,
    asking,
    ending,
    turn_service,
)
from devkit.recorded_telemetry import Recorded
from devkit.store_pairs import items_here
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import Turn, TurnStatus, utc_now
from orc.events import Done
from orc.limits.models import LimitStore, RateLimit
from orc.limits.window import Window
from orc.turns.requests import TurnRequest
from orc.turns.service import TurnService
from orc_core.errors import TooMany
from orc_core.infra.sqlite import Database
from orc_core.names import Owner

pytestmark = pytest.mark.slow


class FailingLog(Log):
    """A turn log that reports that a failure is stored once the test allows it."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.has_failed, self.may_report = asyncio.Event(), asyncio.Event()

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        failed = await super().fail(owner, turn_id, attempt, code, message)
        self.has_failed.set()
        await self.may_report.wait()
        return failed


class BrokenOnce(SlowScopes):
    """Contexts with a bug that shows once."""

    async def of_turn(self, *words: Any, **options: Any) -> TurnScope | None:
        is_first = not self.is_asked.is_set()
        self.is_asked.set()
        if is_first:
            raise RuntimeError("a bug")
        return None


def with_scopes(
    log: Log, tools: SlowTools, scopes: SlowScopes, limit: RateLimit | None = None, **limits: Any
) -> TurnService:
    return TurnService(replace(turn_service(log, tools, messages=limit, **limits)._parts, contexts=scopes))


def limited(database: Database, messages: int) -> RateLimit:
    return RateLimit(LimitStore(items_here(database, "limits")), window=Window(messages, 3600))


def elsewhere() -> TurnRequest:
    return asking("a.pdf").model_copy(update={"idempotency_key": "key", "contexts": [ELSEWHERE]})


def held_at(moment: str, log: Log, scopes: SlowScopes) -> tuple[asyncio.Event, asyncio.Event]:
    """What holds a turn up before or after its question is stored, and what says that it has come
    so far."""
    held, reached = {
        "before": (log.may_store, log.is_asked),
        "after": (scopes.may_find, scopes.is_asked),
    }[moment]
    held.clear()
    return held, reached


async def begun_until(reached: asyncio.Event, service: TurnService) -> "asyncio.Task[Any]":
    """A request that has come so far."""
    starting = asyncio.create_task(service.start(elsewhere(), CALLER))
    await asyncio.wait_for(reached.wait(), 5)
    await asyncio.sleep(0.05)  # the question is stored, if that is not held up
    return starting


async def ended(log: Log) -> tuple[TurnStatus, str | None]:
    [turn] = await log.turns(OWNER)
    return turn.status, turn.failure.code if turn.failure else None


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_turn_whose_request_is_cancelled_is_answered_once(
    log: Log, tools: SlowTools, moment: str
) -> None:
    scopes = SlowScopes()
    service = with_scopes(log, tools, scopes, turns_per_user=1)
    held, reached = held_at(moment, log, scopes)
    starting = await begun_until(reached, service)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    with pytest.raises(TooMany):
        await asyncio.wait_for(service.start(asking("a.pdf"), CALLER), 5)
    held.set()
    await asyncio.wait_for(service.close(), 5)
    [turn] = await log.turns(OWNER)
    assert (turn.status, turn.attempt_number, len(tools.calls)) == (TurnStatus.COMMITTED, 1, 1)
    # The place of the user is free, and the key leads to the stored answer.
    assert isinstance(await ending(await service.start(elsewhere(), CALLER)), Done)
    assert len(tools.calls) == 1


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_turn_whose_request_is_cancelled_counts_once(
    database: Database, log: Log, tools: SlowTools, moment: str, most: int
) -> None:
    scopes = SlowScopes()
    service = with_scopes(log, tools, scopes, limited(database, most))
    held, reached = held_at(moment, log, scopes)
    starting = await begun_until(reached, service)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    held.set()
    await asyncio.wait_for(service.close(), 5)
    assert await ended(log) == (TurnStatus.COMMITTED, None)
    used = await database.rows("SELECT sum(value) AS n FROM items_limits, json_each(body, '$.counts')")
    assert used[0]["n"] == 1


async def test_a_request_that_is_cancelled_while_it_is_counted_does_not_count(
    database: Database, log: Log, tools: SlowTools
) -> None:
    counting, may_count = threading.Event(), threading.Event()

    def clock() -> float:
        counting.set()
        may_count.wait(5)
        return 0.0

    limit = RateLimit(LimitStore(items_here(database, "limits"), clock), window=Window(1, 3600))
    service = with_scopes(log, tools, SlowScopes(), limit)
    starting = asyncio.create_task(service.start(elsewhere(), CALLER))
    assert await asyncio.to_thread(counting.wait, 5)
    starting.cancel()
    await asyncio.sleep(0)
    may_count.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert await log.turns(OWNER) == []
    assert await limit.take(CALLER)


async def test_a_cancelled_turn_that_cannot_be_begun_does_not_count(
    database: Database, log: Log, tools: SlowTools
) -> None:
    limit = limited(database, 1)
    service = with_scopes(log, tools, SlowScopes(), limit)
    log.may_store.clear()
    log.begin_error = RuntimeError("a bug")
    starting = await begun_until(log.is_asked, service)
    starting.cancel()
    log.may_store.set()
    await asyncio.wait_for(service.close(), 5)
    assert await ended(log) == (TurnStatus.FAILED, "internal")
    assert await limit.take(CALLER)


@pytest.mark.parametrize("most", [None, 3])
async def test_a_shutdown_fails_a_turn_whose_request_it_has_cancelled(
    database: Database, log: Log, tools: SlowTools, most: int | None
) -> None:
    scopes = SlowScopes()
    service = with_scopes(log, tools, scopes, None if most is None else limited(database, most))
    scopes.may_find.clear()
    starting = await begun_until(scopes.is_asked, service)
    # A server cancels its requests, and stops without waiting for them.
    starting.cancel()
    await asyncio.wait_for(service.close(grace_seconds=0.05), 5)
    assert await ended(log) == (TurnStatus.FAILED, "interrupted")
    assert not (tools.calls or service._running)


@pytest.mark.parametrize("most", [None, 3])
async def test_a_shutdown_waits_for_a_turn_whose_request_it_has_cancelled(
    database: Database, log: Log, tools: SlowTools, most: int | None
) -> None:
    scopes = SlowScopes()
    scopes.may_find.clear()
    service = with_scopes(log, tools, scopes, None if most is None else limited(database, most))
    starting = await begun_until(scopes.is_asked, service)
    starting.cancel()
    scopes.may_find.set()
    await asyncio.wait_for(service.close(), 5)
    assert await ended(log) == (TurnStatus.COMMITTED, None)


async def test_a_shutdown_does_not_wait_for_a_failure_that_cannot_be_stored(
    log: Log, tools: SlowTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orc.turns.service.INTERRUPTED_SECONDS", 0.05)
    scopes = SlowScopes()
    scopes.may_find.clear()
    log.may_fail.clear()
    service = with_scopes(log, tools, scopes)
    starting = await begun_until(scopes.is_asked, service)
    starting.cancel()
    await asyncio.wait_for(service.close(grace_seconds=0.05), 2)
    assert not service._running


async def test_a_bug_in_a_turn_whose_request_was_cancelled_is_logged(
    log: Log, tools: SlowTools, caplog: pytest.LogCaptureFixture
) -> None:
    log.may_store.clear()
    service = with_scopes(log, tools, SlowScopes())
    starting = await begun_until(log.is_asked, service)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    [finishing] = service._running
    log.begin_error, log.fail_error = RuntimeError("a first bug"), RuntimeError("a second bug")
    log.may_store.set()
    await asyncio.wait_for(finishing, 5)
    logged = [(record.getMessage(), str(record.exc_info and record.exc_info[1])) for record in caplog.records]
    [(first, first_bug), (second, second_bug)] = logged
    assert first.endswith("failed before its answer was begun") and first_bug == "a first bug"
    assert second.endswith("could not be closed") and second_bug == "a second bug"


async def test_a_turn_that_has_failed_is_not_begun_again_if_its_request_is_cancelled_meanwhile(
    database: Database, tools: SlowTools, recorded: Recorded
) -> None:
    log = FailingLog(database)
    await log.ensure_conversation(OWNER)
    service = with_scopes(log, tools, BrokenOnce(), limit := limited(database, 1))
    starting = await begun_until(log.has_failed, service)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    log.may_report.set()
    await asyncio.wait_for(service.close(), 5)
    assert await ended(log) == (TurnStatus.FAILED, "internal")
    assert not tools.calls
    assert await limit.take(CALLER)
    turns = [each for each in recorded.spans if each.name == "invoke_agent orc"]
    assert [(each.attributes or {})["error.type"] for each in turns] == ["RuntimeError"]


async def test_a_request_that_is_cancelled_while_sqlite_writes_prepares_its_turn_once(
    log: Log, tools: SlowTools, recorded: Recorded
) -> None:
    class CountedMemory(WatchedMemory):
        times = 0

        async def read(self, *words: Any, **options: Any) -> Any:
            self.times += 1
            return await super().read(*words, **options)

    writes, may_write, memory = threading.Event(), threading.Event(), CountedMemory()

    def clock() -> Any:
        writes.set()
        may_write.wait(5)
        return utc_now()

    service = TurnService(replace(turn_service(log, tools)._parts, memory=memory))
    log._clock = clock
    starting = asyncio.create_task(service.start(asking("a.pdf"), CALLER))
    assert await asyncio.to_thread(writes.wait, 5)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    may_write.set()
    await asyncio.wait_for(service.close(), 5)
    assert await ended(log) == (TurnStatus.COMMITTED, None)
    assert memory.times == 1
    assert len([each for each in recorded.spans if each.name == "invoke_agent orc"]) == 1
