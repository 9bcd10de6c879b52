"""The bytes that an organization may store, also while uploads are under way."""

from typing import cast

import pytest

from orc_core.documents.catalog import Catalog
from orc_core.documents.service import StorageQuota
from orc_core.errors import StorageFull


class Sums:
    """A catalog that knows sums only, and counts how often it is asked."""

    def __init__(self, **stored: int) -> None:
        self.stored = stored
        self.asked = 0

    async def stored_bytes(self, organization_id: str) -> int:
        self.asked += 1
        return self.stored.get(organization_id, 0)


def quota(sums: Sums, most: int) -> StorageQuota:
    return StorageQuota(cast(Catalog, sums), most)


async def test_uploads_under_way_count() -> None:
    limited = quota(Sums(acme=50), 100)
    async with limited.hold("acme", 30):
        with pytest.raises(StorageFull, match="50 are stored"):
            async with limited.hold("acme", 30):
                pass
        async with limited.hold("acme", 20), limited.hold("globex", 100):
            pass


async def test_a_sum_is_read_again_before_anything_is_refused() -> None:
    sums = Sums(acme=50)
    limited = quota(sums, 100)
    for _ in range(2):
        async with limited.hold("acme", 20):
            pass
    assert sums.asked == 1
    async with limited.hold("acme", 20):  # none of them was stored after all
        pass
    assert sums.asked == 2


async def test_what_could_not_be_stored_takes_no_place() -> None:
    limited = quota(Sums(acme=50), 100)
    with pytest.raises(ValueError, match="damaged"):
        async with limited.hold("acme", 50):
            raise ValueError("damaged")
    async with limited.hold("acme", 50):
        pass
