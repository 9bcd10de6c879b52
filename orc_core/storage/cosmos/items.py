"""Items in Cosmos DB: a container for each collection.

The SDK's types and exceptions stop here. Every call is guarded: brief failures are repeated, so a writer must
be able to distinguish its own earlier write from that of another.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from azure.cosmos.aio import ContainerProxy
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosResourceNotFoundError

from orc_core.infra.items import All, Change, Condition, Item, Not, Partition, Raced, Some, Where
from orc_core.infra.resilience import CircuitBreaker, guarded
from orc_core.infra.slices import slices
from orc_core.storage.cosmos.client import BatchTokens

MOST_POINT_READS = 8
"""A point read of 1 KB costs 1 RU and one round trip, a query at least 2.3 RU, and more for each result."""
IDS_PER_QUERY = 500

_UNFIT_STATES = {412, 409, 404}
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

    def __init__(self, container: ContainerProxy, breaker: CircuitBreaker, partition: Sequence[str]) -> None:
        self._container = container
        self._breaker = breaker
        self._partition = partition
        self._tokens = BatchTokens()

    @guarded
    async def read(self, partition: Partition, item_id: str) -> Item | None:
        try:
            with self._tokens.reading(partition) as token:
                return dict(await self._container.read_item(item_id, list(partition), session_token=token))
        except CosmosResourceNotFoundError as exc:
            # A container may be absent too, and a replica behind. The SDK asks about the container first, at
            # another address.
            request = getattr(exc.response, "request", None)
            if request is None or "/docs/" not in request.url or exc.sub_status:
                raise
        return None

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
        return await self._found(query, values, partition)

    @guarded
    async def write(self, partition: Partition, *changes: Change) -> None:
        if not changes:
            return
        key = dict(zip(self._partition, partition, strict=True))
        # New operations for each attempt: the SDK takes the condition out of them.
        operations = [_operation(change, key) for change in changes]
        try:
            done = await self._container.execute_item_batch(operations, list(partition))
            self._tokens.note(partition, done.get_response_headers())
        except CosmosBatchOperationError as exc:
            self._tokens.note(partition, exc.headers or {})
            if exc.status_code in _UNFIT_STATES:
                raise Raced from exc
            raise

    async def ping(self) -> None:
        await self.read(["-"] * len(self._partition), "-")

    @guarded
    async def _found(self, query: str, values: Mapping[str, object], partition: Partition) -> list[Item]:
        named: list[Item] = [{"name": f"@{name}", "value": value} for name, value in values.items()]
        where: dict[str, Any] = {"partition_key": list(partition)} if partition else {}
        with self._tokens.reading(partition) as token:
            found = self._container.query_items(query, parameters=named, session_token=token, **where)
            return [dict(item) async for item in found]


def _operation(change: Change, key: Item) -> tuple[str, tuple[Any, ...], dict[str, str]]:
    """A change as the SDK takes it."""
    condition = {"if_match_etag": change.version} if change.version else {}
    by_id = () if change.kind in {"create", "upsert"} else (change.id,)
    content = () if change.item is None else (key | change.item,)
    return change.kind, (*by_id, *content), condition


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
