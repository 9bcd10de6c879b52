"""Items in Cosmos DB: a container for each collection.

The SDK's types and exceptions stop here. Every call is guarded: brief failures are repeated, so a writer must
be able to distinguish its own earlier write from that of another.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.cosmos import PartitionKey
from azure.cosmos.aio import ContainerProxy
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosResourceNotFoundError

from orc_core.infra.items import All, Change, Condition, Item, Not, Partition, Raced, Some, Where
from orc_core.infra.resilience import CircuitBreaker, guarded
from orc_core.infra.slices import slices
from orc_core.storage.cosmos.client import BatchTokens, Cosmos, open_client, store_breaker

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
OWNER_KEY = ("/organization_id", "/user_id", "/conversation_id")
EVERYTHING = "/*"
ETAG = '/"_etag"/?'
ALL_ELSE = (EVERYTHING, ETAG)
EXPIRING_WHERE_ITEMS_SAY_SO = -1


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


@dataclass(frozen=True)
class ContainerDefinition:
    """The settings of a container. If a path fits `indexed` and `unindexed`, the longer entry applies."""

    name: str
    partition_key: tuple[str, ...]
    default_ttl: int | None = None
    indexed: tuple[str, ...] = (EVERYTHING,)
    unindexed: tuple[str, ...] = (ETAG,)


CONTAINERS = (
    ContainerDefinition(
        "conversations",
        OWNER_KEY,
        default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO,
        # Questions, answers and citations: few searches read them, and an index would double their cost.
        unindexed=("/item/*", ETAG),
    ),
    ContainerDefinition(
        "documents",
        OWNER_KEY,
        # The fields of queries; the service refuses to sort by another one. More would make writes expensive.
        indexed=(
            *(f"{path}/?" for path in OWNER_KEY),
            *("/sha256/?", "/readable/?", "/status/?", "/created_at/?"),
        ),
        unindexed=ALL_ELSE,
    ),
    # These are asked for by id alone, which is always indexed.
    ContainerDefinition(
        "memory",
        OWNER_KEY,
        default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO,
        indexed=tuple(f"{path}/?" for path in OWNER_KEY),
        unindexed=ALL_ELSE,
    ),
    # One partition for each organization: the rights of a turn are one query in it, and a change and its
    # audit entry are one batch.
    ContainerDefinition(
        "contexts",
        ("/organization_id",),
        default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO,
        unindexed=("/item/*", ETAG),
    ),
    ContainerDefinition(
        "limits",
        ("/organization_id", "/user_id"),
        default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO,
        indexed=("/organization_id/?", "/user_id/?"),
        unindexed=ALL_ELSE,
    ),
    ContainerDefinition(
        "credentials",
        ("/credential_id",),
        default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO,
        indexed=("/credential_id/?", "/organization_id/?", "/user_id/?", "/kind/?"),
        unindexed=ALL_ELSE,
    ),
    ContainerDefinition("analyses", ("/document_id",), indexed=("/document_id/?",), unindexed=ALL_ELSE),
    # A partition holds one day of one organization, so the totals of a day are computed in one partition.
    ContainerDefinition(
        "traces",
        ("/organization_id", "/day"),
        default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO,
        unindexed=("/item/*", ETAG),
    ),
)


def items_of(cosmos: Cosmos, name: str) -> CosmosItems:
    """The items of a container; asks for nothing."""
    return CosmosItems(cosmos.container(name), cosmos.breaker, partition_of(name))


def partition_of(name: str) -> list[str]:
    """The names of the fields by which a container is partitioned."""
    [definition] = [each for each in CONTAINERS if each.name == name]
    return [path.removeprefix("/") for path in definition.partition_key]


async def create_containers(
    endpoint: str,
    credential: str | AsyncTokenCredential,
    database: str,
    containers: tuple[ContainerDefinition, ...] = CONTAINERS,
) -> None:
    """Make the database and those of the containers that are not there; what is there stays as it is.

    Takes an account's key, or an emulator's: identities may use containers, but not make them.
    """
    client = open_client(endpoint, credential)
    try:
        async with store_breaker().attempt():
            made = await client.create_database_if_not_exists(database)
            for each in containers:
                await made.create_container_if_not_exists(
                    each.name,
                    partition_key(each),
                    default_ttl=each.default_ttl,
                    indexing_policy=indexing_policy(each),
                )
    finally:
        await client.close()


def partition_key(definition: ContainerDefinition) -> PartitionKey:
    """The key as the SDK takes it; one of several paths is hierarchical."""
    paths = list(definition.partition_key)
    return PartitionKey(paths[0]) if len(paths) == 1 else PartitionKey(paths, kind="MultiHash")


def indexing_policy(definition: ContainerDefinition) -> dict[str, Any]:
    """The policy as the service takes it."""
    return {
        "indexingMode": "consistent",
        "includedPaths": [{"path": path} for path in definition.indexed],
        "excludedPaths": [{"path": path} for path in definition.unindexed],
    }
