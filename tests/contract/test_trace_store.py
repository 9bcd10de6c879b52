"""The contract of the trace store, run over every adapter."""

from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from devkit.sample_traces import NOON, ORGANIZATION, detailed, trace
from devkit.store_pairs import opened_items
from orc.traces.models import TraceFilter, TraceStore
from orc_core.errors import InvalidInput
from orc_core.models import Usage
from orc_core.names import Owner

pytestmark = pytest.mark.contract("trace store")

DAY = timedelta(days=1)
EVERY = TraceFilter()


@pytest.fixture
async def store(adapter: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TraceStore]:
    async with opened_items(adapter, request, tmp_path, "traces") as open_items:
        yield TraceStore(await open_items())


async def attempts(store: TraceStore, **wanted: Any) -> list[str]:
    traces, _ = await store.page(ORGANIZATION, TraceFilter(**wanted), limit=100)
    return [each.attempt for each in traces]


async def test_a_trace_reads_back_whole_however_often_it_was_saved(store: TraceStore) -> None:
    kept = detailed(1)
    await store.save(kept)
    await store.save(kept)
    assert await store.page(ORGANIZATION, EVERY, limit=10) == ([kept], None)
    [day] = await store.daily(ORGANIZATION, NOON.date(), NOON.date())
    assert day.turns == 1


async def test_a_callers_trace_may_span_turns_and_turns_several_attempts(store: TraceStore) -> None:
    theirs = [
        trace(1, NOON + DAY, trace_id="f" * 32),
        trace(2, NOON, trace_id="f" * 32),
        trace(3, NOON + DAY / 24, trace_id="f" * 32, turn_id="turn-2"),
    ]
    for each in [*theirs, trace(4)]:
        await store.save(each)
    wanted = TraceFilter(trace_id="f" * 32)
    assert await store.page(ORGANIZATION, wanted, limit=3) == ([theirs[0], theirs[2], theirs[1]], None)
    latest, cursor = await store.page(ORGANIZATION, wanted, limit=2)
    assert latest == [theirs[0], theirs[2]]
    assert await store.page(ORGANIZATION, wanted, limit=2, cursor=cursor) == ([theirs[1]], None)
    one = TraceFilter(trace_id="f" * 32, attempt="attempt-00002")
    assert await store.page(ORGANIZATION, one, limit=2) == ([theirs[1]], None)
    assert await store.page(ORGANIZATION, TraceFilter(trace_id="e" * 32), limit=2) == ([], None)


async def test_an_organization_sees_its_own_traces_alone(store: TraceStore) -> None:
    other = trace(1, organization_id="umbra", trace_id="f" * 32)
    mine = trace(1, trace_id="f" * 32)
    await store.save(other)
    await store.save(mine)
    assert await store.page(ORGANIZATION, TraceFilter(trace_id="f" * 32), limit=10) == ([mine], None)
    assert await store.page(ORGANIZATION, EVERY, limit=10) == ([mine], None)
    assert await store.page("umbra", EVERY, limit=10) == ([other], None)
    [day] = await store.daily(ORGANIZATION, NOON.date(), NOON.date())
    assert day.turns == 1
    assert await store.daily("acm", NOON.date(), NOON.date()) == []


async def test_pages_hold_every_trace_once_latest_first(store: TraceStore) -> None:
    # Two at a time began at the same moment, over three days.
    kept = [trace(number, NOON - number // 2 * DAY / 2) for number in range(10)]
    for each in kept:
        await store.save(each)
    seen, cursor = await store.page(ORGANIZATION, EVERY, limit=3)
    await store.save(trace(99, NOON + DAY))
    while cursor is not None:
        more, cursor = await store.page(ORGANIZATION, EVERY, limit=3, cursor=cursor)
        seen += more
    assert seen == sorted(kept, key=lambda each: (each.started_at, each.attempt), reverse=True)


async def test_a_foreign_cursor_is_refused(store: TraceStore) -> None:
    with pytest.raises(InvalidInput):
        await store.page(ORGANIZATION, EVERY, limit=2, cursor="nonsense")


async def test_turns_are_found_by_what_they_are(store: TraceStore) -> None:
    others: dict[str, Any] = {
        "user_id": "bob",
        "conversation_id": "c-2",
        "status": "failed",
        "intent": "research",
        "model": "gpt-4o",
    }
    for number, (name, value) in enumerate(others.items()):
        await store.save(trace(number, **{name: value}))
    for number, (name, value) in enumerate(others.items()):
        assert await attempts(store, **{name: value}) == [f"attempt-{number:05}"], name
    assert await attempts(store, user_id="ada", status="failed") == ["attempt-00002"]
    assert await attempts(store, user_id="bob", status="failed") == []


async def test_turns_are_found_by_when_they_began(store: TraceStore) -> None:
    for number in range(4):
        await store.save(trace(number, NOON + number * DAY))
    assert await attempts(store, since=NOON + DAY, until=NOON + 3 * DAY) == ["attempt-00002", "attempt-00001"]
    page, cursor = await store.page(ORGANIZATION, TraceFilter(until=NOON + 3 * DAY), limit=2)
    assert [each.attempt for each in page] == ["attempt-00002", "attempt-00001"]
    rest, _ = await store.page(ORGANIZATION, TraceFilter(until=NOON + 3 * DAY), limit=2, cursor=cursor)
    assert [each.attempt for each in rest] == ["attempt-00000"]


async def test_days_add_up(store: TraceStore) -> None:
    for number in range(20):
        spent = Usage(input_tokens=100 + number, output_tokens=number)
        known: dict[str, Any] = {"usage": spent, "duration_ms": 10.0 * (number + 1), "cost_usd": 0.25}
        if number == 7:
            known |= {"status": "failed", "cost_usd": None}
        await store.save(trace(number, NOON.replace(hour=number), **known))
    await store.save(trace(30, NOON - 2 * DAY, duration_ms=7.0))
    await store.save(trace(31, NOON + 2 * DAY))
    earlier, day = await store.daily(ORGANIZATION, NOON.date() - 3 * DAY, NOON.date() + DAY)
    assert (earlier.day, earlier.turns, earlier.p50_ms, earlier.p95_ms) == (date(2025, 3, 8), 1, 7.0, 7.0)
    assert (day.day, day.turns, day.failed, day.unpriced) == (NOON.date(), 20, 1, 1)
    assert (day.input_tokens, day.output_tokens) == (2190, 190)
    assert (day.p50_ms, day.p95_ms) == (100.0, 190.0)
    assert day.cost_usd == pytest.approx(19 * 0.25)


async def test_the_traces_of_a_conversation_are_deleted_on_all_its_days(store: TraceStore) -> None:
    theirs: list[dict[str, Any]] = [
        {"user_id": "bob"},
        {"conversation_id": "c-2"},
        {"organization_id": "globex"},
    ]
    for number, day in enumerate((NOON, NOON + DAY, NOON + 40 * DAY)):
        await store.save(trace(number, day))
    for number, other in enumerate(theirs, 10):
        await store.save(trace(number, NOON, **other))
    owner = Owner(ORGANIZATION, "ada", "c-1")
    await store.delete(owner)
    await store.delete(owner)
    assert await attempts(store) == ["attempt-00011", "attempt-00010"]
    assert len((await store.page("globex", EVERY, limit=9))[0]) == 1
