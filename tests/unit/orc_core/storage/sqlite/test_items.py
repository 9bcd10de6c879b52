"""Every query of the stores finds its rows in SQLite by an index, without statistics of the tables."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from orc_core.infra.items import All, Condition, Some, Where, equal
from orc_core.infra.sqlite import Database, Result, Work
from orc_core.storage.sqlite.items import SqliteItems, Table
from orc_core.storage.sqlite.tables import CONTEXTS, CONVERSATIONS, DOCUMENTS, TABLES, TRACES

OWNER = ("acme", "ada", "c-1")
AMONG = Where("context_id", "in", ["a"])
MEMBERS = (equal(kind="member"), AMONG)
BELOW = Some([Where("context_id", "starts", "a-")])
RIGHTS = Some(
    [
        All([equal(kind="context"), AMONG]),
        All([*MEMBERS, Where("principal", "in", ["user:ada"])]),
        All([equal(kind="context", state="deleting"), BELOW]),
        All([equal(kind="context", restricts=True), BELOW]),
    ]
)
RECORDS = Where("id", "starts", "document:")
FIGURES = ("status", "input_tokens", "output_tokens", "cost_usd", "duration_ms")
Query = tuple[Table, Sequence[str], Sequence[Condition], str, Sequence[str], str]
QUERIES: dict[str, Query] = {
    "newest turns": (
        CONVERSATIONS,
        OWNER,
        [equal(life="l"), Where("seq", "<", 9)],
        "seq",
        (),
        "life=? AND seq<?",
    ),
    "conversations": (
        CONVERSATIONS,
        OWNER[:2],
        [Where("place", "<", "x")],
        "place",
        (),
        "user_id=? AND place<?",
    ),
    "rights": (CONTEXTS, ["acme"], [RIGHTS], "", (), "context_id=?"),
    "members": (CONTEXTS, ["acme"], [*MEMBERS, Where("sort_key", ">", "")], "sort_key", (), "context_id=?"),
    "granted": (
        CONTEXTS,
        ["acme"],
        [equal(kind="member"), Where("principal", "in", ["a"])],
        "",
        (),
        "principal=?",
    ),
    "children": (CONTEXTS, ["acme"], [equal(kind="context", parent_id="")], "sort_key", (), "parent_id=?"),
    "deleting": (CONTEXTS, [], [equal(kind="context", state="deleting")], "", (), "state=?"),
    "audit": (CONTEXTS, ["acme"], [equal(kind="audit")], "sort_key", (), "kind=?"),
    "traces": (TRACES, ["acme"], [Where("place", "<", "x")], "place", (), "place<?"),
    "traces by id": (
        TRACES,
        ["acme"],
        [equal(trace_id="x"), Where("place", "<", "x")],
        "place",
        (),
        "trace_id=?",
    ),
    "figures": (TRACES, ["acme", "2026-01-31"], [], "", FIGURES, "COVERING"),
    "records": (DOCUMENTS, OWNER, [RECORDS], "id", (), "conversation_id=? AND id>?"),
    "records of contexts": (DOCUMENTS, OWNER[:2], [Where("id", "in", ["x"])], "", (), "user_id=? AND id=?"),
    "count": (DOCUMENTS, OWNER, [RECORDS], "", ("readable", "status"), "COVERING"),
    "count below": (DOCUMENTS, OWNER[:2], [RECORDS], "", ("readable", "status"), "COVERING"),
    "sizes": (DOCUMENTS, ["acme"], [RECORDS], "", ("size",), "COVERING"),
    "same bytes": (DOCUMENTS, OWNER[:2], [equal(sha256="5", readable=True)], "", (), "sha256=?"),
    "unfinished": (DOCUMENTS, [], [Where("status", "in", ["uploaded"])], "", (), "status=?"),
}


class Explained(Database):
    """A database that says how it would find what it is asked for."""

    steps: tuple[str, ...] = ()

    async def read(self, work: Work[Result]) -> Result:
        def explained(connection: sqlite3.Connection) -> Result:
            statements: list[str] = []
            connection.set_trace_callback(statements.append)
            found = work(connection)
            connection.set_trace_callback(None)
            asked = next(each for each in statements if each.startswith("SELECT"))
            rows = connection.execute(f"EXPLAIN QUERY PLAN {asked}").fetchall()
            self.steps = tuple(row["detail"] for row in rows if "items_" in row["detail"])
            return found

        return await super().read(explained)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Explained]:
    opened = Explained(tmp_path / "orc.db")
    await opened.migrate(*(table.schema for table in TABLES.values()))
    yield opened
    await opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
async def test_a_query_finds_its_rows_by_an_index(database: Explained, name: str) -> None:
    table, partition, conditions, order, fields, expected = QUERIES[name]
    await SqliteItems(database, table).query(partition, *conditions, order=order, fields=fields)
    assert database.steps
    assert all(step.startswith("SEARCH") for step in database.steps), database.steps
    assert all(expected in step or "context_id>" in step for step in database.steps), database.steps
