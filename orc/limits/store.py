"""Opens the store of rate limits that the settings name."""

from typing import TYPE_CHECKING

from orc.limits.models import LimitStore
from orc.limits.sqlite import SCHEMA, SqliteLimitStore

if TYPE_CHECKING:
    from orc_core.storage.factory import StorageClients


async def open_limit_store(clients: "StorageClients") -> LimitStore:
    """The store over the database of these clients, whose tables exist afterwards."""
    if clients.cosmos is None:
        await clients.file.migrate(SCHEMA)
        return SqliteLimitStore(clients.file)
    from orc.limits.cosmos import CosmosLimitStore

    return CosmosLimitStore(clients.cosmos.container("limits"))
