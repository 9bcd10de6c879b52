"""The contract of the store of rate limits, run over every adapter."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.azure.cosmos import FaultyTransport, database
from devkit.azure.targets import Target
from devkit.clock import Clock
from devkit.store_pairs import opened_items
from orc.limits.models import LimitStore, Window
from orc_core.storage.cosmos.items import items_of

pytestmark = pytest.mark.contract("limit store")

ADA = ("acme", "ada", "messages")
HOUR = Window(20, 3600)


@pytest.fixture
async def stores(
    adapter: str, clock: Clock, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[list[LimitStore]]:
    """The stores of two processes over the same data."""
    async with opened_items(adapter, request, tmp_path, "limits") as open_items:
        yield [LimitStore(await open_items(), clock) for _ in range(2)]


@pytest.mark.slow
async def test_simultaneous_requests_at_two_processes_get_exactly_the_limit(
    stores: list[LimitStore], adapter: str
) -> None:
    many = 200 if adapter == "sqlite" else 60  # the emulator answers one at a time
    asked = [stores[number % 2].take(*ADA, 1, HOUR) for number in range(many)]
    taken = await asyncio.gather(*asked)
    assert sum(each.is_allowed for each in taken) == 20
    assert sorted(each.remaining for each in taken if each.is_allowed) == list(range(20))
    assert all(each.retry_after > 3500 for each in taken if not each.is_allowed)


async def test_users_and_names_are_counted_separately(stores: list[LimitStore]) -> None:
    one = Window(1, 3600)
    for key in (ADA, ("acme", "bob", "messages"), ("umbra", "ada", "messages"), ("acme", "ada", "uploads")):
        assert (await stores[0].take(*key, 1, one)).is_allowed
        assert not (await stores[1].take(*key, 1, one)).is_allowed


async def test_a_wait_as_long_as_was_said_is_enough(stores: list[LimitStore], clock: Clock) -> None:
    two = Window(2, 3600)
    for _ in range(2):
        assert (await stores[0].take(*ADA, 1, two)).is_allowed
        clock.now += 300
    refused = await stores[1].take(*ADA, 1, two)
    clock.now += refused.retry_after - 1
    assert not (await stores[1].take(*ADA, 1, two)).is_allowed
    clock.now += 1
    assert (await stores[1].take(*ADA, 1, two)).is_allowed
    assert not (await stores[0].take(*ADA, 1, two)).is_allowed


async def test_what_is_given_back_can_be_taken_again(stores: list[LimitStore]) -> None:
    one = Window(1, 3600)
    await stores[1].give_back(*ADA, 5, one)
    assert (await stores[0].take(*ADA, 1, one)).is_allowed
    await stores[1].give_back(*ADA, 1, one)
    assert (await stores[0].take(*ADA, 1, one)).is_allowed
    assert not (await stores[0].take(*ADA, 1, one)).is_allowed


async def test_a_write_whose_confirmation_is_lost_counts_once(cosmos_target: Target, clock: Clock) -> None:
    wire = FaultyTransport()
    async with database(cosmos_target) as open_database:
        store = LimitStore(items_of(open_database(wire), "limits"), clock)
        for left in (19, 18):
            wire.fail_after_write(408)
            assert (await store.take(*ADA, 1, HOUR)).remaining == left
        assert (await store.take(*ADA, 1, HOUR)).remaining == 17
