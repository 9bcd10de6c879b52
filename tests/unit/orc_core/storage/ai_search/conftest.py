"""A double of AI Search for each test, and an index of it with vectors that know three topics."""

from collections.abc import AsyncIterator, Iterator

import pytest

from devkit.azure.search import connect
from devkit.azure.targets import Target
from devkit.doubles.search_double import SearchDouble, serving
from devkit.topic_embedder import TOPICS
from orc_core.storage.ai_search.client import Search
from orc_core.storage.ai_search.index import Embedding, create_index

INDEX = "passages"


@pytest.fixture
def double() -> SearchDouble:
    return SearchDouble()


@pytest.fixture
def target(double: SearchDouble) -> Iterator[Target]:
    with serving(double) as target:
        yield target


@pytest.fixture
async def search(target: Target) -> AsyncIterator[Search]:
    assert target.key is not None
    await create_index(target.url, target.key, INDEX, [Embedding("topics", len(TOPICS))])
    async with connect(target, INDEX) as search:
        yield search
