"""Items over SQLite and over Cosmos DB, for the contracts of the stores."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from devkit.azure.cosmos import database
from orc_core.infra.items import Items
from orc_core.infra.sqlite import Database
from orc_core.storage.cosmos.items import items_of
from orc_core.storage.sqlite.items import SqliteItems, open_table
from orc_core.storage.sqlite.tables import TABLES

ADAPTERS = ("sqlite", "cosmos")


OpenItems = Callable[[], Awaitable[Items]]
"""Each call opens the collection as another process would."""


@asynccontextmanager
async def opened_items(
    adapter: str, request: pytest.FixtureRequest, folder: Path, name: str
) -> AsyncIterator[OpenItems]:
    """A collection in a file of the folder, or at the target of the fixture."""
    async with AsyncExitStack() as stack:
        if adapter == "cosmos":
            target = request.getfixturevalue("cosmos_target")
            open_database = await stack.enter_async_context(database(target))

        async def open_items() -> Items:
            if adapter == "cosmos":
                return items_of(open_database(), name)
            opened = Database(folder / "orc.db")
            stack.push_async_callback(opened.close)
            return await open_table(opened, TABLES[name])

        yield open_items


def items_here(database: Database, name: str) -> SqliteItems:
    """A collection in a database on this machine that has its table."""
    return SqliteItems(database, TABLES[name])
