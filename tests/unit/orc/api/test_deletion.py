"""Deleting a conversation deletes its memory, even during an update of the memory."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from core.errors import NotFound
from core.infra.sqlite import Database
from core.names import Owner
from devkit.remembered_turns import OWNER, ask, memory_service_of
from orc.api.routes.conversations import delete_conversation
from orc.conversations import sqlite as turn_log_sqlite
from orc.conversations.models import Head
from orc.conversations.sqlite import SqliteTurnLog
from orc.memory import sqlite
from orc.memory.sqlite import SqliteMemoryStore


class EmptyLibrary:
    """A library without documents."""

    async def list_documents(self, owner: Owner) -> list[object]:
        return []

    async def delete_all(self, owner: Owner) -> None:
        return None


async def test_an_update_between_forgetting_and_deleting_leaves_no_memory(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(turn_log_sqlite.SCHEMA, sqlite.SCHEMA)
    store = SqliteMemoryStore(database)

    class Log(SqliteTurnLog):
        """A log whose deletion runs right after an update found the conversation and wrote its memory."""

        late: Head | None = None

        async def delete(self, owner: Owner) -> bool:
            if self.late is not None:
                await memory_service.update(self.late)
                assert await store.read(owner) is not None
            return await super().delete(owner)

    log = Log(database)
    memory_service = memory_service_of(database, log, store=store)
    log.late = await ask(log, "My name is Ada.")
    services = SimpleNamespace(library=EmptyLibrary(), memory=memory_service, log=log)
    await delete_conversation(OWNER, services)  # type: ignore[arg-type]
    assert await store.read(OWNER) is None
    log.late = None
    with pytest.raises(NotFound):
        await delete_conversation(OWNER, services)  # type: ignore[arg-type]
    await database.close()
