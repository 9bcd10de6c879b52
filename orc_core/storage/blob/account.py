"""A storage account as the adapters use it: one client for its blobs and one for its queues."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobSasPermissions, UserDelegationKey, generate_blob_sas
from azure.storage.blob.aio import BlobServiceClient, ContainerClient
from azure.storage.queue.aio import QueueClient, QueueServiceClient

from orc_core.infra.azure import error_translator
from orc_core.infra.resilience import CircuitBreaker

CONNECT_SECONDS = 5.0
READ_SECONDS = 15.0
"""The longest silence in the middle of an answer, or before it."""
BLOCK_BYTES = 4 * 1024 * 1024
"""Larger blobs go in blocks of this size, each a request that is done in time."""
EMULATOR_PORT = 10000
SKEW = timedelta(minutes=5)
"""How far the service's clock may be behind ours, so that a signature is valid at once."""
SIGNING_KEY_LIFE = timedelta(hours=6)


class Storage:
    """One account; `close` closes both clients. Calls go through the breakers `blobs` and `queues`.

    `key` is the account's, for signatures; without it the identity requests one from the service.
    """

    def __init__(self, blobs: BlobServiceClient, queues: QueueServiceClient, key: str | None = None) -> None:
        self._blob_service = blobs
        self._queue_service = queues
        self._key = key
        self._signing_key: UserDelegationKey | None = None
        self._signing_key_ends = datetime.min.replace(tzinfo=UTC)
        self.blobs = CircuitBreaker("blobs", error_translator("blobs", "Blob Storage"))
        self.queues = CircuitBreaker("queue", error_translator("queue", "Queue Storage"))

    def container(self, name: str) -> ContainerClient:
        """A client of the container; asks for nothing."""
        return self._blob_service.get_container_client(name)

    def queue(self, name: str) -> QueueClient:
        """A client of the queue; asks for nothing."""
        return self._queue_service.get_queue_client(name)

    async def upload_url(self, container: str, name: str, expires_at: datetime) -> str:
        """A presigned URL that permits writing this one blob until then, and nothing else."""
        client = self.container(container).get_blob_client(name)
        signature = generate_blob_sas(
            str(client.account_name),
            container,
            name,
            account_key=self._key,
            user_delegation_key=None if self._key else await self._delegated_key(expires_at),
            permission=BlobSasPermissions(create=True, write=True),
            start=datetime.now(UTC) - SKEW,
            expiry=expires_at,
            protocol="https,http" if client.scheme == "http" else "https",
        )
        return f"{client.url}?{signature}"

    async def create_missing(self, containers: Iterable[str] = (), queues: Iterable[str] = ()) -> None:
        """Create those of these containers and queues that are not there yet."""
        for name in containers:
            await self.blobs.call(partial(_create_container, self.container(name)))
        for name in queues:
            await self.queues.call(partial(_create_queue, self.queue(name)))

    async def ping(self, containers: Iterable[str] = (), queues: Iterable[str] = ()) -> None:
        """Raise DependencyDown unless each of these is there and may be used."""
        for container in containers:
            async with self.blobs.attempt():
                await self.container(container).get_container_properties()
        for queue in queues:
            async with self.queues.attempt():
                await self.queue(queue).get_queue_properties()

    async def _delegated_key(self, expires_at: datetime) -> UserDelegationKey:
        """A key to sign with that the service gave to our identity, kept for as long as it lasts."""
        if self._signing_key is None or self._signing_key_ends < expires_at:
            now = datetime.now(UTC)
            ends = max(now + SIGNING_KEY_LIFE, expires_at)
            ask = partial(self._blob_service.get_user_delegation_key, now - 2 * SKEW, ends)
            self._signing_key, self._signing_key_ends = await self.blobs.call(ask), ends
        return self._signing_key

    async def close(self) -> None:
        """Close both clients' connections."""
        await self._blob_service.close()
        await self._queue_service.close()


def open_storage(url: str, queue_url: str | None, credential: str | AsyncTokenCredential) -> Storage:
    """Clients for the account at this blob address, with a key or an identity. Connects to nothing yet.

    Without `queue_url` the queues' address is made from the usual form of the blobs' address.
    """
    # The breaker retries, within its own limits.
    options: dict[str, Any] = {
        "connection_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
        "retry_total": 0,
    }
    sizes = ("max_block_size", "max_single_put_size", "max_single_get_size", "max_chunk_get_size")
    in_blocks: dict[str, Any] = dict.fromkeys(sizes, BLOCK_BYTES)
    return Storage(
        BlobServiceClient(url, credential, **options, **in_blocks),
        QueueServiceClient(queue_url or queue_address(url), credential, **options),
        credential if isinstance(credential, str) else None,
    )


def queue_address(blob_url: str) -> str:
    """The address of an account's queues: `.queue.` instead of `.blob.`, or the emulator's next port."""
    parts = urlsplit(blob_url)
    if ".blob." in parts.netloc:
        return blob_url.replace(".blob.", ".queue.", 1)
    if parts.port == EMULATOR_PORT:
        return blob_url.replace(f":{EMULATOR_PORT}", f":{EMULATOR_PORT + 1}", 1)
    raise ValueError("the queue address cannot be derived from the blob address: set it too")


async def _create_container(container: ContainerClient) -> None:
    # Asked first: an identity may be allowed to use a container but not to create one.
    if not await container.exists():
        with suppress(ResourceExistsError):
            await container.create_container()


async def _create_queue(queue: QueueClient) -> None:
    try:
        await queue.get_queue_properties()
    except ResourceNotFoundError:
        with suppress(ResourceExistsError):
            await queue.create_queue()
