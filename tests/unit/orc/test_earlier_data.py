"""What Orc 0.2 has stored in SQLite becomes items when the collections are opened, once and completely."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devkit.sample_traces import NOON, ORGANIZATION, trace
from orc.contexts.models import Action, AuditEntry, Context, ContextType, Member, Role, audit_key, member_key
from orc.contexts.store import ContextStore
from orc.conversations.models import NewTurn, Replayed, TurnOutcome
from orc.conversations.search import wanted
from orc.conversations.transitions import begin_turn, commit_turn, first_head
from orc.conversations.turn_log import TurnLog
from orc.limits.models import LimitStore, Window
from orc.memory.models import Memory
from orc.memory.service import MemoryStore
from orc.traces.models import TraceFilter, TraceStore
from orc_core.analysis.models import DocumentAnalysis, PageAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.catalog import Catalog
from orc_core.infra.sqlite import Database
from orc_core.models import BlobProperties, Document, DocumentStatus, StoredFile, UnwantedFile
from orc_core.names import BlobPath, Owner
from orc_core.storage.sqlite.items import open_table
from orc_core.storage.sqlite.tables import (
    ANALYSES,
    CONTEXTS,
    CONVERSATIONS,
    DOCUMENTS,
    LIMITS,
    MEMORY,
    TABLES,
    TRACES,
)

OWNER = Owner("acme", "ada", "c-1")
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
ODD_KEY = "a/key?"
TABLES_OF_0_2 = """
CREATE TABLE conversation_heads (organization_id, user_id, conversation_id, updated_at, item);
CREATE TABLE conversation_turns (organization_id, user_id, conversation_id, turn_id, seq, status, item);
CREATE TABLE conversation_memories (organization_id, user_id, conversation_id, item);
CREATE TABLE rate_limits (organization_id, user_id, name, counts);
CREATE TABLE turn_traces (organization_id, attempt, trace_id, started_at, day, user_id, conversation_id,
    status, intent, model, input_tokens, output_tokens, cost_usd, duration_ms, item);
CREATE TABLE contexts (organization_id, context_id, parent_id, name_folded, sort_key, state, version, item);
CREATE TABLE context_members (organization_id, context_id, principal, sort_key, role, item);
CREATE TABLE documents (organization_id, user_id, conversation_id, document_id, body);
CREATE TABLE stored_files (organization_id, document_id, etag, expires_at, body);
CREATE TABLE unwanted_files (provider, file_id, expires_at, body);
CREATE TABLE analyses (document_id, etag, method, body);
CREATE TABLE page_analyses (document_id, number, body);
CREATE TABLE context_audit (organization_id, sort_key, context_id, item);
"""
ACME = Context(
    organization_id="acme",
    context_id="a1",
    type=ContextType.ORGANIZATION,
    name="Acme",
    tools_off=("web_search",),
    version=3,
    created_by="ada",
    created_at=NOW,
    updated_at=NOW,
)
ADA = Member(
    organization_id="acme",
    context_id="a1",
    principal="group:a b/c",
    role=Role.ADMIN,
    granted_by="ada",
    granted_at=NOW,
)
ENTRY = AuditEntry(organization_id="acme", at=NOW, actor="ada", action=Action.CREATED, context_id="a1")

RECORD = Document.first_seen(BlobProperties(path=BlobPath(OWNER, "a.pdf"), etag="v1", size=3)).model_copy(
    update={"status": DocumentStatus.COMPLETED, "readable": True, "sha256": "5" * 64}
)
REFERENCE = StoredFile(
    file_id="file-1",
    blob_name="a.pdf",
    organization_id="acme",
    user_id="ada",
    conversation_id="c-1",
    document_id=RECORD.document_id,
    etag="v1",
    expires_at=NOW + timedelta(days=1),
)
UNWANTED = UnwantedFile(file_id="file-2", provider="host", expires_at=NOW)
ANALYSIS = DocumentAnalysis(document_id=RECORD.document_id, etag="v1", method="extractive", pages=3)


def insert(connection: sqlite3.Connection, table: str, *row: object) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def fill(connection: sqlite3.Connection) -> None:
    """Rows as Orc 0.2 has written them."""
    head, turn = first_head(OWNER, NOW), None
    for number, key in enumerate((ODD_KEY, "plain"), 1):
        new = NewTurn(key=key, attempt="a", request_hash="h", question=f"What is covered by part {number}?")
        head, turn = begin_turn(head, None, new, 60, NOW)
        head, turn = commit_turn(head, turn, "a", TurnOutcome(answer="Teeth.", result={"n": number}), NOW)
        stored = turn.model_dump_json()
        insert(connection, "conversation_turns", *OWNER.key, key, turn.seq, turn.listed_as, stored)
    used = NOW.isoformat(timespec="microseconds")
    insert(connection, "conversation_heads", *OWNER.key, used, head.model_dump_json())
    memory = Memory(version=4, noted_seq=2).model_dump_json()
    insert(connection, "conversation_memories", *OWNER.key, memory)
    counts = json.dumps({str(int(NOW.timestamp() // 60)): 2})
    insert(connection, "rate_limits", "acme", "ada", "messages", counts)
    kept = trace(1)
    columns = {"trace_id", "attempt", "organization_id", "user_id", "conversation_id", "status", "intent"}
    fields = kept.model_dump(include={*columns, "model", "cost_usd", "duration_ms"}) | {
        "day": kept.day,
        "input_tokens": kept.usage.input_tokens,
        "output_tokens": kept.usage.output_tokens,
        "started_at": kept.started_at.isoformat(timespec="microseconds"),
    }
    names = ", ".join([*fields, "item"])
    values = (*fields.values(), kept.model_dump_json())
    connection.execute(f"INSERT INTO turn_traces ({names}) VALUES ({', '.join('?' * len(values))})", values)
    row = ("acme", "a1", "", "acme", ACME.sort_key, ACME.state, ACME.version, ACME.model_dump_json())
    insert(connection, "contexts", *row)
    member = ("acme", "a1", ADA.principal, member_key(ADA), ADA.role, ADA.model_dump_json())
    insert(connection, "context_members", *member)
    insert(connection, "context_audit", "acme", audit_key(ENTRY), "a1", ENTRY.model_dump_json())


def fill_documents(connection: sqlite3.Connection) -> None:
    insert(connection, "documents", *OWNER.key, RECORD.document_id, RECORD.model_dump_json())
    # Orc 0.1 did not write whose a reference is.
    reference = REFERENCE.model_dump_json(exclude={"user_id", "conversation_id"})
    insert(connection, "stored_files", "acme", RECORD.document_id, "v1", 0, reference)
    insert(connection, "unwanted_files", "host", "file-2", 0, UNWANTED.model_dump_json())
    known = ANALYSIS.model_dump_json()
    insert(connection, "analyses", ANALYSIS.document_id, ANALYSIS.etag, ANALYSIS.method, known)
    insert(connection, "page_analyses", ANALYSIS.document_id, 2, PageAnalysis(page=2).model_dump_json())


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    with closing(sqlite3.connect(tmp_path / "orc.db")) as connection, connection:
        connection.executescript(TABLES_OF_0_2)
        fill(connection)
        fill_documents(connection)
    opened = Database(tmp_path / "orc.db")
    yield opened
    await opened.close()


async def test_turns_are_found_by_their_keys_and_the_conversation_goes_on(database: Database) -> None:
    log = TurnLog(await open_table(database, CONVERSATIONS), clock=lambda: NOW)
    assert [(turn.turn_id, turn.result) for turn in await log.turns(OWNER)] == [
        (ODD_KEY, {"n": 1}),
        ("plain", {"n": 2}),
    ]
    for key in (ODD_KEY, "plain"):
        new = NewTurn(key=key, request_hash="h", question="?")
        assert isinstance(await log.begin(OWNER, new, lease_seconds=60), Replayed)
    begun = await log.begin(OWNER, NewTurn(key="new", request_hash="h", question="?"), lease_seconds=60)
    assert begun.turn.seq == 3
    [head], _ = await log.conversations("acme", "ada", limit=5, words=wanted("covered"))
    assert head.turn_count == 3
    assert await log.delete(OWNER)
    [left] = await database.rows("SELECT count(*) AS items FROM items_conversations")
    assert left["items"] == 0


async def test_memory_limits_and_traces_stay(database: Database) -> None:
    memory = await MemoryStore(await open_table(database, MEMORY)).read(OWNER)
    assert memory == Memory(version=4, noted_seq=2)
    limits = LimitStore(await open_table(database, LIMITS), NOW.timestamp)
    assert (await limits.take("acme", "ada", "messages", 1, Window(10, 3600))).remaining == 7
    traces = TraceStore(await open_table(database, TRACES))
    its_id = TraceFilter(trace_id=trace(1).trace_id)
    assert await traces.page(ORGANIZATION, its_id, limit=5) == ([trace(1)], None)
    [day] = await traces.daily(ORGANIZATION, NOON.date(), NOON.date())
    assert day.turns == 1


async def test_traces_of_earlier_versions_expire_too(database: Database) -> None:
    items = await open_table(database, TRACES, ttl=3600)
    assert await items.query([ORGANIZATION]) == []


async def test_contexts_keep_members_rights_and_audit(database: Database) -> None:
    store = ContextStore(await open_table(database, CONTEXTS))
    rights = await store.rights("acme", ["a1"], [ADA.principal], below=["a"])
    assert (rights.contexts, rights.granted) == ({"a1": ACME}, {"a1": Role.ADMIN})
    assert await store.audit("acme", context_id="a1", limit=5) == [ENTRY]
    assert await store.children("acme", None, words=["acm"], limit=5, after="") == [ACME]
    await store.withdraw(ACME, ADA.principal, ENTRY.model_copy(update={"entry_id": "e2"}))
    assert await store.members("acme", ["a1"], limit=5) == []


async def test_records_of_documents_stay_with_their_files_and_analyses(database: Database) -> None:
    catalog = Catalog(await open_table(database, DOCUMENTS), clock=lambda: NOW)
    assert await catalog.list_in(OWNER) == await catalog.completed() == [RECORD]
    assert await catalog.duplicates(OWNER, "5" * 64) == [RECORD]
    assert await catalog.stored_bytes("acme") == 3
    assert await catalog.live_files([RECORD]) == await catalog.files_of(RECORD.path) == [REFERENCE]
    await catalog.drop_files([REFERENCE])
    assert await catalog.files_of(RECORD.path) == []
    assert await catalog.unwanted() == [UNWANTED]
    await catalog.drop_unwanted([UNWANTED])
    assert await catalog.unwanted() == []
    analyses = AnalysisStore(await open_table(database, ANALYSES))
    assert await analyses.get([RECORD.document_id]) == {RECORD.document_id: ANALYSIS}
    assert await analyses.save_pages(ANALYSIS, [PageAnalysis(page=1)])
    assert [each.page for each in await analyses.pages(RECORD.document_id)] == [1, 2]


async def test_opening_twice_changes_nothing_and_the_old_tables_are_gone(database: Database) -> None:
    for _ in range(2):
        for table in TABLES.values():
            await open_table(database, table)
    rows = await database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = {row["name"] for row in rows}
    assert names == {table.table for table in TABLES.values()}
    [found] = await database.rows("SELECT count(*) AS items FROM items_conversations")
    assert found["items"] == 3
