"""Reading some of a partition's items, as the document side's stores in Cosmos DB do."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from core.azure.cosmos import Container, Item, PartitionKey

MOST_POINT_READS = 8
"""A point read of 1 KB costs 1 RU and one round trip, a query at least 2.3 RU, and more for each result."""
IDS_PER_QUERY = 500

Each = TypeVar("Each")

_FIT = re.compile(r"[\w:-]{1,255}", re.ASCII)
_AMONG = "SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"


async def read_some(container: Container, partition: PartitionKey, ids: Sequence[str]) -> list[Item]:
    """The items of one partition among these ids, in any order; ids may be any strings."""
    # The SDK puts an id into a path as it is: a slash in it would lead to something else.
    fit = [item_id for item_id in dict.fromkeys(ids) if _FIT.fullmatch(item_id)]
    if len(fit) <= MOST_POINT_READS:
        found = await asyncio.gather(*(container.read(item_id, partition) for item_id in fit))
        return [item for item in found if item is not None]
    return [
        item
        for some in portions(fit, IDS_PER_QUERY)
        for item in await container.query(_AMONG, {"ids": some}, partition)
    ]


def portions(values: Sequence[Each], size: int) -> Iterator[list[Each]]:
    """The values, in order, in lists of at most this size."""
    return (list(values[start : start + size]) for start in range(0, len(values), size))
