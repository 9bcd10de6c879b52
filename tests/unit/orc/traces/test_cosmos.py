"""Risks of the Cosmos DB adapter only: the partition of a request, lost confirmations, expiry."""

import json
from collections.abc import AsyncIterator

import pytest

from devkit.azure.cosmos import FaultyTransport, database
from devkit.azure.targets import Target
from devkit.sample_traces import NOON, ORGANIZATION, detailed, trace
from orc.traces.cosmos import CosmosTraceStore
from orc.traces.models import TraceFilter
from orc_core.storage.cosmos.client import Container


@pytest.fixture
def wire() -> FaultyTransport:
    return FaultyTransport()


@pytest.fixture
async def container(cosmos_target: Target, wire: FaultyTransport) -> AsyncIterator[Container]:
    async with database(cosmos_target) as open_database:
        yield open_database(wire).container("traces")


async def test_a_trace_is_stored_once_if_the_confirmation_is_lost(
    container: Container, wire: FaultyTransport
) -> None:
    store = CosmosTraceStore(container)
    wire.fail_after_write(408, 503)
    await store.save(trace(1))
    assert await store.page(ORGANIZATION, TraceFilter(), limit=10) == ([trace(1)], None)


async def test_the_traces_of_a_day_are_in_one_partition(container: Container, wire: FaultyTransport) -> None:
    store = CosmosTraceStore(container)
    await store.save(trace(1))
    wire.requests.clear()
    await store.daily(ORGANIZATION, NOON.date(), NOON.date())
    [asked] = wire.requests
    assert asked.partition is not None
    assert json.loads(asked.partition) == [ORGANIZATION, "2025-03-10"]


async def test_a_trace_is_small_and_expires(container: Container, wire: FaultyTransport) -> None:
    await CosmosTraceStore(container, retention_seconds=3600).save(detailed(1))
    [item] = await container.query("SELECT * FROM c", {}, [ORGANIZATION, "2025-03-10"])
    assert item["ttl"] == 3600
    assert len(json.dumps(item)) < 8000
