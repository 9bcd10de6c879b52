"""The services and the file in which things are kept, as the settings name them: each is opened once."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import SecretStr

from core.errors import InvalidInput
from core.infra.azure import Credentials
from core.infra.settings import CoreSettings
from core.infra.sqlite import Database

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

    from core.storage.ai_search.client import Search
    from core.storage.cosmos.client import Cosmos
    from core.storage.storage_account import Storage


@dataclass(frozen=True)
class Backends:
    """What is not None is in use; what no service keeps, `database` does. Opening connects to nothing."""

    credentials: Credentials
    database: Database | None
    cosmos: "Cosmos | None"
    storage: "Storage | None"
    search: "Search | None"

    @property
    def file(self) -> Database:
        """The database on this machine, which is there unless services keep everything."""
        assert self.database is not None
        return self.database


def open_backends(settings: CoreSettings, stack: AsyncExitStack) -> Backends:
    """Clients for what the settings name; `stack` closes them."""
    credentials = Credentials()
    stack.push_async_callback(credentials.close)
    # Each is to be closed, even where the next cannot be opened.
    if (cosmos := _open_cosmos(settings, credentials)) is not None:
        stack.push_async_callback(cosmos.close)
    if (storage := _open_storage(settings, credentials)) is not None:
        stack.push_async_callback(storage.close)
    if (search := _open_search(settings, credentials)) is not None:
        stack.push_async_callback(search.close)
    database = None if cosmos and storage and search else Database(settings.database_path)
    if database is not None:
        stack.push_async_callback(database.close)
    return Backends(credentials, database, cosmos, storage, search)


# The libraries are imported where they are used: together they take half a second.


def _open_cosmos(settings: CoreSettings, credentials: Credentials) -> "Cosmos | None":
    if not settings.azure_cosmos_endpoint:
        return None
    from core.storage.cosmos.client import open_cosmos

    credential = credential_for(settings.azure_cosmos_key, credentials)
    return open_cosmos(settings.azure_cosmos_endpoint, credential, settings.azure_cosmos_database)


def _open_storage(settings: CoreSettings, credentials: Credentials) -> "Storage | None":
    if not settings.azure_storage_account_url:
        return None
    from core.storage.storage_account import open_storage

    credential = credential_for(settings.azure_storage_key, credentials)
    try:
        return open_storage(settings.azure_storage_account_url, settings.azure_storage_queue_url, credential)
    except ValueError as exc:
        raise InvalidInput(f"AZURE_STORAGE_ACCOUNT_URL or AZURE_STORAGE_QUEUE_URL: {exc}") from exc


def _open_search(settings: CoreSettings, credentials: Credentials) -> "Search | None":
    if not settings.azure_search_endpoint:
        return None
    from core.storage.ai_search.client import open_search

    credential = credential_for(settings.azure_search_key, credentials)
    return open_search(settings.azure_search_endpoint, credential, settings.azure_search_index)


def credential_for(key: SecretStr | None, credentials: Credentials) -> "str | AsyncTokenCredential":
    """The key, where there is one; else the identity of this process."""
    return key.get_secret_value() if key is not None else credentials.default
