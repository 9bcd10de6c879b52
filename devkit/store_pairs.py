"""Stores of one port over SQLite and over Cosmos DB, for its contract."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pytest

from devkit.azure.cosmos import database
from orc_core.infra.sqlite import Database
from orc_core.storage.cosmos.client import Container

Store = TypeVar("Store")


@dataclass(frozen=True)
class StorePair(Generic[Store]):
    """How a store is made over a database with `schema`, and over a container of this name."""

    schema: str
    sqlite: Callable[[Database], Store]
    container: str
    cosmos: Callable[[Container], Store]

    @asynccontextmanager
    async def open(self, adapter: str, request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Store]:
        """The store over `sqlite` in the folder, or over `cosmos` at the target of the fixture."""
        if adapter == "cosmos":
            async with database(request.getfixturevalue("cosmos_target")) as open_database:
                yield self.cosmos(open_database().container(self.container))
            return
        opened = Database(folder / "orc.db")
        await opened.migrate(self.schema)
        yield self.sqlite(opened)
        await opened.close()
