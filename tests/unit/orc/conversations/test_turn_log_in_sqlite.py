"""The turn log over SQLite: killed processes, damaged rows, reads that are bounded."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devkit.store_pairs import items_here
from orc.conversations.models import NewTurn, Started, TurnOutcome, TurnStatus
from orc.conversations.stored import HEAD
from orc.conversations.turn_log import TurnLog
from orc_core.errors import DependencyDown
from orc_core.infra.items import over
from orc_core.infra.sqlite import Database, Result, Work
from orc_core.names import Owner
from orc_core.storage.sqlite.tables import CONVERSATIONS

ROOT = Path(__file__).resolve().parents[4]
OWNER = Owner("acme", "ada", "c-1")
KILLS = 5
ANSWERS_BEFORE_KILL = (3, 7, 12, 20, 31)

CHILD = """
import asyncio, sys
from pathlib import Path
from orc_core.names import Owner
from orc_core.infra.sqlite import Database
from orc.conversations.models import NewTurn, TurnOutcome
from orc.conversations.turn_log import TurnLog
from orc_core.storage.sqlite.items import SqliteItems
from orc_core.storage.sqlite.tables import CONVERSATIONS

async def ask_on(log, prefix):
    owner = Owner("acme", "ada", "c-1")
    for n in range(100_000):
        new = NewTurn(key=f"{prefix}-{n}", request_hash="h", question="?")
        begun = await log.begin(owner, new, lease_seconds=5)
        outcome = TurnOutcome(answer=new.key, result={"key": new.key})
        turn = await log.commit(owner, new.key, begun.turn.attempt, outcome)
        sys.stdout.write(f"{turn.seq} {turn.turn_id}\\n")
        sys.stdout.flush()

async def main(path, prefix):
    log = TurnLog(SqliteItems(Database(Path(path)), CONVERSATIONS))
    # A kill may find no worker in the middle of a turn, so each child also leaves this one open.
    left = NewTurn(key=f"{prefix}-left", request_hash="h", question="?")
    await log.begin(Owner("acme", "ada", "c-1"), left, lease_seconds=5)
    await asyncio.gather(*(ask_on(log, f"{prefix}-{worker}") for worker in range(3)))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(CONVERSATIONS.schema)
    yield database
    await database.close()


def in_an_hour() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


async def acknowledged_before_kill(path: Path, prefix: str, answers: int) -> dict[int, str]:
    """Run the child until it has acknowledged this many commits, kill it, and return all it acknowledged."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(path), prefix, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert child.stdout is not None
    lines = [await asyncio.wait_for(child.stdout.readline(), 30) for _ in range(answers)]
    child.kill()
    lines += (await child.stdout.read()).splitlines(keepends=True)
    assert await child.wait() != 0
    whole = [line.decode().split() for line in lines if line.endswith(b"\n")]
    return {int(seq): turn_id for seq, turn_id in whole}


@pytest.mark.slow
async def test_kill_9_loses_no_acknowledged_turn_and_leaves_no_gap(database: Database) -> None:
    acknowledged: dict[int, str] = {}
    for kill in range(KILLS):
        confirmed = await acknowledged_before_kill(database.path, f"run{kill}", ANSWERS_BEFORE_KILL[kill])
        assert not acknowledged.keys() & confirmed.keys()
        acknowledged |= confirmed

    log = TurnLog(items_here(database, "conversations"), clock=in_an_hour)
    turns = await log.turns(OWNER, limit=100_000)
    head = await log.head(OWNER)
    assert [turn.seq for turn in turns] == list(range(1, len(turns) + 1))
    assert head is not None
    assert head.turn_count == len(turns)
    committed = {turn.seq: turn.turn_id for turn in turns if turn.status is TurnStatus.COMMITTED}
    assert acknowledged.items() <= committed.items()
    assert all(turn.result == {"key": turn.turn_id} for turn in turns if turn.seq in committed)
    interrupted = [turn for turn in turns if turn.seq not in committed]
    assert {f"run{kill}-left" for kill in range(KILLS)} <= {turn.turn_id for turn in interrupted}
    for turn in interrupted:
        assert turn.failure is not None
        assert turn.failure.code == "interrupted"
        new = NewTurn(key=turn.turn_id, request_hash="h", question="?")
        begun = await log.begin(OWNER, new, lease_seconds=5)
        assert isinstance(begun, Started)
        assert begun.turn.seq == turn.seq


async def ask(log: TurnLog, key: str) -> None:
    begun = await log.begin(OWNER, NewTurn(key=key, request_hash="h", question="?"), lease_seconds=60)
    await log.commit(OWNER, key, begun.turn.attempt, TurnOutcome(answer="!", result={}))


async def test_an_unreadable_head_is_an_error_and_is_not_changed(database: Database) -> None:
    log = TurnLog(items_here(database, "conversations"))
    await ask(log, "k1")
    await database.execute(("UPDATE items_conversations SET body = '{' WHERE id = 'head'", ()))
    for call in (log.head(OWNER), log.ensure_conversation(OWNER), ask(log, "k2")):
        with pytest.raises(ValueError, match="Expecting"):
            await call


async def test_an_unreadable_turn_is_never_omitted(database: Database) -> None:
    log = TurnLog(items_here(database, "conversations"))
    await ask(log, "k1")
    await database.execute(("UPDATE items_conversations SET body = '{' WHERE id != 'head'", ()))
    for call in (log.turns(OWNER), log.turn(OWNER, "k1"), ask(log, "k2")):
        with pytest.raises(ValueError, match="Expecting"):
            await call


async def test_a_commit_that_fails_halfway_stores_nothing(database: Database) -> None:
    log = TurnLog(items_here(database, "conversations"))
    await ask(log, "k1")
    before = await log.turns(OWNER), await log.head(OWNER)

    def refuse_turns(connection: sqlite3.Connection) -> None:
        for event in ("INSERT", "UPDATE"):
            connection.execute(
                f"CREATE TRIGGER refuse_{event} BEFORE {event} ON items_conversations "
                "WHEN new.id != 'head' "
                "BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )

    await database.write(refuse_turns)
    with pytest.raises(sqlite3.IntegrityError):
        await ask(log, "k2")
    assert (await log.turns(OWNER), await log.head(OWNER)) == before


async def test_a_store_that_cannot_be_opened_is_down_not_empty(tmp_path: Path) -> None:
    database = Database(tmp_path)
    log = TurnLog(items_here(database, "conversations"))
    for call in (log.head(OWNER), log.turns(OWNER), log.ping()):
        with pytest.raises(DependencyDown):
            await call
    await database.close()


class Watched(Database):
    """A database that notes the statements of its reads."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.statements: list[str] = []

    async def read(self, work: Work[Result]) -> Result:
        def watched(connection: sqlite3.Connection) -> Result:
            connection.set_trace_callback(self.statements.append)
            try:
                return work(connection)
            finally:
                connection.set_trace_callback(None)

        return await super().read(watched)


@pytest.mark.slow
async def test_a_long_conversation_opens_with_one_bounded_query(tmp_path: Path) -> None:
    database = Watched(tmp_path / "orc.db")
    await database.migrate(CONVERSATIONS.schema)
    log = TurnLog(items_here(database, "conversations"))
    for number in range(120):
        await log.begin(OWNER, NewTurn(key=str(number), request_hash="h", question="?"), lease_seconds=60)
    database.statements.clear()
    page = await log.page(OWNER, limit=50)
    turns = database.statements[-1]
    assert turns.endswith("ORDER BY seq DESC LIMIT 50")
    assert page is not None
    assert [turn.seq for turn in page.turns] == list(range(71, 121))
    await database.close()


async def test_a_conversation_keeps_what_only_a_newer_version_knows_of_it(database: Database) -> None:
    log = TurnLog(items := items_here(database, "conversations"))
    await log.ensure_conversation(OWNER)
    stored = await items.read(OWNER.key, HEAD)
    assert stored is not None
    newer = {name: stored[name] for name in ("id", "life", "place", "home")}
    await items.write(OWNER.key, over(stored, {**newer, "item": {**stored["item"], "colour": "red"}}))
    await log.pin(OWNER, True)
    kept = await items.read(OWNER.key, HEAD)
    assert kept is not None
    assert (kept["item"]["colour"], kept["item"]["is_pinned"]) == ("red", True)
