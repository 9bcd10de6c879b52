"""Cosmos DB as the adapters use it: items by id and partition, conditional writes, batches, queries.

The SDK's types, retries and exceptions stop here. Every call is guarded: brief failures are repeated, so
a writer must be able to distinguish its own earlier write from that of another.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

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
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_delay,
    wait_random_exponential,
)

from core.errors import DependencyDown
from core.infra.resilience import CircuitBreaker
from core.storage.cosmos.consistency import STORE, BatchTokens, CosmosBreaker, translate

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
ETAG = "_etag"
PRECONDITION_FAILED, CONFLICT, ABSENT = 412, 409, 404
RACING_SECONDS = 10.0
LONGEST_WAIT_SECONDS = 0.2

Result = TypeVar("Result")
Item = dict[str, Any]
PartitionKey = Sequence[str]


class Raced(Exception):
    """A conditional write met another version, an item that should not be there, or none at all.

    Never leaves an adapter: it reads and decides again.
    """


class Operation(NamedTuple):
    """One write of a batch, by `id`; only over the version `etag`, where one is given."""

    kind: str
    id: str
    item: Item | None = None
    etag: str | None = None


def create(item: Item) -> Operation:
    """Write an item that must not be there yet."""
    return Operation("create", item["id"], item)


def replace(item: Item, etag: str) -> Operation:
    """Write an item over the version with this ETag."""
    return Operation("replace", item["id"], item, etag)


def upsert(item: Item) -> Operation:
    """Write an item whatever is there."""
    return Operation("upsert", item["id"], item)


def delete(item_id: str, etag: str | None = None) -> Operation:
    """Remove an item that must be there."""
    return Operation("delete", item_id, None, etag)


class Container:
    """One container. Items are JSON objects with an `id` and the fields of the partition key."""

    def __init__(self, proxy: ContainerProxy, breaker: CircuitBreaker) -> None:
        self._proxy = proxy
        self._breaker = breaker
        self._tokens = BatchTokens()
        self._noting: dict[str, Any] = {"response_hook": self._tokens.note_written}

    async def read(self, item_id: str, partition: PartitionKey) -> Item | None:
        """The item, its ETag under `_etag`; None only where the service says that there is none."""

        async def work() -> Item | None:
            try:
                with self._tokens.reading(partition) as token:
                    return dict(await self._proxy.read_item(item_id, list(partition), session_token=token))
            except CosmosResourceNotFoundError as exc:
                if not _says_that_the_item_is_absent(exc):
                    raise
                return None

        return await self._breaker.call(work)

    async def query(
        self,
        text: str,
        parameters: Mapping[str, object],
        partition: PartitionKey | None = None,
    ) -> list[Item]:
        """All results.

        A partition that is a prefix of the key, or None, asks several partitions: repeat what is known
        of the key in WHERE.
        """
        named: list[dict[str, object]] = [
            {"name": f"@{name}", "value": value} for name, value in parameters.items()
        ]

        async def work() -> list[Item]:
            where: dict[str, Any] = {} if partition is None else {"partition_key": list(partition)}
            with self._tokens.reading(partition or ()) as token:
                found = self._proxy.query_items(text, parameters=named, session_token=token, **where)
                return [dict(item) async for item in found]

        return await self._breaker.call(work)

    async def upsert(self, item: Item) -> None:
        """Write an item whatever is there."""
        await self._breaker.call(lambda: self._proxy.upsert_item(item, no_response=True, **self._noting))

    async def create(self, item: Item) -> None:
        """Write an item that must not be there yet; Raced where it is, perhaps by this very call."""

        async def work() -> None:
            try:
                await self._proxy.create_item(item, no_response=True, **self._noting)
            except CosmosResourceExistsError as exc:
                raise Raced from exc

        await self._breaker.call(work)

    async def replace(self, item: Item, etag: str) -> None:
        """Write an item over the version with this ETag; Raced where it has another or has gone."""

        async def work() -> None:
            try:
                await self._proxy.replace_item(
                    item["id"],
                    item,
                    etag=etag,
                    match_condition=MatchConditions.IfNotModified,
                    no_response=True,
                    **self._noting,
                )
            except CosmosAccessConditionFailedError as exc:
                raise Raced from exc
            except CosmosResourceNotFoundError as exc:
                if not _says_that_the_item_is_absent(exc):
                    raise
                raise Raced from exc

        await self._breaker.call(work)

    async def delete(self, item_id: str, partition: PartitionKey) -> bool:
        """Remove an item; whether there was one."""

        async def work() -> bool:
            try:
                await self._proxy.delete_item(item_id, list(partition), **self._noting)
            except CosmosResourceNotFoundError as exc:
                if not _says_that_the_item_is_absent(exc):
                    raise
                return False
            return True

        return await self._breaker.call(work)

    async def batch(self, operations: Sequence[Operation], partition: PartitionKey) -> None:
        """All of these writes or none; at most 100, 2 MB. Raced where a condition does not hold."""

        async def work() -> None:
            try:
                done = await self._proxy.execute_item_batch(
                    [_wire(each) for each in operations], list(partition)
                )
                self._tokens.note(partition, done.get_response_headers())
            except CosmosBatchOperationError as exc:
                self._tokens.note(partition, exc.headers or {})
                if exc.status_code in {PRECONDITION_FAILED, CONFLICT, ABSENT}:
                    raise Raced from exc
                raise

        await self._breaker.call(work)


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


async def unraced(work: Callable[[], Awaitable[Result]], *, racing_seconds: float = RACING_SECONDS) -> Result:
    """The result of `work`, which reads, decides and writes, repeated until no other write came in between.

    Raises DependencyDown (code `too_many_writers`) if another write always did.
    """

    # Tenacity awaits only what is declared async, which a lambda is not.
    async def attempt() -> Result:
        return await work()

    retrying = AsyncRetrying(
        retry=retry_if_exception_type(Raced),
        stop=stop_after_delay(racing_seconds),
        wait=wait_random_exponential(multiplier=0.01, max=LONGEST_WAIT_SECONDS),
        retry_error_callback=_give_up,
    )
    return await retrying(attempt)


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


def _says_that_the_item_is_absent(exc: CosmosResourceNotFoundError) -> bool:
    """Not so where the container is absent, which the SDK asks about first, or the replica is behind."""
    request = getattr(exc.response, "request", None)
    return request is not None and "/docs/" in request.url and not exc.sub_status


def _give_up(_: RetryCallState) -> None:
    message = "Too many changes of the same thing at once. Try again shortly."
    raise DependencyDown(message, dependency=STORE, code="too_many_writers")


def _wire(operation: Operation) -> tuple[str, tuple[Any, ...], dict[str, str]]:
    # A new dict for each attempt: the SDK takes the condition out of it.
    condition = {"if_match_etag": operation.etag} if operation.etag else {}
    match operation.kind:
        case "create" | "upsert":
            return operation.kind, (operation.item,), condition
        case "replace":
            return "replace", (operation.id, operation.item), condition
        case _:
            return "delete", (operation.id,), condition
