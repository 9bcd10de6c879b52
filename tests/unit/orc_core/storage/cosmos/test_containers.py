"""The containers that are made are those of the data, with its keys, times to live and indexes."""

from typing import Any

import pytest

from devkit.azure.cosmos import database
from devkit.azure.targets import Target
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.infra.items import create
from orc_core.storage.cosmos.client import open_client
from orc_core.storage.cosmos.items import CONTAINERS, OWNER_KEY, create_containers, items_of


async def containers_of(target: Target, name: str) -> dict[str, dict[str, Any]]:
    async with open_client(target.url, target.key or "") as client:
        listed = client.get_database_client(name).list_containers()
        return {each["id"]: each async for each in listed}


def test_user_data_is_partitioned_by_owner_analyses_by_document_and_traces_by_day() -> None:
    keys = {each.name: each.partition_key for each in CONTAINERS}
    by_owner = dict.fromkeys(["conversations", "documents", "memory"], OWNER_KEY)
    others = {
        "analyses": ("/document_id",),
        "contexts": ("/organization_id",),
        "credentials": ("/credential_id",),
        "limits": ("/organization_id", "/user_id"),
        "traces": ("/organization_id", "/day"),
    }
    assert keys == by_owner | others


async def test_containers_are_made_as_the_data_says(cosmos_target: Target) -> None:
    async with database(cosmos_target) as open_database:
        made = await containers_of(cosmos_target, open_database.name)
    assert made.keys() == {each.name for each in CONTAINERS}
    for each in CONTAINERS:
        found = made[each.name]
        assert tuple(found["partitionKey"]["paths"]) == each.partition_key
        assert found["partitionKey"]["kind"] == ("MultiHash" if len(each.partition_key) > 1 else "Hash")
        assert found.get("defaultTtl") == each.default_ttl
        assert {path["path"] for path in found["indexingPolicy"]["includedPaths"]} == set(each.indexed)
        assert {path["path"] for path in found["indexingPolicy"]["excludedPaths"]} == set(each.unindexed)


async def test_what_is_there_stays_as_it_is(cosmos_target: Target) -> None:
    async with database(cosmos_target) as open_database:
        partition, items = ("acme", "ada", "c-1"), items_of(open_database(), "documents")
        await items.write(partition, create({"id": "a"}))
        await create_containers(cosmos_target.url, cosmos_target.key or "", open_database.name)
        assert await items.read(partition, "a") is not None


async def test_an_account_that_does_not_answer_is_down() -> None:
    with pytest.raises(DependencyDown) as caught:
        await create_containers("http://127.0.0.1:9", "bm8gc2VjcmV0", "orc")
    assert not isinstance(caught.value, DependencyMisconfigured)
