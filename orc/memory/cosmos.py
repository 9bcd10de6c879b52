"""Memories in Cosmos DB: one item per conversation, in the partition of its owner."""

from orc.memory.models import Memory, memory_from
from orc_core.names import Owner
from orc_core.storage.cosmos.client import ETAG, Container, Item, unraced

MEMORY = "memory"


class CosmosMemoryStore:
    """A MemoryStore over one container with the key [organization_id, user_id, conversation_id].

    A write whose confirmation was lost is detected by reading the item. With `retention_seconds` a memory
    expires so long after its last write, as turns do.
    """

    def __init__(self, container: Container, *, retention_seconds: int | None = None) -> None:
        self._container = container
        self._expiry = {} if retention_seconds is None else {"ttl": retention_seconds}

    async def read(self, owner: Owner) -> Memory | None:
        item = await self._container.read(MEMORY, owner.key)
        return None if item is None else memory_from(item["item"])

    async def write(self, owner: Owner, memory: Memory) -> bool:
        written = memory.model_copy(update={"version": memory.version + 1})
        names = ("organization_id", "user_id", "conversation_id")
        key = dict(zip(names, owner.key, strict=True))
        item: Item = {"id": MEMORY, **key, "item": written.model_dump(mode="json"), **self._expiry}

        async def work() -> bool:
            present = await self._container.read(MEMORY, owner.key)
            stored = present and memory_from(present["item"])
            if stored == written:
                return True
            if (stored.version if stored else 0) != memory.version:
                return False
            if present is None:
                await self._container.create(item)
            else:
                await self._container.replace(item, present[ETAG])
            return True

        return await unraced(work)

    async def delete(self, owner: Owner) -> None:
        await self._container.delete(MEMORY, owner.key)

    async def ping(self) -> None:
        await self._container.read(MEMORY, ("-", "-", "-"))
