"""Opens the store of contexts that the settings name."""

from typing import TYPE_CHECKING

from orc.contexts.models import ContextStore
from orc.contexts.sqlite import SCHEMA, SqliteContextStore

if TYPE_CHECKING:
    from orc_core.storage.factory import StorageClients


async def open_context_store(clients: "StorageClients") -> ContextStore:
    """The store over the database of these clients, whose tables exist afterwards."""
    if clients.cosmos is None:
        await clients.file.migrate(SCHEMA)
        return SqliteContextStore(clients.file)
    from orc.contexts.cosmos import CosmosContextStore

    return CosmosContextStore(clients.cosmos.container("contexts"))
