"""Opens the clients that the settings name, chooses each port's adapter, and provisions Azure's services."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import SecretStr

from orc_core.documents import ports
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.infra.azure import Credentials, require_sdk
from orc_core.infra.items import Items
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import Database
from orc_core.llm.embeddings import build_embedder
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TokenCounter
from orc_core.search.hybrid import HybridRetriever
from orc_core.search.whole_scope import WholeScopeRetriever
from orc_core.storage.folder import FolderBlobStore
from orc_core.storage.sqlite import documents as sqlite_documents
from orc_core.storage.sqlite import passages as sqlite_passages
from orc_core.storage.sqlite import queue as sqlite_queue
from orc_core.storage.sqlite import vectors as sqlite_vectors
from orc_core.storage.sqlite.items import open_table
from orc_core.storage.sqlite.tables import TABLES

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

    from orc_core.storage.ai_search.client import Search
    from orc_core.storage.blob.account import Storage
    from orc_core.storage.cosmos.client import Cosmos
    from orc_core.storage.upstash.client import UpstashVector


# Why each service is used if its address is set: docs/decisions/storage-adapters.md.
@dataclass(frozen=True)
class StorageClients:
    """The clients in use; others are None. `database` keeps what no service keeps. Opening does no I/O."""

    credentials: Credentials
    database: Database | None
    cosmos: "Cosmos | None"
    storage: "Storage | None"
    search: "Search | None"
    upstash: "UpstashVector | None"

    @property
    def file(self) -> Database:
        """The database on this machine, which is there unless services keep everything."""
        assert self.database is not None
        return self.database

    async def items(self, name: str, *, ttl: int | None = None) -> Items:
        """A collection of records.

        In SQLite its table is there afterwards. With a `ttl`, what it has expires so many seconds after it
        was written; in Cosmos DB each item keeps the time to live that it was written with.
        """
        if self.cosmos is None:
            return await open_table(self.file, TABLES[name], ttl=ttl)
        from orc_core.storage.cosmos.items import items_of

        return items_of(self.cosmos, name)


# The services' libraries and adapters are imported where they are used: together they take half a second.


def open_clients(settings: CoreSettings, stack: AsyncExitStack) -> StorageClients:
    """Clients for what the settings name; `stack` closes them."""
    if settings.uses_azure:
        require_sdk()
    credentials = Credentials()
    stack.push_async_callback(credentials.close)
    cosmos = storage = search = None
    # Each is to be closed, even if the next cannot be opened.
    if settings.azure_cosmos_endpoint:
        from orc_core.storage.cosmos.client import open_cosmos

        key = credential_for(settings.azure_cosmos_key, credentials)
        cosmos = open_cosmos(settings.azure_cosmos_endpoint, key, settings.azure_cosmos_database)
        stack.push_async_callback(cosmos.close)
    if url := settings.azure_storage_account_url:
        from orc_core.storage.blob.account import open_storage

        key = credential_for(settings.azure_storage_key, credentials)
        try:
            storage = open_storage(url, settings.azure_storage_queue_url, key)
        except ValueError as exc:
            raise InvalidInput(f"AZURE_STORAGE_ACCOUNT_URL or AZURE_STORAGE_QUEUE_URL: {exc}") from exc
        stack.push_async_callback(storage.close)
    if settings.azure_search_endpoint:
        from orc_core.storage.ai_search.client import open_search

        key = credential_for(settings.azure_search_key, credentials)
        search = open_search(settings.azure_search_endpoint, key, settings.azure_search_index)
        stack.push_async_callback(search.close)
    upstash = _open_upstash(settings, stack)
    database = None if cosmos and storage and search else Database(settings.database_path)
    if database is not None:
        stack.push_async_callback(database.close)
    return StorageClients(credentials, database, cosmos, storage, search, upstash)


def _open_upstash(settings: CoreSettings, stack: AsyncExitStack) -> "UpstashVector | None":
    url, token = settings.upstash_vector_rest_url, settings.upstash_vector_rest_token
    if not url:
        return None
    if settings.azure_search_endpoint:
        raise InvalidInput("Set UPSTASH_VECTOR_REST_URL or AZURE_SEARCH_ENDPOINT, not both.")
    if token is None:
        raise InvalidInput("UPSTASH_VECTOR_REST_URL needs UPSTASH_VECTOR_REST_TOKEN.")
    from orc_core.storage.upstash.client import open_upstash

    upstash, connections = open_upstash(url, token.get_secret_value())
    stack.push_async_callback(connections.aclose)
    return upstash


def credential_for(key: SecretStr | None, credentials: Credentials) -> "str | AsyncTokenCredential":
    """The key, if there is one; else the identity of this process."""
    return key.get_secret_value() if key is not None else credentials.default


SCHEMAS = (
    sqlite_documents.PAGES_SCHEMA,
    sqlite_queue.SCHEMA,
    sqlite_vectors.SCHEMA,
    sqlite_passages.SCHEMA,
)


def build_contents(
    settings: CoreSettings, clients: StorageClients
) -> tuple[ports.BlobStore, ports.PageStore, ports.JobQueue]:
    """The bytes of documents, the text of their pages, and the queue of the work on them."""
    if clients.storage is None:
        pages, queue = (
            sqlite_documents.SqlitePageStore(clients.file),
            sqlite_queue.SqliteJobQueue(clients.file),
        )
        return FolderBlobStore(settings.blobs_dir), pages, queue
    from orc_core.storage.blob.documents import AzureBlobStore, BlobPageStore
    from orc_core.storage.queue import StorageJobQueue

    storage, derived = clients.storage, settings.azure_storage_derived
    blobs = AzureBlobStore(storage, settings.azure_storage_container)
    return blobs, BlobPageStore(storage, derived), StorageJobQueue(storage, derived)


def build_search(
    settings: CoreSettings,
    clients: StorageClients,
    pages: ports.PageStore,
    embedder: ports.Embedder | None,
) -> tuple[ports.PassageIndex, ports.VectorIndex, ports.PlaceRetriever]:
    """The two indexes, and the search over both."""
    # The vectors' index also without an embedder: what an earlier one has left goes with its document.
    name = embedder.name if embedder else ""
    if clients.search is None:
        index = sqlite_passages.SqlitePassageIndex(clients.file)
        vectors: ports.VectorIndex = sqlite_vectors.SqliteVectorIndex(clients.file, name)
        if clients.upstash is not None:
            from orc_core.storage.upstash.vectors import UpstashVectorIndex

            vectors = UpstashVectorIndex(clients.upstash, name)
        retriever = HybridRetriever(index, vectors if embedder else None, embedder, finder=index)
        return index, vectors, WholeScopeRetriever(retriever, index, pages)
    from orc_core.storage.ai_search.passages import AzurePassageIndex
    from orc_core.storage.ai_search.retriever import AzureSearchRetriever
    from orc_core.storage.ai_search.vectors import AzureVectorIndex

    passages = AzurePassageIndex(clients.search)
    search = AzureSearchRetriever(clients.search, embedder, semantic=settings.azure_search_semantic)
    whole = WholeScopeRetriever(search, passages, pages)
    return passages, AzureVectorIndex(clients.search, name), whole


Tell = Callable[[str], object]
Sleep = Callable[[float], Awaitable[None]]
ROLE_ATTEMPTS = 20
ROLE_PAUSE_SECONDS = 15.0
"""Five minutes in total."""
ROLE_IS_MISSING = frozenset({"dependency_misconfigured", "model_auth"})


async def provision(settings: CoreSettings, tell: Tell, *, sleep: Sleep = asyncio.sleep) -> None:
    """Make containers, queues and the search index if they are missing; `tell` is called for each service."""
    async with AsyncExitStack() as stack:
        clients = open_clients(settings, stack)
        if clients.cosmos is not None:
            await _provision_cosmos(settings, tell)
        if clients.storage is not None:
            await _provision_storage(settings, clients.storage, tell)
        if clients.search is not None:
            make = partial(_provision_search, settings, clients.credentials, tell)
            await (make() if settings.azure_search_key else with_new_roles(make, tell, sleep))
        if not (clients.cosmos or clients.storage or clients.search):
            tell("The settings name no service of Azure: there is nothing to make.")


async def _provision_cosmos(settings: CoreSettings, tell: Tell) -> None:
    assert settings.azure_cosmos_endpoint
    if settings.azure_cosmos_key is None:
        # No role that a process should have allows making containers.
        tell("Cosmos DB: its containers come with the templates.")
        return
    from orc_core.storage.cosmos.items import create_containers

    key = settings.azure_cosmos_key.get_secret_value()
    await create_containers(settings.azure_cosmos_endpoint, key, settings.azure_cosmos_database)
    tell(f"Cosmos DB: the containers of {settings.azure_cosmos_database} are there.")


async def _provision_storage(settings: CoreSettings, storage: "Storage", tell: Tell) -> None:
    if settings.azure_storage_key is None:
        # The account that deploys has no role for data, and needs none: the templates make all of these.
        tell("Storage: its containers and queues come with the templates.")
        return
    from orc_core.storage.queue import queue_names

    containers = (settings.azure_storage_container, settings.azure_storage_derived)
    await storage.create_missing(containers, queue_names().values())
    tell(f"Storage: {', '.join(containers)} and the job queues are there.")


async def with_new_roles(work: Callable[[], Awaitable[None]], tell: Tell, sleep: Sleep) -> None:
    """Repeat work that is refused for a role: a new role assignment takes minutes to apply."""
    for _ in range(ROLE_ATTEMPTS - 1):
        try:
            return await work()
        except DependencyDown as exc:
            if exc.code not in ROLE_IS_MISSING:
                raise
            tell(f"{exc.message} A new role takes minutes to apply; trying again.")
        await sleep(ROLE_PAUSE_SECONDS)
    return await work()


async def _provision_search(settings: CoreSettings, credentials: Credentials, tell: Tell) -> None:
    from orc_core.storage.ai_search.index import Embedding, create_index

    assert settings.azure_search_endpoint
    embeddings = []
    provider = open_provider(settings, credentials) if settings.embedder_name else None
    if (embedder := build_embedder(settings, TokenCounter(), provider)) and provider:
        try:
            # The model decides how many numbers a vector has.
            embeddings = [Embedding(embedder.name, len(await embedder.embed_query("dimension")))]
        finally:
            await provider.aclose()
    credential = credential_for(settings.azure_search_key, credentials)
    await create_index(settings.azure_search_endpoint, credential, settings.azure_search_index, embeddings)
    tell(f"AI Search: the index {settings.azure_search_index} is there.")
