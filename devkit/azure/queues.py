"""Job queues in a storage account that a test has for itself."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue.aio import QueueClient

from devkit.azure.storage import fresh_container
from devkit.azure.targets import Target
from orc_core.models import JobKind
from orc_core.storage.blob.account import Storage
from orc_core.storage.queue import StorageJobQueue, queue_names


@dataclass(frozen=True)
class Place:
    """Where the records and the notices of one job queue are stored."""

    storage: Storage
    container: str
    prefix: str

    def queue(self, storage: Storage | None = None, **options: Callable[[], float]) -> StorageJobQueue:
        """A job queue as another process would open it."""
        return StorageJobQueue(storage or self.storage, self.container, queue_prefix=self.prefix, **options)

    def messages(self, kind: JobKind) -> QueueClient:
        """The messages themselves."""
        return self.storage.queue(queue_names(self.prefix)[kind])

    async def count(self, kind: JobKind) -> int:
        """How many messages there are, hidden ones too."""
        properties: Any = await self.messages(kind).get_queue_properties()
        return int(properties.approximate_message_count)


@asynccontextmanager
async def fresh_place(target: Target) -> AsyncIterator[Place]:
    """A container and queues, which are removed at the end."""
    async with AsyncExitStack() as stack:
        storage, container = await stack.enter_async_context(fresh_container(target))
        place = Place(storage, container, f"test-{uuid.uuid4().hex[:12]}")
        await storage.create_missing(queues=queue_names(place.prefix).values())
        try:
            yield place
        finally:
            for kind in JobKind:
                try:
                    await place.messages(kind).delete_queue()
                except ResourceNotFoundError:
                    continue
