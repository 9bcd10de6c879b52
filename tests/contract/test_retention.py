"""A session that was not used for long is deleted with all that belongs to it, and the audit says so."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from devkit.sample_traces import trace
from orc.contexts.models import BY_ORC, Action, AuditEntry
from orc.contexts.service import Caller
from orc.contexts.store import ContextStore
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.models import NewTurn
from orc.conversations.turn_log import TurnLog
from orc.identity import Principal
from orc.memory.models import Memory
from orc.retention import Retention, open_retention
from orc.sharing import Sharing
from orc.traces.models import TraceFilter
from orc_core.bootstrap import open_documents
from orc_core.documents.places import Accessible
from orc_core.errors import DependencyDown
from orc_core.infra.items import VERSION, upsert
from orc_core.infra.settings import CoreSettings
from orc_core.names import BlobPath, Owner

pytestmark = [pytest.mark.contract("retention"), pytest.mark.slow]

OLD, USED, UPLOADED, LEFT = (Owner("acme", "ann", each) for each in ("old", "used", "uploaded", "left"))
TEAM = Owner.of_context("acme", "k3v9x2mq7hd4tz1w")
NOW = datetime.now(UTC)
LATER, SOON = NOW + timedelta(days=31), NOW + timedelta(days=29)


@pytest.fixture(params=["embedded", "azure"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass
class World:
    """A retention of 30 days, 31 days after everything was written."""

    retention: Retention
    settings: CoreSettings

    async def audit(self) -> list[AuditEntry]:
        return await self.retention.contexts.audit("acme", context_id=None, limit=100)

    async def left(self) -> dict[str, set[str]]:
        """The sessions and contexts of which each store has something."""
        stored = self.retention.sessions
        documents = stored.documents
        traces, _ = await stored.traces.page("acme", TraceFilter(), limit=100)
        found = {
            "turns": [o for o in (OLD, USED, UPLOADED, LEFT) if await stored.log.head(o)],
            "memory": [o for o in (OLD, USED, UPLOADED, LEFT) if await stored.memory.read(o)],
            "records": [each.owner for each in (await documents.stores.catalog.everything())[0]],
            "files": [each.path.owner for each in await documents.stores.blobs.list_all()],
            "index": [o for o in (OLD, USED, UPLOADED, LEFT, TEAM) if await self.finds(o)],
        }
        names = {name: {owner.conversation_id for owner in owners} for name, owners in found.items()}
        return {**names, "traces": {each.conversation_id for each in traces}}

    async def finds(self, owner: Owner) -> bool:
        documents = self.retention.sessions.documents
        return bool((await documents.retriever.search_places("fee", Accessible.of_owner(owner), 5)).hits)


@pytest.fixture
async def world(stored_in: CoreSettings, tmp_path: Path) -> AsyncIterator[World]:
    given = {"retention_days": 30, "retention_covers": "sessions"}
    async with open_documents(settings := stored_in.model_copy(update=given)) as documents:
        contexts = ContextStore(await documents.clients.items("contexts"))
        retention = replace(await open_retention(settings, documents, contexts), clock=lambda: LATER)
        (source := tmp_path / "fees.txt").write_text("The mooring fee is 410 euros.")
        for owner in (OLD, USED, UPLOADED, LEFT, TEAM):
            await documents.library.upload(owner, "fees.txt", source)
        await documents.worker.drain()
        items = await documents.clients.items("conversations")
        for owner, used in ((OLD, NOW), (USED, SOON), (UPLOADED, NOW)):
            log = TurnLog(items, clock=lambda used=used: used)  # type: ignore[misc]
            new = NewTurn(key="k", attempt="a", question="What is the fee?", request_hash="h")
            await log.begin(owner, new, lease_seconds=1)
            await retention.sessions.memory.write(owner, Memory())
            known: dict[str, Any] = {"organization_id": "acme", "user_id": "ann"}
            known["conversation_id"] = owner.conversation_id
            await retention.sessions.traces.save(trace(len(owner.conversation_id), **known))
        [uploaded] = await documents.library.recorded(UPLOADED)
        await documents.stores.catalog.save(uploaded.model_copy(update={"updated_at": SOON}))
        yield World(retention, settings)


async def test_an_unused_session_goes_with_all_that_belongs_to_it_and_everything_else_stays(
    world: World,
) -> None:
    before = await world.left()
    assert before["index"] == before["files"] == {"old", "used", "uploaded", "left", TEAM.conversation_id}
    assert before["turns"] == before["memory"] == before["traces"] == {"old", "used", "uploaded"}
    await world.retention.sweep()
    assert await world.left() == {name: each - {"old", "left"} for name, each in before.items()}
    entries = await world.audit()
    assert {(each.actor, each.action, each.principal, each.conversation_id) for each in entries} == {
        (BY_ORC, Action.SESSION_EXPIRED, "user:ann", "old"),
        (BY_ORC, Action.SESSION_EXPIRED, "user:ann", "left"),
    }


async def test_documents_of_contexts_go_only_if_the_settings_say_so(world: World) -> None:
    retention = replace(world.retention, of_contexts=True)
    await retention.sweep()
    left = await world.left()
    assert all(TEAM.conversation_id not in each for each in left.values())
    [entry] = [each for each in await world.audit() if each.action is Action.DOCUMENT_EXPIRED]
    assert (entry.context_id, entry.conversation_id) == (TEAM.conversation_id, None)
    assert entry.document_id is not None


async def test_processes_share_one_sweep_of_six_hours(world: World) -> None:
    await replace(world.retention, clock=lambda: NOW).sweep()
    await world.retention.sweep()
    assert "old" in (await world.left())["turns"]


async def test_without_a_retention_of_sessions_nothing_is_deleted(world: World) -> None:
    await replace(world.retention, seconds=None).sweep()
    assert "old" in (await world.left())["turns"]
    assert await world.audit() == []


class Free:
    """Marks of a sweep that was not made yet."""

    async def write(self, *_: object) -> None:
        """Nothing is noted, so any sweep is the first."""


class Hooked:
    """A part of the product before one of whose calls something happens, once."""

    def __init__(self, part: object, name: str, before: Callable[[], Awaitable[object]]) -> None:
        self._part, self._name, self._before = part, name, [before]

    def __getattr__(self, name: str) -> Any:
        called = getattr(self._part, name)
        if name != self._name:
            return called

        async def call(*args: object, **named: object) -> object:
            while self._before:
                await self._before.pop()()
            return await called(*args, **named)

        return call


def hooked(world: World, part: str, name: str, before: Callable[[], Awaitable[object]]) -> Retention:
    """The retention in which this happens once before a call of the library or of a store."""
    stored = world.retention.sessions
    if part == "library":
        library: Any = Hooked(stored.documents.library, name, before)
        stored = replace(stored, documents=replace(stored.documents, library=library))
    else:
        stored = replace(stored, **{part: Hooked(getattr(stored, part), name, before)})  # type: ignore[arg-type]
    return replace(world.retention, sessions=stored, marks=Free())  # type: ignore[arg-type]


async def ask(world: World, owner: Owner, key: str) -> None:
    new = NewTurn(key=key, attempt="a", question="And for families?", request_hash="h")
    await world.retention.sessions.log.begin(owner, new, lease_seconds=1)


async def test_nothing_of_a_session_in_use_expires_by_itself(world: World) -> None:
    clients = world.retention.sessions.documents.clients
    for name in ("conversations", "memory"):
        assert [each for each in await (await clients.items(name)).query(USED.key) if "ttl" in each] == []


async def test_a_file_that_has_no_record_yet_is_a_use_of_its_session(world: World, tmp_path: Path) -> None:
    before, blobs = await world.left(), world.retention.sessions.documents.stores.blobs
    await blobs.put(BlobPath(OLD, "direct.txt"), tmp_path / "fees.txt")
    await world.retention.sweep()
    after = await world.left()
    assert all("old" in after[name] for name in before)
    assert await blobs.head(BlobPath(OLD, "direct.txt"))


async def test_a_session_that_is_used_while_it_is_judged_stays_whole(world: World) -> None:
    stored = world.retention.sessions

    async def come_back() -> None:
        await ask(world, OLD, "back")

    # Only this one is old: what happens during its judgement happens to it.
    for owner in (LEFT, UPLOADED):
        await stored.delete(owner)
    await hooked(world, "library", "list_documents", come_back).sweep()
    assert "old" not in {each.conversation_id for each in await world.audit()}
    assert all("old" in each for each in (await world.left()).values())
    assert len(await stored.log.turns(OLD)) == 2


async def test_what_is_stored_while_a_session_is_deleted_stays(world: World, tmp_path: Path) -> None:
    stored, library = world.retention.sessions, world.retention.sessions.documents.library
    await stored.delete(LEFT)
    (tmp_path / "new.txt").write_text("The tide is high at noon.")

    async def come_back() -> None:
        await library.upload(OLD, "new.txt", tmp_path / "new.txt")
        await library.upload(OLD, "fees.txt", tmp_path / "new.txt")
        await ask(world, OLD, "back")
        await stored.memory.write(OLD, Memory())
        await sharing.share(Caller(Principal("acme", "ann")), OLD, 7)

    sharing = Sharing(stored.shared, stored.log, RevokedAnswers(), 90)
    await hooked(world, "library", "delete", come_back).sweep()
    assert {each.blob_name for each in await library.recorded(OLD)} == {"fees.txt", "new.txt"}
    assert [turn.turn_id for turn in await stored.log.turns(OLD)] == ["back"]
    assert await stored.memory.read(OLD)
    assert len(await sharing.links(OLD)) == 1


async def test_what_another_process_stores_during_the_deletion_of_a_document_stays(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, blobs = world.retention.sessions, world.retention.sessions.documents.stores.blobs
    await stored.delete(LEFT)
    (tmp_path / "new.txt").write_text("The tide is high at noon.")
    async with open_documents(world.settings) as other:

        async def replaced() -> None:
            await other.library.upload(OLD, "fees.txt", tmp_path / "new.txt")

        monkeypatch.setattr(blobs, "delete", Hooked(blobs, "delete", replaced).delete)
        await world.retention.sweep()
        await other.worker.drain()
        async with blobs.local_copy(BlobPath(OLD, "fees.txt")) as file:
            assert file.read_text() == "The tide is high at noon."
        found = await other.retriever.search_places("tide", Accessible.of_owner(OLD), 5)
        assert len(found.hits) == 1


async def test_the_next_sweep_finishes_a_deletion_that_was_cut_short(world: World) -> None:
    items = await world.retention.sessions.documents.clients.items("conversations")
    await world.retention.sessions.delete(LEFT)

    async def fail() -> None:
        raise DependencyDown("The database is down.", dependency="store")

    await hooked(world, "traces", "delete", fail).sweep()
    left = await world.left()
    assert ("old" in left["turns"], "old" in left["traces"]) == (False, True)
    assert await items.query(OLD.key) != []
    await replace(world.retention, marks=Free()).sweep()  # type: ignore[arg-type]
    assert all("old" not in each for each in (await world.left()).values())
    assert await items.query(OLD.key) == []


async def test_what_a_deletion_left_goes_although_a_new_session_has_its_id(world: World) -> None:
    items = await world.retention.sessions.documents.clients.items("conversations")
    await world.retention.sessions.delete(LEFT)

    async def fail() -> None:
        raise DependencyDown("The database is down.", dependency="store")

    await hooked(world, "traces", "delete", fail).sweep()
    log = TurnLog(items, clock=lambda: LATER)
    await log.begin(OLD, NewTurn(key="new", question="Hello?", request_hash="h"), lease_seconds=1)
    left = {each["id"].partition(":")[0] for each in await items.query(OLD.key)}
    assert left == {"head", "turn", "ended"}
    await replace(world.retention, marks=Free()).sweep()  # type: ignore[arg-type]
    turns = [each["item"].get("turn_id") for each in await items.query(OLD.key)]
    assert sorted(filter(None, turns)) == ["new"]
    assert await log.head(OLD)


@pytest.mark.parametrize("kind", ["documents", "conversations"])
async def test_what_cannot_be_read_stays_and_holds_nothing_else_up(world: World, kind: str) -> None:
    items = await world.retention.sessions.documents.clients.items(kind)
    [item] = [each for each in await items.query(OLD.key) if each["id"] == "head" or kind == "documents"]
    newer = {"status": "of-a-newer-version"} if kind == "documents" else {"item": {"title": 7}}
    kept = {name: value for name, value in item.items() if name != VERSION and name[0] != "_"}
    await items.write(OLD.key, upsert({**kept, **newer}))
    blobs = world.retention.sessions.documents.stores.blobs
    await world.retention.sweep()
    assert {each.conversation_id for each in await world.audit()} == {"left"}
    assert {each.path.owner for each in await blobs.list_all()} == {OLD, USED, UPLOADED, TEAM}
