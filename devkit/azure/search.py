"""A separate index for each test, in the search double or in a real AI Search."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from azure.core.credentials_async import AsyncTokenCredential

from devkit.azure.targets import Target
from orc_core.infra.azure import Credentials
from orc_core.storage.ai_search.client import Search, open_index_client, open_search
from orc_core.storage.ai_search.index import Embedding, create_index


@asynccontextmanager
async def open_index(target: Target, embeddings: Sequence[Embedding] = ()) -> AsyncIterator[str]:
    """The name of a new index; it is removed in the end."""
    name = f"test-{uuid.uuid4().hex}"
    async with _credential(target) as credential:
        await create_index(target.url, credential, name, embeddings)
        try:
            yield name
        finally:
            async with open_index_client(target.url, credential) as client:
                await client.delete_index(name)


@asynccontextmanager
async def connect(target: Target, index: str) -> AsyncIterator[Search]:
    """A client of an index, as one process has it."""
    async with _credential(target) as credential:
        search = open_search(target.url, credential, index)
        try:
            yield search
        finally:
            await search.close()


@asynccontextmanager
async def _credential(target: Target) -> AsyncIterator[str | AsyncTokenCredential]:
    credentials = Credentials()
    try:
        yield target.key or credentials.default
    finally:
        await credentials.close()
