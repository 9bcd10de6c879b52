"""Risks of the SQLite adapter only: plans without an index, and expired traces."""

import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from devkit.sample_traces import NOON, ORGANIZATION, trace
from orc.traces import sqlite as adapter
from orc.traces.models import TraceFilter
from orc.traces.sqlite import SCHEMA, SqliteTraceStore
from orc_core.infra.sqlite import Database

EVERY = TraceFilter()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "orc.db")
    await opened.migrate(SCHEMA)
    yield opened
    await opened.close()


async def test_traces_older_than_the_retention_are_deleted(database: Database) -> None:
    for organization in (ORGANIZATION, "umbra"):
        for days in (0, 31):
            old = trace(days, NOON - timedelta(days=days), organization_id=organization)
            await SqliteTraceStore(database).save(old)
    store = SqliteTraceStore(database, retention=timedelta(days=30), clock=lambda: NOON)
    await store.save(trace(1))
    kept, _ = await store.page(ORGANIZATION, EVERY, limit=10)
    assert [each.turn_id for each in kept] == ["turn-1", "turn-0"]


@pytest.mark.parametrize(
    ("query", "parameters", "index"),
    [
        (adapter._PAGE.format(filters="AND trace_id = ?"), 6, "turn_traces_by_"),
        (adapter._PAGE.format(filters=""), 5, "turn_traces_by_time"),
        (adapter._PAGE.format(filters="AND user_id = ?"), 6, "turn_traces_by_time"),
        (adapter._DAILY, 3, "COVERING INDEX turn_traces_by_day"),
        (adapter._DROP, 2, "turn_traces_by_time"),
    ],
)
async def test_every_query_uses_an_index(database: Database, query: str, parameters: int, index: str) -> None:
    def plan(connection: sqlite3.Connection) -> str:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {query}", ("",) * parameters).fetchall()
        return "\n".join(row["detail"] for row in rows)

    steps = await database.read(plan)
    assert index in steps
    assert "SCAN turn_traces" not in steps
