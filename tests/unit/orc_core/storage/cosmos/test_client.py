"""Cosmos DB on the wire: what is absent, what is down, what is too large, and how new a read has to be."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from devkit.azure.cosmos import FaultyTransport, database
from devkit.azure.targets import Target
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.infra.items import Item, Items, Raced, create, upsert
from orc_core.infra.resilience import ATTEMPTS
from orc_core.storage.cosmos.client import Cosmos
from orc_core.storage.cosmos.items import CosmosItems, items_of

ADA = ("acme", "ada", "c-1")
BOB = ("acme", "bob", "c-1")
BRIEF = (408, 429, 500, 503)
REQUESTS_OF_A_CALL = 4 * ATTEMPTS
"""At most: the SDK itself repeats once after 429, and does so at two levels in a query."""

Call = Callable[[Items], Awaitable[object]]
CALLS: dict[str, Call] = {
    "read": lambda items: items.read(ADA, "a"),
    "query": lambda items: items.query(ADA),
    "write": lambda items: items.write(ADA, create(item("a"))),
}


def item(item_id: str, **fields: object) -> Item:
    return {"id": item_id, **fields}


@pytest.fixture
def wire() -> FaultyTransport:
    return FaultyTransport()


@pytest.fixture
async def cosmos(cosmos_target: Target, wire: FaultyTransport) -> AsyncIterator[Cosmos]:
    async with database(cosmos_target) as open_database:
        yield open_database(wire)


@pytest.fixture
def items(cosmos: Cosmos) -> Items:
    return items_of(cosmos, "conversations")


@pytest.mark.parametrize("name", CALLS)
async def test_a_missing_container_is_an_error_and_never_an_absent_item(cosmos: Cosmos, name: str) -> None:
    names = ("organization_id", "user_id", "conversation_id")
    nowhere = CosmosItems(cosmos.container("nowhere"), cosmos.breaker, names)
    with pytest.raises(DependencyDown) as caught:
        await CALLS[name](nowhere)
    assert (caught.value.dependency, caught.value.retryable) == ("store", False)


@pytest.mark.parametrize("name", ["read", "query"])
@pytest.mark.parametrize("status", BRIEF)
async def test_a_read_that_fails_is_repeated_and_never_empty(
    items: Items, wire: FaultyTransport, name: str, status: int
) -> None:
    await items.write(ADA, create(item("a")))
    found = await CALLS[name](items)
    assert found
    wire.fail_reads(status, status)
    assert await CALLS[name](items) == found
    wire.fail_reads(*[status] * REQUESTS_OF_A_CALL)
    with pytest.raises(DependencyDown) as caught:
        await CALLS[name](items)
    assert (caught.value.dependency, caught.value.retryable) == ("store", True)
    # Also while the circuit is open, which those failures have opened.
    with pytest.raises(DependencyDown) as again:
        await CALLS[name](items)
    expected = "dependency_busy" if status == 429 else "dependency_down"
    assert (caught.value.code, again.value.code) == (expected, expected)


async def test_a_replica_that_is_behind_is_asked_again_and_has_nothing_to_say_of_an_item(
    items: Items, wire: FaultyTransport
) -> None:
    await items.write(ADA, create(item("a")))
    wire.fail_reads(404, sub_status=1002)
    assert await items.read(ADA, "a") is not None
    wire.fail_reads(*[404] * REQUESTS_OF_A_CALL, sub_status=1002)
    with pytest.raises(DependencyDown) as caught:
        await items.read(ADA, "a")
    assert caught.value.retryable


async def test_a_read_has_to_be_as_new_as_the_last_write(items: Items, wire: FaultyTransport) -> None:
    """The emulator counts writes, and its client shows with every read how many it knows of."""
    await items.write(ADA, create(item("a")))
    with pytest.raises(Raced):
        await items.write(ADA, create(item("a")))
    wire.requests.clear()
    await items.read(ADA, "a")
    await items.write(ADA, create(item("b")))
    await items.query(ADA)
    await items.read(BOB, "a")
    reads = [request for request in wire.requests if not request.is_write]
    known = [request.headers.get("x-ms-session-token", "").rpartition("#")[2] for request in reads]
    assert known == sorted(known)
    assert int(known[0]) < int(known[1])


async def test_a_write_whose_confirmation_was_lost_reads_as_raced(
    items: Items, wire: FaultyTransport
) -> None:
    wire.fail_after_write(503)
    with pytest.raises(Raced):
        await items.write(ADA, create(item("a", n=1)))
    assert (await items.read(ADA, "a") or {})["n"] == 1
    wire.fail_after_write(408)
    await items.write(ADA, upsert(item("a", n=2)))
    assert (await items.read(ADA, "a") or {})["n"] == 2


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_what_is_too_large_is_refused_and_is_no_outage(items: Items) -> None:
    for _ in range(10):
        with pytest.raises(DependencyMisconfigured) as caught:
            await items.write(ADA, create(item("a", text="x" * 2_100_000)))
    assert "413" in caught.value.message
    assert await items.read(ADA, "a") is None
