"""Items in Cosmos DB: a container for each collection."""

import asyncio
import re
from collections.abc import Sequence

from orc_core.infra.items import All, Change, Condition, Item, Not, Partition, Some, Where
from orc_core.infra.slices import slices
from orc_core.storage.cosmos.client import Container

MOST_POINT_READS = 8
"""A point read of 1 KB costs 1 RU and one round trip, a query at least 2.3 RU, and more for each result."""
IDS_PER_QUERY = 500

_FIT = re.compile(r"[\w:.~-]{1,255}", re.ASCII)
_FUNCTIONS = {
    "in": "ARRAY_CONTAINS({value}, {field})",
    "starts": "STARTSWITH({field}, {value})",
    "has": "CONTAINS({field}, {value})",
    "has lower": "CONTAINS(LOWER({field}), {value})",
    "no text": "NOT IS_STRING({field})",
}


class CosmosItems:
    """Items over one container, with the names of its partition's fields."""

    def __init__(self, container: Container, partition: Sequence[str]) -> None:
        self._container = container
        self._partition = partition

    async def read(self, partition: Partition, item_id: str) -> Item | None:
        return await self._container.read(item_id, partition)

    async def read_some(self, partition: Partition, ids: Sequence[str]) -> list[Item]:
        # The SDK puts an id into a path as it is: a slash in it would lead to something else.
        fit = [item_id for item_id in dict.fromkeys(ids) if _FIT.fullmatch(item_id)]
        if len(fit) <= MOST_POINT_READS:
            found = await asyncio.gather(*(self.read(partition, item_id) for item_id in fit))
            return [item for item in found if item is not None]
        return [
            item
            for some in slices(fit, IDS_PER_QUERY)
            for item in await self.query(partition, Where("id", "in", some))
        ]

    async def query(
        self,
        partition: Partition,
        *conditions: Condition,
        order: str = "",
        descending: bool = False,
        limit: int | None = None,
        fields: Sequence[str] = (),
    ) -> list[Item]:
        values: dict[str, object] = {}
        # The key's beginning is repeated: a query over several partitions is not bound to it by that alone.
        known = [Where(name, "=", value) for name, value in zip(self._partition, partition, strict=False)]
        text = _text(All([*known, *conditions]), values)
        chosen = ", ".join(f"c.{name}" for name in fields) or "*"
        if limit is not None:
            chosen, values["limit"] = f"TOP @limit {chosen}", limit
        query = f"SELECT {chosen} FROM c WHERE {text}"
        if order:
            query += f" ORDER BY c.{order}{' DESC' if descending else ''}"
        return await self._container.query(query, values, partition or None)

    async def write(self, partition: Partition, *changes: Change) -> None:
        key = dict(zip(self._partition, partition, strict=True))
        whole = [each if each.item is None else each._replace(item=key | each.item) for each in changes]
        await self._container.batch(whole, partition)

    async def ping(self) -> None:
        await self.read(["-"] * len(self._partition), "-")


def _text(condition: Condition, values: dict[str, object]) -> str:
    """A condition in the language of queries; its values are added to `values`."""
    if isinstance(condition, Not):
        return f"NOT ({_text(condition.condition, values)})"
    if isinstance(condition, All | Some):
        joined = (" OR " if isinstance(condition, Some) else " AND ").join(
            _text(each, values) for each in condition.conditions
        )
        return f"({joined or ('false' if isinstance(condition, Some) else 'true')})"
    field, name = f"c.{condition.field}", f"value{len(values)}"
    values[name] = condition.value
    form = _FUNCTIONS.get(condition.how, f"{{field}} {condition.how} {{value}}")
    return form.format(field=field, value=f"@{name}")
