"""The turn log over Cosmos DB: lost confirmations, failed reads, cost."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devkit.azure.cosmos import FaultyTransport, Request, database
from devkit.azure.targets import Target
from orc.conversations.models import NewTurn, Started, Turn, TurnOutcome, TurnStatus
from orc.conversations.turn_log import TurnLog
from orc_core.errors import DependencyDown, TurnInFlight
from orc_core.infra.items import Items, create
from orc_core.infra.resilience import ATTEMPTS
from orc_core.names import Owner
from orc_core.storage.cosmos.items import items_of

LEASE = 60.0
OWNER = Owner("acme", "ada", "c-1")
PARTITION = ["acme", "ada", "c-1"]
LOST = (408, 503)


@pytest.fixture
def wire() -> FaultyTransport:
    return FaultyTransport()


@pytest.fixture
async def container(cosmos_target: Target, wire: FaultyTransport) -> AsyncIterator[Items]:
    async with database(cosmos_target) as open_database:
        yield items_of(open_database(wire), "conversations")


@pytest.fixture
def log(container: Items) -> TurnLog:
    return TurnLog(container)


def in_an_hour() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


def question(key: str) -> NewTurn:
    return NewTurn(key=key, request_hash="h", question="What is covered?")


async def start(log: TurnLog, key: str) -> Turn:
    begun = await log.begin(OWNER, question(key), lease_seconds=LEASE)
    assert isinstance(begun, Started)
    return begun.turn


async def ask(log: TurnLog, key: str, outcome: TurnOutcome | None = None) -> Turn:
    turn = await start(log, key)
    return await log.commit(OWNER, key, turn.attempt, outcome or TurnOutcome(answer="Teeth.", result={}))


async def items(container: Items) -> list[dict[str, Any]]:
    return await container.query(PARTITION)


@pytest.mark.parametrize("status", LOST)
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_question_is_begun_once_if_the_confirmation_is_lost(
    log: TurnLog, wire: FaultyTransport, status: int, is_first: bool
) -> None:
    if not is_first:
        await ask(log, "before")
    wire.fail_after_write(status)
    begun = await log.begin(OWNER, question("k"), lease_seconds=LEASE)
    assert isinstance(begun, Started)
    assert await log.turn(OWNER, "k") == begun.turn
    assert await log.head(OWNER) == begun.head
    assert begun.turn.seq == begun.head.turn_count == (1 if is_first else 2)
    assert [turn.turn_id for turn in begun.history] == ([] if is_first else ["before"])
    committed = await log.commit(OWNER, "k", begun.turn.attempt, TurnOutcome(answer="!", result={}))
    assert committed.status is TurnStatus.COMMITTED


@pytest.mark.parametrize("status", LOST)
async def test_a_takeover_succeeds_if_the_confirmation_is_lost(
    container: Items, log: TurnLog, wire: FaultyTransport, status: int
) -> None:
    old = await start(log, "k")
    later = TurnLog(container, clock=in_an_hour)
    wire.fail_after_write(status)
    new = await start(later, "k")
    assert new.attempt != old.attempt
    assert await later.turn(OWNER, "k") == new
    with pytest.raises(TurnInFlight):
        await later.commit(OWNER, "k", old.attempt, TurnOutcome(answer="late", result={}))
    await later.commit(OWNER, "k", new.attempt, TurnOutcome(answer="in time", result={}))


@pytest.mark.parametrize("status", LOST)
async def test_an_answer_is_committed_once_if_the_confirmation_is_lost(
    log: TurnLog, wire: FaultyTransport, status: int
) -> None:
    turn = await start(log, "k")
    wire.fail_after_write(status)
    committed = await log.commit(OWNER, "k", turn.attempt, TurnOutcome(answer="Teeth.", result={"n": 1}))
    assert await log.turn(OWNER, "k") == committed
    assert (committed.status, committed.result) == (TurnStatus.COMMITTED, {"n": 1})
    head = await log.head(OWNER)
    assert head is not None
    assert (head.turn_count, head.version) == (1, 3)


@pytest.mark.parametrize("status", LOST)
async def test_a_renewal_and_a_failure_succeed_if_the_confirmations_are_lost(
    log: TurnLog, wire: FaultyTransport, status: int
) -> None:
    turn = await start(log, "k")
    wire.fail_after_write(status)
    renewed = await log.renew(OWNER, "k", turn.attempt, lease_seconds=2 * LEASE)
    assert await log.turn(OWNER, "k") == renewed
    wire.fail_after_write(status)
    failed = await log.fail(OWNER, "k", turn.attempt, "model_down", "The model did not answer.")
    assert await log.turn(OWNER, "k") == failed
    assert failed.status is TurnStatus.FAILED


async def test_an_upload_and_a_deletion_succeed_if_the_confirmations_are_lost(
    container: Items, log: TurnLog, wire: FaultyTransport
) -> None:
    wire.fail_after_write(503)
    assert await log.ensure_conversation(OWNER) == await log.head(OWNER)
    await ask(log, "k")
    wire.fail_after_write(503, 408)
    assert await log.delete(OWNER) is True
    assert await items(container) == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_unreadable_conversation_is_never_treated_as_new(
    log: TurnLog, wire: FaultyTransport, status: int
) -> None:
    await ask(log, "k")
    before = await log.turns(OWNER), await log.head(OWNER)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: log.head(OWNER),
        lambda: log.turn(OWNER, "k"),
        lambda: log.turns(OWNER),
        lambda: log.conversations("acme", "ada", limit=10),
        lambda: log.ensure_conversation(OWNER),
        lambda: start(log, "k2"),
        lambda: log.delete(OWNER),
        log.ping,
    ]
    wire.requests.clear()
    wire.fail_reads(*[status] * 4 * ATTEMPTS * len(calls))
    for call in calls:
        with pytest.raises(DependencyDown) as caught:
            await call()
        assert caught.value.dependency == "store"
    assert not any(request.is_write for request in wire.requests)
    wire.clear_faults()
    await asyncio.sleep(1.1)
    assert (await log.turns(OWNER), await log.head(OWNER)) == before


async def test_no_query_of_a_turn_leaves_its_partition(log: TurnLog, wire: FaultyTransport) -> None:
    await ask(log, "k1")
    wire.requests.clear()
    turn = await start(log, "k2")
    await log.renew(OWNER, "k2", turn.attempt, lease_seconds=LEASE)
    await log.commit(OWNER, "k2", turn.attempt, TurnOutcome(answer="Teeth.", result={}))
    await log.fail(OWNER, "k2", turn.attempt, "late", "Late.")
    await log.turn(OWNER, "k2")
    await log.turns(OWNER)
    await log.head(OWNER)
    await log.delete(OWNER)
    assert len(wire.requests) > 10
    assert {request.partition for request in wire.requests} == {json.dumps(PARTITION, separators=(",", ":"))}


async def test_the_conversations_of_a_user_are_queried_by_partition_key_prefix(
    log: TurnLog, wire: FaultyTransport
) -> None:
    await log.ensure_conversation(OWNER)
    wire.requests.clear()
    heads, _ = await log.conversations("acme", "ada", limit=10)
    assert [head.owner for head in heads] == [OWNER]
    (query,) = wire.requests
    assert query.partition is None
    assert "c.organization_id = @value0 AND c.user_id = @value1" in query.body


async def cost_of_a_turn(log: TurnLog, wire: FaultyTransport, key: str) -> list[tuple[str, bool]]:
    wire.requests.clear()
    await ask(log, key)
    return [(request.method, request.is_query) for request in wire.requests]


@pytest.mark.slow
async def test_the_requests_of_a_turn_do_not_depend_on_the_length_of_the_conversation(
    container: Items, log: TurnLog, wire: FaultyTransport
) -> None:
    costs = [await cost_of_a_turn(log, wire, f"k{n}") for n in range(60)]
    assert costs[2] == costs[59]
    # Begin: head, turn, batch, history. Commit: head, turn, batch.
    assert len(costs[59]) == 7
    sizes = {item["id"]: len(json.dumps(item)) for item in await items(container)}
    assert max(sizes.values()) < 2_500
    assert len(sizes) == 61


async def test_only_the_requested_part_of_a_long_history_is_read(log: TurnLog, wire: FaultyTransport) -> None:
    for n in range(30):
        await ask(log, f"k{n}")
    wire.requests.clear()
    begun = await log.begin(OWNER, question("k"), lease_seconds=LEASE, history_limit=5)
    assert isinstance(begun, Started)
    assert [turn.turn_id for turn in begun.history] == [f"k{n}" for n in range(25, 30)]
    assert [request.is_query for request in wire.requests].count(True) == 1


def asks_for_the_head(request: Request) -> bool:
    return request.method == "GET" and request.path.rstrip("/").endswith("/docs/head")


@pytest.mark.parametrize("moment", ["before the head goes", "before its turns go", "while its turns go"])
async def test_a_deletion_keeps_a_conversation_that_began_during_it(
    container: Items, log: TurnLog, wire: FaultyTransport, moment: str
) -> None:
    await ask(log, "k")

    async def begin_again() -> None:
        await log.delete(OWNER)
        await ask(log, "new")

    async def wait_for_the_head() -> None:
        wire.interrupt(before=asks_for_the_head, by=begin_again)

    if moment == "before the head goes":
        wire.interrupt(before=asks_for_the_head, by=wait_for_the_head)
    else:
        wire.interrupt(before=lambda request: request.is_query, by=begin_again)
    if moment == "while its turns go":
        await container.write(PARTITION, create(leftover()))
    assert await log.delete(OWNER) is True
    assert [turn.turn_id for turn in await log.turns(OWNER)] == ["new"]
    assert len(await items(container)) == 2


def leftover() -> dict[str, Any]:
    return {"id": "turn:ended:k", "life": "ended", "seq": 1, "status": "pending"}


@pytest.mark.slow
async def test_long_conversations_are_deleted_completely_in_few_requests(
    container: Items, log: TurnLog, wire: FaultyTransport
) -> None:
    for n in range(230):
        await start(log, f"k{n}")
    wire.requests.clear()
    assert await log.delete(OWNER) is True
    assert await items(container) == []
    assert len(wire.requests) < 20


async def test_fields_used_in_queries_are_outside_the_unindexed_item(container: Items, log: TurnLog) -> None:
    await ask(log, "k")
    turn, head = sorted(await items(container), key=lambda item: "seq" not in item)
    own = {"organization_id", "user_id", "conversation_id", "id", "life", "item"}
    assert {name for name in head if not name.startswith("_")} == own | {"place", "home", "about"}
    of_turn = own | {"seq", "asked", "status", "said_twice"}
    assert {name for name in turn if not name.startswith("_")} == of_turn
