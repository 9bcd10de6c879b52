"""Makes what a deployment needs inside the services of Azure that the settings name; safe to repeat."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from core.infra.azure import Credentials
from core.infra.settings import CoreSettings
from core.llm.embeddings import build_embedder
from core.llm.tokens import TiktokenCounter
from core.storage.factory import credential_for, open_clients

if TYPE_CHECKING:
    from core.storage.blob.account import Storage

Tell = Callable[[str], object]


async def provision(settings: CoreSettings, tell: Tell) -> None:
    """Make containers, queues and the search index where they are missing; `tell` hears of each service."""
    async with AsyncExitStack() as stack:
        clients = open_clients(settings, stack)
        if clients.cosmos is not None:
            await _provision_cosmos(settings, tell)
        if clients.storage is not None:
            await _provision_storage(settings, clients.storage, tell)
        if clients.search is not None:
            await _provision_search(settings, clients.credentials, tell)
        if not (clients.cosmos or clients.storage or clients.search):
            tell("The settings name no service of Azure: there is nothing to make.")


async def _provision_cosmos(settings: CoreSettings, tell: Tell) -> None:
    assert settings.azure_cosmos_endpoint
    if settings.azure_cosmos_key is None:
        # No role that a process should have allows making containers.
        tell("Cosmos DB: its containers come with the templates.")
        return
    from core.storage.cosmos.containers import create_containers

    key = settings.azure_cosmos_key.get_secret_value()
    await create_containers(settings.azure_cosmos_endpoint, key, settings.azure_cosmos_database)
    tell(f"Cosmos DB: the containers of {settings.azure_cosmos_database} are there.")


async def _provision_storage(settings: CoreSettings, storage: "Storage", tell: Tell) -> None:
    from core.storage.queue import queue_names

    containers = (settings.azure_storage_container, settings.azure_storage_derived)
    await storage.create_missing(containers, queue_names().values())
    tell(f"Storage: {', '.join(containers)} and the job queues are there.")


async def _provision_search(settings: CoreSettings, credentials: Credentials, tell: Tell) -> None:
    from core.storage.ai_search.index import Embedding, create_index

    assert settings.azure_search_endpoint
    embeddings = []
    embedder = build_embedder(settings, TiktokenCounter(), credentials=credentials)
    if embedder is not None:
        try:
            # How many numbers a vector has is the model's to say.
            embeddings = [Embedding(embedder.name, len(await embedder.embed_query("dimension")))]
        finally:
            await embedder.aclose()
    credential = credential_for(settings.azure_search_key, credentials)
    await create_index(settings.azure_search_endpoint, credential, settings.azure_search_index, embeddings)
    tell(f"AI Search: the index {settings.azure_search_index} is there.")
