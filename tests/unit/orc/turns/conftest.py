"""An SQLite database with a turn log, and tools that need no server, new for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.held_turns import OWNER, Log, SlowTools
from orc_core.infra.sqlite import Database
from orc_core.storage.sqlite.tables import TABLES


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(TABLES["conversations"].schema, TABLES["limits"].schema)
    yield database
    await database.close()


@pytest.fixture
async def log(database: Database) -> Log:
    log = Log(database)
    await log.ensure_conversation(OWNER)
    return log


@pytest.fixture
def tools() -> SlowTools:
    return SlowTools()
