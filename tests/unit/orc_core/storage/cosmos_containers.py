"""Containers of Cosmos DB for the tests of the document side, and what may happen on the way to them."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from azure.core.exceptions import ServiceResponseError
from azure.cosmos.aio import ContainerProxy

from devkit.azure.targets import Target
from orc_core.storage.cosmos.client import open_client, store_breaker
from orc_core.storage.cosmos.items import CosmosItems, create_containers, partition_of

WRITES = {"execute_item_batch"}
Hook = Callable[[], Awaitable[object]]


@asynccontextmanager
async def fresh_database(target: Target) -> AsyncIterator[str]:
    """The name of a new database with all containers, removed afterwards."""
    if target.key is None:
        pytest.skip("ORC_TEST_COSMOS_KEY is not set: an identity may not make the containers of a test")
    name = f"orc-test-{uuid.uuid4().hex}"
    await create_containers(target.url, target.key, name)
    yield name
    async with open_client(target.url, target.key) as client:
        await client.delete_database(name)


@asynccontextmanager
async def opened(target: Target, database: str, container: str) -> AsyncIterator["Way"]:
    """A container over a separate client, as each process has one."""
    assert target.key is not None
    async with open_client(target.url, target.key) as client:
        proxy = client.get_database_client(database).get_container_client(container)
        yield Way(proxy, partition_of(container))


class Killed(Exception):
    """The process ended here."""


async def kill() -> None:
    raise Killed


async def pass_by() -> None:
    """Nothing happens."""


class Way:
    """The SDK's container with what may happen on the way to it.

    Each of `before_writes` runs before one write arrives, in turn. The answers to the next `losses` writes
    are lost, which have taken effect; the write right after such a one is answered. `writes` took effect,
    `reads` went out, `partitions` are what the queries among them asked.
    """

    def __init__(self, proxy: ContainerProxy, partition: Sequence[str]) -> None:
        self._proxy = proxy
        self._partition = partition
        self.before_writes: list[Hook] = []
        self.losses = 0
        self._has_lost = False
        self.writes: list[str] = []
        self.reads: list[str] = []
        self.partitions: list[list[str] | None] = []

    @property
    def items(self) -> CosmosItems:
        """The container as stores take it."""
        return CosmosItems(cast("ContainerProxy", self), store_breaker(), self._partition)

    async def read_item(self, *args: Any, **options: Any) -> Any:
        self._read("read_item")
        return await self._proxy.read_item(*args, **options)

    def query_items(self, *args: Any, **options: Any) -> Any:
        self._read("query_items")
        self.partitions.append(options.get("partition_key"))
        return self._proxy.query_items(*args, **options)

    def __getattr__(self, name: str) -> Any:
        assert name in WRITES, name
        return lambda *args, **options: self._write(name, *args, **options)

    def _read(self, name: str) -> None:
        self.reads.append(name)

    async def _write(self, name: str, *args: Any, **options: Any) -> Any:
        if self.before_writes:
            await self.before_writes.pop(0)()
        repeats, self._has_lost = self._has_lost, False
        result = await getattr(self._proxy, name)(*args, **options)
        self.writes.append(name)
        if self.losses and not repeats:
            self.losses -= 1
            self._has_lost = True
            raise ServiceResponseError("the answer was lost")
        return result
