"""Cosmos DB as the adapters use it: items by id and partition, conditional writes, batches, queries.

The SDK's types, retries and exceptions stop here. Every call is guarded: brief failures are repeated, so
a writer must be able to distinguish its own earlier write from that of another.
"""

import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from azure.core import MatchConditions
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.cosmos.aio import ContainerProxy, CosmosClient
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError,
    CosmosBatchOperationError,
    CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)

from orc_core.infra.items import Change, Item, Raced, create, delete, replace, unraced, upsert
from orc_core.infra.resilience import CircuitBreaker, guarded
from orc_core.storage.cosmos.consistency import STORE, BatchTokens, CosmosBreaker, translate

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
ETAG = "_etag"
PRECONDITION_FAILED, CONFLICT, ABSENT = 412, 409, 404

__all__ = ["Change", "Item", "Raced", "create", "delete", "replace", "unraced", "upsert"]
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
Operation = Change
PartitionKey = Sequence[str]


class Container:
    """One container. Items are JSON objects with an `id` and the fields of the partition key."""

    def __init__(self, proxy: ContainerProxy, breaker: CircuitBreaker) -> None:
        self._proxy = proxy
        self._breaker = breaker
        self._tokens = BatchTokens()
        self._noting: dict[str, Any] = {"response_hook": self._tokens.note_written}

    @guarded
    async def read(self, item_id: str, partition: PartitionKey) -> Item | None:
        """The item, its ETag under `_etag`; None only if the service says that there is none."""
        with suppress(Raced), _absence_as_race(), self._tokens.reading(partition) as token:
            return dict(await self._proxy.read_item(item_id, list(partition), session_token=token))
        return None

    @guarded
    async def query(
        self, text: str, parameters: Mapping[str, object], partition: PartitionKey | None = None
    ) -> list[Item]:
        """All results.

        A partition that is a prefix of the key, or None, asks several partitions: repeat what is known
        of the key in WHERE.
        """
        named: list[Item] = [{"name": f"@{name}", "value": value} for name, value in parameters.items()]
        where: dict[str, Any] = {} if partition is None else {"partition_key": list(partition)}
        with self._tokens.reading(partition or ()) as token:
            found = self._proxy.query_items(text, parameters=named, session_token=token, **where)
            return [dict(item) async for item in found]

    @guarded
    async def upsert(self, item: Item) -> None:
        """Write an item over any version of it."""
        await self._proxy.upsert_item(item, no_response=True, **self._noting)

    @guarded
    async def create(self, item: Item) -> None:
        """Write an item that must not be there yet; Raced if it is, perhaps by this very call."""
        try:
            await self._proxy.create_item(item, no_response=True, **self._noting)
        except CosmosResourceExistsError as exc:
            raise Raced from exc

    @guarded
    async def replace(self, item: Item, etag: str) -> None:
        """Write an item over the version with this ETag; Raced if it has another or has gone."""
        condition: dict[str, Any] = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
        with _absence_as_race():
            try:
                await self._proxy.replace_item(
                    item["id"], item, no_response=True, **condition, **self._noting
                )
            except CosmosAccessConditionFailedError as exc:
                raise Raced from exc

    @guarded
    async def delete(self, item_id: str, partition: PartitionKey) -> bool:
        """Remove an item; returns whether there was one."""
        with suppress(Raced), _absence_as_race():
            await self._proxy.delete_item(item_id, list(partition), **self._noting)
            return True
        return False

    @guarded
    async def batch(self, operations: Sequence[Operation], partition: PartitionKey) -> None:
        """All of these writes or none; at most 100, 2 MB. Raced if a condition does not hold."""
        try:
            done = await self._proxy.execute_item_batch([_wire(each) for each in operations], list(partition))
            self._tokens.note(partition, done.get_response_headers())
        except CosmosBatchOperationError as exc:
            self._tokens.note(partition, exc.headers or {})
            if exc.status_code in {PRECONDITION_FAILED, CONFLICT, ABSENT}:
                raise Raced from exc
            raise


class Cosmos:
    """One database over one client; `close` closes both."""

    def __init__(self, client: CosmosClient, database: str, breaker: CosmosBreaker) -> None:
        self._database = client.get_database_client(database)
        self._breaker = breaker

    def container(self, name: str) -> Container:
        """A container of the database; asks for nothing."""
        return Container(self._database.get_container_client(name), self._breaker)

    async def close(self) -> None:
        """Close the client's connections."""
        await self._breaker.close()


def repeated_if_raced(
    work: Callable[Parameters, Awaitable[Result]],
) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
    """Returns the function with every call of it repeated as by `unraced`."""

    @functools.wraps(work)
    async def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return await unraced(lambda: work(*args, **kwargs))

    return call


def open_cosmos(
    endpoint: str,
    credential: str | AsyncTokenCredential,
    database: str,
    *,
    transport: AsyncHttpTransport[Any, Any] | None = None,
) -> Cosmos:
    """One database, with a key or an identity. Connects to nothing yet."""
    client = open_client(endpoint, credential, transport=transport)
    return Cosmos(client, database, CosmosBreaker(client))


def store_breaker() -> CircuitBreaker:
    """The breaker for calls to Cosmos DB that need no session."""
    return CircuitBreaker(STORE, translate)


def open_client(
    endpoint: str,
    credential: str | AsyncTokenCredential,
    *,
    transport: AsyncHttpTransport[Any, Any] | None = None,
) -> CosmosClient:
    """The SDK's client, set up to fail soon: the circuit breaker retries."""
    return CosmosClient(
        endpoint,
        credential,
        transport=transport,
        # An emulator that answers over plain http announces addresses at which it cannot be reached.
        enable_endpoint_discovery=not endpoint.startswith("http://"),
        connection_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        # The breaker retries within its own limits; the client would wait up to 30 seconds.
        retry_total=0,
        retry_throttle_total=1,
        retry_backoff_max=1,
    )


@contextmanager
def _absence_as_race() -> Iterator[None]:
    """Raises Raced for an absent item; not for an absent container, or if the replica is behind."""
    try:
        yield
    except CosmosResourceNotFoundError as exc:
        # The SDK asks about the container first, at another address.
        request = getattr(exc.response, "request", None)
        if request is None or "/docs/" not in request.url or exc.sub_status:
            raise
        raise Raced from exc


def _wire(operation: Operation) -> tuple[str, tuple[Any, ...], dict[str, str]]:
    # A new dict for each attempt: the SDK takes the condition out of it.
    condition = {"if_match_etag": operation.version} if operation.version else {}
    by_id = () if operation.kind in {"create", "upsert"} else (operation.id,)
    content = () if operation.item is None else (operation.item,)
    return operation.kind, (*by_id, *content), condition
