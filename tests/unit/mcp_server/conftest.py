"""Documents in memory, and a real store for their analyses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.store_pairs import items_here
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.tables import TABLES
from tests.unit.mcp_server.stand_ins import Analyses, FakeLibrary


@pytest.fixture
def library() -> FakeLibrary:
    return FakeLibrary()


@pytest.fixture
async def analyses(tmp_path: Path) -> AsyncIterator[Analyses]:
    database = Database(tmp_path / "analyses.db")
    await database.migrate(TABLES["analyses"].schema)
    yield Analyses(items_here(database, "analyses"))
    await database.close()
