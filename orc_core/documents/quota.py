"""How many bytes an organization may store."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orc_core.documents.catalog import Catalog
from orc_core.errors import StorageFull

KEPT_SECONDS = 30.0
"""How long a sum is used without reading it again, as long as it admits what is to be stored."""


class StorageQuota:
    """Admits uploads while an organization stores at most `most` bytes of files.

    Uploads under way in this process count. Those of other processes count from when they are stored, up to
    KEPT_SECONDS late.
    """

    def __init__(self, catalog: Catalog, most: int) -> None:
        self._catalog = catalog
        self._most = most
        self._sums: dict[str, tuple[float, int]] = {}
        self._under_way: Counter[str] = Counter()

    @asynccontextmanager
    async def hold(self, organization_id: str, size: int) -> AsyncIterator[None]:
        """Count `size` bytes while the context is open. Raises StorageFull if they are too many."""
        self._under_way[organization_id] += size
        try:
            await self._check(organization_id)
            yield
            read_at, stored = self._sums[organization_id]
            self._sums[organization_id] = (read_at, stored + size)
        finally:
            self._under_way[organization_id] -= size
            if not self._under_way[organization_id]:
                del self._under_way[organization_id]

    async def _check(self, organization_id: str) -> None:
        read_at, stored = self._sums.get(organization_id, (float("-inf"), 0))
        is_recent = time.monotonic() - read_at < KEPT_SECONDS
        if is_recent and stored + self._under_way[organization_id] <= self._most:
            return
        stored = await self._catalog.stored_bytes(organization_id)
        self._sums[organization_id] = (time.monotonic(), stored)
        if stored + self._under_way[organization_id] > self._most:
            raise StorageFull(
                f"Your organization may store {self._most:,} bytes, and {stored:,} are stored."
                " Delete documents that are no longer needed."
            )
