"""Stores the memory of each conversation as one item, in the partition of its owner."""

from orc.memory.models import Memory, memory_from
from orc_core.infra.items import Items, delete, over, unraced
from orc_core.names import Owner

MEMORY = "memory"


class MemoryStore:
    """One memory per conversation. Every method raises DependencyDown if the store cannot be used.

    With `retention_seconds` a memory expires so long after its last write, as turns do.
    """

    def __init__(self, items: Items, *, retention_seconds: int | None = None) -> None:
        self._items = items
        self._expiry = {} if retention_seconds is None else {"ttl": retention_seconds}

    async def read(self, owner: Owner) -> Memory | None:
        """The stored memory, maybe of a deleted conversation with the same id; None if none is stored."""
        item = await self._items.read(owner.key, MEMORY)
        return None if item is None else memory_from(item["item"])

    async def write(self, owner: Owner, memory: Memory) -> bool:
        """Store it as the version after `memory.version`, if that is the stored version (0: none is stored).

        Returns whether it is stored. Repeating a write whose confirmation was lost returns True.
        """
        written = memory.model_copy(update={"version": memory.version + 1})
        item = {"id": MEMORY, "item": written.model_dump(mode="json"), **self._expiry}

        async def work() -> bool:
            present = await self._items.read(owner.key, MEMORY)
            stored = present and memory_from(present["item"])
            if stored == written:
                return True
            if (stored.version if stored else 0) != memory.version:
                return False
            await self._items.write(owner.key, over(present, item))
            return True

        return await unraced(work)

    async def delete(self, owner: Owner) -> None:
        """Delete the memory; an absent one is no error."""

        async def work() -> None:
            if await self._items.read(owner.key, MEMORY) is not None:
                await self._items.write(owner.key, delete(MEMORY))

        await unraced(work)
