"""Deleting a conversation deletes all that was stored of it, even during an update of the memory."""

import asyncio
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devkit.fakes import FakeTools
from devkit.graph_turns import says
from devkit.remembered_turns import OWNER, ask, memory_service_of
from devkit.store_pairs import items_here
from devkit.traced_turns import Kept, api
from orc.api.routes.conversations import delete_conversation
from orc.conversations.models import Head
from orc.conversations.turn_log import TurnLog
from orc.memory.service import MemoryStore
from orc.retention import SessionStores
from orc.traces.models import TraceSink
from orc.turns.event_log import Changes
from orc_core.errors import NotFound
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from orc_core.storage.sqlite.tables import TABLES


class EmptyLibrary:
    """A library without documents."""

    async def delete_all(self, owner: Owner) -> bool:
        return False


class Forgetful:
    """Turns of which none is known."""

    def __init__(self) -> None:
        self.changes = Changes()

    def forget(self, owner: Owner) -> None:
        """See TurnService."""


async def test_an_update_between_forgetting_and_deleting_leaves_no_memory(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.db")
    await database.migrate(*(TABLES[name].schema for name in ("conversations", "memory", "contexts")))
    store = MemoryStore(items_here(database, "memory"))

    class Log(TurnLog):
        """A log whose deletion runs right after an update found the conversation and wrote its memory."""

        late: Head | None = None

        async def delete(self, owner: Owner) -> bool:
            if self.late is not None:
                await memory_service.update(self.late)
                assert await store.read(owner) is not None
            return await super().delete(owner)

    log = Log(items_here(database, "conversations"))
    memory_service = memory_service_of(database, log, store=store)
    log.late = await ask(log, "My name is Ada.")
    services = SimpleNamespace(
        memory=memory_service,
        turn_service=Forgetful(),
        stored=SessionStores(
            SimpleNamespace(library=EmptyLibrary()),  # type: ignore[arg-type]
            log,
            store,
            TraceSink(),  # type: ignore[arg-type]
            items_here(database, "contexts"),
        ),
    )
    await delete_conversation(OWNER, services)  # type: ignore[arg-type]
    assert await store.read(OWNER) is None
    log.late = None
    with pytest.raises(NotFound):
        await delete_conversation(OWNER, services)  # type: ignore[arg-type]
    await database.close()


CONVERSATION = str(uuid.uuid4())
TEXT, QUESTION, ANSWER = "The sluice code is 5581.", "I am Brunhilde. Hello!", "Good morning to the sluice."


@pytest.mark.slow
async def test_what_was_deleted_is_in_no_file_and_answers_to_no_id(tmp_path: Path) -> None:
    names = {"conversation_id": CONVERSATION}
    path = f"/conversations/{CONVERSATION}"
    async with api(tmp_path, None, says(ANSWER), FakeTools()) as client:
        file = ("file", ("sluice.txt", TEXT.encode() * 200))
        assert (await client.post(f"{path}/documents", files=[file])).status_code == 201
        asked = await client.post("/orc", json={"question": QUESTION, **names})
        assert asked.status_code == 200, asked.text
    # Closing waits for the trace.
    async with api(tmp_path, None, says(ANSWER), FakeTools()) as client:
        assert (await client.get("/admin/telemetry")).json()["turns"]
        assert all(files_with(tmp_path, text) for text in (TEXT, QUESTION, ANSWER, CONVERSATION))
        assert (await client.delete(path)).status_code == 204
        for text in (TEXT, QUESTION, ANSWER, CONVERSATION, "Brunhilde", "sluice.txt"):
            assert files_with(tmp_path, text) == []
        assert (await client.get("/admin/telemetry")).json()["turns"] == []
        events = await client.get(f"{path}/turns/{asked.json()['turn_id']}/events")
        assert events.status_code == 404


def files_with(folder: Path, text: str) -> list[str]:
    """The files below a folder that hold a text, or whose path does."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in found if text in str(path) or text.encode() in path.read_bytes()]


async def test_a_turn_that_ends_after_the_deletion_leaves_no_trace(tmp_path: Path) -> None:
    tools, sink = HeldTools(), Kept()
    async with api(tmp_path, sink, says("Hello."), tools) as client:
        greeted = await client.post("/orc", json={"question": "Good morning!"})
        conversation = greeted.json()["conversation_id"]
        body = {"question": "What is the fee for families?", "conversation_id": conversation}
        asking = asyncio.create_task(client.post("/orc", json=body))
        await asyncio.wait_for(tools.asked.wait(), 5)
        assert (await client.delete(f"/conversations/{conversation}")).status_code == 204
        tools.may_answer.set()
        assert (await asking).status_code >= 400
    assert (len(sink.traces), sink.deleted) == (2, [Owner("local", "me", conversation)])


class HeldTools(FakeTools):
    """Tools whose server answers once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def list_tools(self, token: str) -> Any:
        self.asked.set()
        await self.may_answer.wait()
        return await super().list_tools(token)
