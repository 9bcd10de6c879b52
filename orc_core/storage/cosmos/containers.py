"""The containers that Orc keeps in Cosmos DB, as data, and making what is missing of them.

On Azure the containers come from infra/, which a test holds to this data: an identity may not make any.
"""

from dataclasses import dataclass
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.cosmos import PartitionKey

from orc_core.storage.cosmos.client import Cosmos, open_client, store_breaker
from orc_core.storage.cosmos.items import CosmosItems

OWNER_KEY = ("/organization_id", "/user_id", "/conversation_id")
EVERYTHING = "/*"
ETAG = '/"_etag"/?'
ALL_ELSE = (EVERYTHING, ETAG)
EXPIRING_WHERE_ITEMS_SAY_SO = -1


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
        # Questions, answers and citations: they are not searched, and an index would double their cost.
        unindexed=("/item/*", ETAG),
    ),
    ContainerDefinition(
        "documents",
        OWNER_KEY,
        # The fields of queries. To index others would only make writes more expensive.
        indexed=(*(f"{path}/?" for path in OWNER_KEY), "/sha256/?", "/readable/?", "/status/?"),
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
