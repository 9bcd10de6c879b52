"""Clients of Cosmos DB, which read their own writes and fail soon: the circuit breaker retries."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.cosmos.aio import ContainerProxy, CosmosClient

from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.azure import error_translator
from orc_core.infra.items import STORE
from orc_core.infra.resilience import CircuitBreaker

SESSION_IS_BEHIND = 1002
"""Sub-status of a 404: the replica that was asked has not seen what this client has seen."""

SESSION_TOKEN = "x-ms-session-token"
MOST_TOKENS = 10_000
ENTER_SECONDS = 5.0
"""For the first connection; the SDK's own retries, which no option ends, would take half a minute."""

_translate_others = error_translator(STORE, "Cosmos DB")
_TOKEN = re.compile(r"([^:]+):(-?\d+)#(\d+)")
"""The range of partitions, the version of its replicas and the number of its last write; regions follow."""
CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0


class CosmosBreaker(CircuitBreaker):
    """Enters its client before the first use.

    A client that was never entered works as well, but keeps no session: its reads may miss its own writes.
    """

    def __init__(self, client: CosmosClient) -> None:
        super().__init__(STORE, translate)
        self._client = client
        self._entering: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        async with super().attempt():
            # One try for all who wait, another after a failure.
            entering = self._entering
            if entering is None or (entering.done() and (entering.cancelled() or entering.exception())):
                self._entering = entering = asyncio.create_task(self._enter())
            await asyncio.shield(entering)
            yield

    async def close(self) -> None:
        """Close the client; callers that still wait for its first connection are cancelled."""
        if self._entering is not None:
            self._entering.cancel()
            await asyncio.wait([self._entering])
        await self._client.close()

    async def _enter(self) -> None:
        async with asyncio.timeout(ENTER_SECONDS):
            await self._client.__aenter__()


class BatchTokens:
    """How new a read of a partition has to be to see the last batch there.

    The SDK forgets the token that answers a batch, and every write is one. A token that is given to the SDK
    replaces its own.
    """

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, ...], str] = {}

    def note(self, partition: Sequence[str], headers: Mapping[str, str]) -> None:
        """Keep the token of a batch's answer, for the next read."""
        if token := headers.get(SESSION_TOKEN):
            key = tuple(partition)
            mine, others = _TOKEN.match(token), _TOKEN.match(self._tokens.get(key, ""))
            # They do not compare after a split of the partition's range: then the new one is kept.
            is_older = mine and others and mine[1] == others[1] and _age(mine) < _age(others)
            self._tokens[key] = self._tokens[key] if is_older else token
        if len(self._tokens) > MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]

    @contextmanager
    def reading(self, partition: Sequence[str]) -> Iterator[str | None]:
        """The token for a read, if one is needed. After the read, the SDK itself knows a newer one."""
        token = self._tokens.get(tuple(partition))
        yield token
        if token is not None and self._tokens.get(tuple(partition)) == token:
            del self._tokens[tuple(partition)]


def _age(token: re.Match[str]) -> tuple[int, int]:
    return int(token[2]), int(token[3])


def translate(exc: Exception) -> OrcError | None:
    """The error of orc_core/errors.py for a failure of Cosmos DB."""
    if getattr(exc, "sub_status", None) == SESSION_IS_BEHIND:
        return DependencyDown("Cosmos DB is catching up. Try again shortly.", dependency=STORE)
    return _translate_others(exc)


class Cosmos:
    """One database over one client; `close` closes both."""

    def __init__(self, client: CosmosClient, database: str, breaker: CosmosBreaker) -> None:
        self.breaker = breaker
        self._database = client.get_database_client(database)

    def container(self, name: str) -> ContainerProxy:
        """A container of the database; asks for nothing."""
        return self._database.get_container_client(name)

    async def close(self) -> None:
        """Close the client's connections."""
        await self.breaker.close()


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
