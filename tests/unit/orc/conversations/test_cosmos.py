"""Risks of the Cosmos DB adapter only: lost confirmations, failed reads, cost, leftovers."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devkit.azure.cosmos import FaultyTransport, Request, database
from devkit.azure.targets import Target
from orc.conversations.cosmos import CosmosTurnLog
from orc.conversations.models import NewTurn, Replayed, Started, Turn, TurnOutcome, TurnStatus
from orc.events import TurnMetadata, TurnResult
from orc_core.errors import DependencyDown, NotFound, OrcError, TurnInFlight
from orc_core.grounding.models import Citation, Rectangle
from orc_core.infra.resilience import ATTEMPTS
from orc_core.models import FileRef
from orc_core.names import Owner
from orc_core.storage.cosmos.client import Container

LEASE = 60.0
OWNER = Owner("acme", "ada", "c-1")
PARTITION = ["acme", "ada", "c-1"]
EVERYTHING = "SELECT * FROM c"
LOST = (408, 503)


@pytest.fixture
def wire() -> FaultyTransport:
    return FaultyTransport()


@pytest.fixture
async def container(cosmos_target: Target, wire: FaultyTransport) -> AsyncIterator[Container]:
    async with database(cosmos_target) as open_database:
        yield open_database(wire).container("conversations")


@pytest.fixture
def log(container: Container) -> CosmosTurnLog:
    return CosmosTurnLog(container)


def in_an_hour() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


def question(key: str) -> NewTurn:
    return NewTurn(key=key, request_hash="h", question="What is covered?")


async def start(log: CosmosTurnLog, key: str) -> Turn:
    begun = await log.begin(OWNER, question(key), lease_seconds=LEASE)
    assert isinstance(begun, Started)
    return begun.turn


async def ask(log: CosmosTurnLog, key: str, outcome: TurnOutcome | None = None) -> Turn:
    turn = await start(log, key)
    return await log.commit(OWNER, key, turn.attempt, outcome or TurnOutcome(answer="Teeth.", result={}))


async def items(container: Container) -> list[dict[str, Any]]:
    return await container.query(EVERYTHING, {}, PARTITION)


@pytest.mark.parametrize("status", LOST)
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_question_is_begun_once_if_the_confirmation_is_lost(
    log: CosmosTurnLog, wire: FaultyTransport, status: int, is_first: bool
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
    container: Container, log: CosmosTurnLog, wire: FaultyTransport, status: int
) -> None:
    old = await start(log, "k")
    later = CosmosTurnLog(container, clock=in_an_hour)
    wire.fail_after_write(status)
    new = await start(later, "k")
    assert new.attempt != old.attempt
    assert await later.turn(OWNER, "k") == new
    with pytest.raises(TurnInFlight):
        await later.commit(OWNER, "k", old.attempt, TurnOutcome(answer="late", result={}))
    await later.commit(OWNER, "k", new.attempt, TurnOutcome(answer="in time", result={}))


@pytest.mark.parametrize("status", LOST)
async def test_an_answer_is_committed_once_if_the_confirmation_is_lost(
    log: CosmosTurnLog, wire: FaultyTransport, status: int
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
    log: CosmosTurnLog, wire: FaultyTransport, status: int
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
    container: Container, log: CosmosTurnLog, wire: FaultyTransport
) -> None:
    wire.fail_after_write(503)
    assert await log.ensure_conversation(OWNER) == await log.head(OWNER)
    await ask(log, "k")
    wire.fail_after_write(503, 408)
    assert await log.delete(OWNER) is True
    assert await items(container) == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_an_unreadable_conversation_is_never_treated_as_new(
    log: CosmosTurnLog, wire: FaultyTransport, status: int
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


async def test_no_query_of_a_turn_leaves_its_partition(log: CosmosTurnLog, wire: FaultyTransport) -> None:
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
    log: CosmosTurnLog, wire: FaultyTransport
) -> None:
    await log.ensure_conversation(OWNER)
    wire.requests.clear()
    heads, _ = await log.conversations("acme", "ada", limit=10)
    assert [head.owner for head in heads] == [OWNER]
    (query,) = wire.requests
    assert query.partition is None
    assert "c.organization_id = @organization_id AND c.user_id = @user_id" in query.body


async def cost_of_a_turn(log: CosmosTurnLog, wire: FaultyTransport, key: str) -> list[tuple[str, bool]]:
    wire.requests.clear()
    await ask(log, key)
    return [(request.method, request.is_query) for request in wire.requests]


@pytest.mark.slow
async def test_the_requests_of_a_turn_do_not_depend_on_the_length_of_the_conversation(
    container: Container, log: CosmosTurnLog, wire: FaultyTransport
) -> None:
    costs = [await cost_of_a_turn(log, wire, f"k{n}") for n in range(60)]
    assert costs[2] == costs[59]
    # Begin: head, turn, batch, history. Commit: head, turn, batch.
    assert len(costs[59]) == 7
    sizes = {item["id"]: len(json.dumps(item)) for item in await items(container)}
    assert max(sizes.values()) < 2_500
    assert len(sizes) == 61


async def test_only_the_requested_part_of_a_long_history_is_read(
    log: CosmosTurnLog, wire: FaultyTransport
) -> None:
    for n in range(30):
        await ask(log, f"k{n}")
    wire.requests.clear()
    begun = await log.begin(OWNER, question("k"), lease_seconds=LEASE, history_limit=5)
    assert isinstance(begun, Started)
    assert [turn.turn_id for turn in begun.history] == [f"k{n}" for n in range(25, 30)]
    assert [request.is_query for request in wire.requests].count(True) == 1


def large_outcome() -> TurnOutcome:
    """An answer of 600 words with twenty citations, each of three lines on its page."""
    line = Rectangle(left=0.1176470588235294, top=0.3434343434343434, right=0.8823529411764706, bottom=0.36)
    citations = [
        Citation(
            document_id="6f0d6a4e-5d3c-4c39-9a52-0d0f4f2a7c11",
            blob_name=f"annual-report-of-the-company-2024-part-{n}.pdf",
            page=n + 1,
            page_id=f"6f0d6a4e-5d3c-4c39-9a52-0d0f4f2a7c11.p{n + 1}",
            quote="The insurer pays for the treatment of teeth up to the amount agreed. " * 4,
            start=1000,
            end=1280,
            check="quoted",
            rectangles=[line] * 3,
        )
        for n in range(20)
    ]
    refs = [FileRef(file_id=f"assistant-{n}", blob_name=f"{n}.pdf") for n in range(10)]
    result = TurnResult(
        conversation_id="c-1",
        turn_id="k",
        answer="The insurer pays for teeth. " * 120,
        citations=citations,
        uploaded_file_refs=refs,
        metadata=TurnMetadata(trace_id="t"),
    )
    return TurnOutcome(
        answer=result.answer,
        result=result.model_dump(mode="json"),
        uploaded_file_refs=refs,
        citations=citations,
    )


async def test_a_turn_with_twenty_citations_stores_them_once_and_stays_small(
    container: Container, log: CosmosTurnLog
) -> None:
    outcome = large_outcome()
    committed = await ask(log, "k", outcome)
    assert committed.result == outcome.result
    assert await log.turn(OWNER, "k") == committed
    text = json.dumps(await items(container))
    assert text.count("annual-report-of-the-company-2024-part-7.pdf") == 1
    assert len(text) < 30_000


async def test_leftovers_of_an_interrupted_deletion_are_invisible(
    container: Container, log: CosmosTurnLog
) -> None:
    old = await start(log, "k")
    await ask(log, "k2")
    await container.delete("head", PARTITION)

    async def nothing_is_visible() -> None:
        assert await log.head(OWNER) is None
        assert await log.turns(OWNER) == []
        assert await log.turn(OWNER, "k2") is None
        for call in (
            log.renew(OWNER, "k", old.attempt, lease_seconds=LEASE),
            log.commit(OWNER, "k", old.attempt, TurnOutcome(answer="late", result={})),
            log.fail(OWNER, "k", old.attempt, "x", "X."),
        ):
            with pytest.raises(NotFound):
                await call

    await nothing_is_visible()
    assert len(await items(container)) == 2
    assert await log.delete(OWNER) is False
    assert await items(container) == []
    await nothing_is_visible()


async def test_a_new_conversation_of_the_same_id_does_not_see_leftovers(
    container: Container, log: CosmosTurnLog
) -> None:
    old = await start(log, "k")
    await ask(log, "k2")
    await container.delete("head", PARTITION)
    begun = await log.begin(OWNER, question("k"), lease_seconds=LEASE)
    assert isinstance(begun, Started)
    assert (begun.turn.seq, begun.history) == (1, [])
    with pytest.raises(TurnInFlight):
        await log.commit(OWNER, "k", old.attempt, TurnOutcome(answer="late", result={}))
    await log.commit(OWNER, "k", begun.turn.attempt, TurnOutcome(answer="in time", result={}))
    assert isinstance(await log.begin(OWNER, question("k"), lease_seconds=LEASE), Replayed)
    await ask(log, "k2")
    third = await log.begin(OWNER, question("k3"), lease_seconds=LEASE)
    assert isinstance(third, Started)
    assert [turn.seq for turn in third.history] == [1, 2]
    assert [turn.turn_id for turn in await log.turns(OWNER)] == ["k", "k2", "k3"]
    assert await log.delete(OWNER) is True
    assert await items(container) == []


def asks_for_the_head(request: Request) -> bool:
    return request.method == "GET" and request.path.rstrip("/").endswith("/docs/head")


@pytest.mark.parametrize("moment", ["before the head goes", "before its turns go", "while its turns go"])
async def test_a_deletion_keeps_a_conversation_that_began_during_it(
    container: Container, log: CosmosTurnLog, wire: FaultyTransport, moment: str
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
        await container.create(leftover())
    assert await log.delete(OWNER) is True
    assert [turn.turn_id for turn in await log.turns(OWNER)] == ["new"]
    assert len(await items(container)) == 2


def leftover() -> dict[str, Any]:
    key = dict(zip(("organization_id", "user_id", "conversation_id"), PARTITION, strict=True))
    return {"id": "turn:ended:k", **key, "life": "ended", "seq": 1, "status": "pending"}


@pytest.mark.slow
async def test_long_conversations_are_deleted_completely_in_few_requests(
    container: Container, log: CosmosTurnLog, wire: FaultyTransport
) -> None:
    for n in range(230):
        await start(log, f"k{n}")
    wire.requests.clear()
    assert await log.delete(OWNER) is True
    assert await items(container) == []
    assert len(wire.requests) < 20


async def test_questions_during_deletions_are_stored_completely_or_refused(
    cosmos_target: Target,
) -> None:
    async with database(cosmos_target) as open_database:
        logs = [CosmosTurnLog(open_database().container("conversations")) for _ in range(3)]

        async def keep_asking(log: CosmosTurnLog, name: str) -> None:
            for n in range(15):
                try:
                    await ask(log, f"{name}{n}")
                except OrcError as exc:
                    assert isinstance(exc, NotFound), exc

        async def keep_deleting() -> None:
            for _ in range(8):
                await asyncio.sleep(0.02)
                await logs[2].delete(OWNER)

        await asyncio.gather(keep_asking(logs[0], "a"), keep_asking(logs[1], "b"), keep_deleting())
        await ask(logs[0], "last")
        turns = await logs[1].turns(OWNER)
        head = await logs[1].head(OWNER)
        assert head is not None
        assert [turn.seq for turn in turns] == list(range(1, head.turn_count + 1))
        await logs[0].delete(OWNER)
        assert await items(open_database().container("conversations")) == []


async def test_turns_expire_if_a_retention_is_set(container: Container) -> None:
    log = CosmosTurnLog(container, retention_seconds=4)
    await ask(log, "k")
    assert [item["ttl"] for item in await items(container)] == [4, 4]
    for _ in range(100):
        await asyncio.sleep(0.2)
        if await log.head(OWNER) is None and await log.turns(OWNER) == []:
            break
    assert await log.head(OWNER) is None
    assert await log.turns(OWNER) == []
    assert (await start(log, "k")).seq == 1


async def test_turns_are_kept_if_no_retention_is_set(container: Container, log: CosmosTurnLog) -> None:
    await ask(log, "k")
    assert all("ttl" not in item for item in await items(container))


async def test_fields_used_in_queries_are_outside_the_unindexed_item(
    container: Container, log: CosmosTurnLog
) -> None:
    await ask(log, "k")
    turn, head = sorted(await items(container), key=lambda item: "seq" not in item)
    own = {"organization_id", "user_id", "conversation_id", "id", "life", "item"}
    assert {name for name in head if not name.startswith("_")} == own | {"place", "home"}
    assert {name for name in turn if not name.startswith("_")} == own | {"seq", "status", "said_twice"}
