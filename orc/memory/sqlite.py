"""Memories in SQLite: one row per conversation."""

import json
import sqlite3

from orc.memory.models import Memory, memory_from
from orc_core.infra.sqlite import Database
from orc_core.names import Owner

SCHEMA = """
CREATE TABLE IF NOT EXISTS conversation_memories (
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id, conversation_id)
)
"""

_OWNED = "organization_id = ? AND user_id = ? AND conversation_id = ?"
_GET = f"SELECT item FROM conversation_memories WHERE {_OWNED}"
_PUT = """
INSERT INTO conversation_memories (organization_id, user_id, conversation_id, item) VALUES (?, ?, ?, ?)
ON CONFLICT (organization_id, user_id, conversation_id) DO UPDATE SET item = excluded.item
"""
_DELETE = f"DELETE FROM conversation_memories WHERE {_OWNED}"


class SqliteMemoryStore:
    """A MemoryStore over a database that has SCHEMA."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, owner: Owner) -> Memory | None:
        return await self._database.read(lambda connection: _get(connection, owner))

    async def write(self, owner: Owner, memory: Memory) -> bool:
        written = memory.model_copy(update={"version": memory.version + 1})

        def work(connection: sqlite3.Connection) -> bool:
            present = _get(connection, owner)
            if present == written:
                return True
            if (present.version if present else 0) != memory.version:
                return False
            connection.execute(_PUT, (*owner.key, written.model_dump_json()))
            return True

        return await self._database.write(work)

    async def delete(self, owner: Owner) -> None:
        await self._database.erase((_DELETE, owner.key))

    async def ping(self) -> None:
        await self._database.ping()


def _get(connection: sqlite3.Connection, owner: Owner) -> Memory | None:
    row = connection.execute(_GET, owner.key).fetchone()
    return None if row is None else memory_from(json.loads(row["item"]))
