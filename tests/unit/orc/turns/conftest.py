"""An SQLite database with a turn log, and tools that need no server, new for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.held_turns import OWNER, Log, SlowTools
from orc.conversations import sqlite
from orc.limits import sqlite as limits_sqlite
from orc_core.infra.sqlite import Database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(sqlite.SCHEMA, limits_sqlite.SCHEMA)
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
