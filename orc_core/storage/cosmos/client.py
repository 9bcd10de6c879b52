"""Clients of Cosmos DB, which fail soon: the circuit breaker around them retries."""

from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.cosmos.aio import ContainerProxy, CosmosClient

from orc_core.infra.items import STORE
from orc_core.infra.resilience import CircuitBreaker
from orc_core.storage.cosmos.consistency import CosmosBreaker, translate

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0


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
