"""A double of AI Search for each test, and an index of it with vectors that know three topics."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from devkit.azure.search import connect
from devkit.azure.targets import Target
from devkit.doubles.search_double import SearchDouble, serving
from orc_core.errors import OrcError
from orc_core.storage.ai_search.client import Search
from orc_core.storage.ai_search.index import Embedding, create_index

INDEX = "passages"
TOPICS = (("harbour", "port", "anchor", "ships", "vessels"), ("lunch", "meal", "park"), ("tax", "fee"))


class TopicEmbedder:
    """Knows what means the same: a dimension for each topic. Fails with `failure`, or never answers."""

    name = "topics"

    def __init__(self, failure: OrcError | None = None, answers: bool = True) -> None:
        self._failure = failure
        self._answers = answers

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return [[0.01 + sum(word in topic for word in _words(text)) for topic in TOPICS] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        if self._failure is not None:
            raise self._failure
        if not self._answers:
            await asyncio.Event().wait()
        return (await self.embed_passages([text]))[0]


def _words(text: str) -> list[str]:
    return text.lower().replace(".", "").replace("?", "").split()


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
