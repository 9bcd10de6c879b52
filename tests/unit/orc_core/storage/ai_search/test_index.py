"""The definition of the search index can be made again and again, and grows by embedders."""

import pytest
from azure.search.documents.indexes.models import SearchField

from devkit.azure.search import connect
from devkit.azure.targets import Target
from devkit.doubles.search_double import ADMIN_KEY, SearchDouble
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.storage.ai_search.client import open_index_client
from orc_core.storage.ai_search.index import Embedding, create_index, define_index
from orc_core.storage.ai_search.vectors import AzureVectorIndex

FIRST, SECOND = Embedding("small", 3), Embedding("large", 4)


async def test_an_index_can_be_made_again(double: SearchDouble, target: Target) -> None:
    for _ in range(2):
        await create_index(target.url, ADMIN_KEY, "passages", [FIRST])
    assert list(double.indexes) == ["passages"]
    assert FIRST.field in double.indexes["passages"].fields


async def test_another_embedder_adds_its_field_and_the_earlier_vectors_stay(
    double: SearchDouble, target: Target
) -> None:
    await create_index(target.url, ADMIN_KEY, "passages", [FIRST])
    async with connect(target, "passages") as search:
        await AzureVectorIndex(search, "small").save("d1", [[1.0, 0.0, 0.0]])
        await create_index(target.url, ADMIN_KEY, "passages", [SECOND])
        await create_index(target.url, ADMIN_KEY, "passages")
        assert {FIRST.field, SECOND.field} <= set(double.indexes["passages"].fields)
        assert await AzureVectorIndex(search, "small").nearest([1.0, 0.0, 0.0], ["d1"], 1)


async def test_an_index_of_another_kind_is_not_touched(double: SearchDouble, target: Target) -> None:
    other = define_index("passages")
    other.fields.append(SearchField(name="price", type="Edm.Int32"))
    async with open_index_client(target.url, ADMIN_KEY) as client:
        await client.create_or_update_index(other)
    with pytest.raises(DependencyMisconfigured):
        await create_index(target.url, ADMIN_KEY, "passages")
    assert "price" in double.indexes["passages"].fields


async def test_an_identity_that_may_not_create_indexes_gets_an_error(target: Target) -> None:
    with pytest.raises(DependencyMisconfigured, match="role"):
        await create_index(target.url, "another key", "passages")


def test_fields_of_embedders_differ_by_name_and_dimension() -> None:
    names = ["text-embedding-3-large", "text-embedding-3-small", "Ünïcode/model", ""]
    fields = {Embedding(name, dimension).field for name in names for dimension in (256, 1536)}
    assert len(fields) == 8
    assert all(field.isascii() and field.replace("_", "").isalnum() for field in fields)
