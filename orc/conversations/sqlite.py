"""The turn log in SQLite: one row per turn, one per head, each holding its item as JSON."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime

from orc.conversations import transitions
from orc.conversations.listing import first_page, place_of, read_cursor
from orc.conversations.models import (
    HISTORY_TURNS,
    NO_SEQ,
    Begun,
    Failure,
    Feedback,
    Head,
    NewTurn,
    Replayed,
    Started,
    TitleBy,
    Turn,
    TurnOutcome,
    TurnPage,
    TurnStatus,
    utc_now,
)
from orc.conversations.search import Wanted
from orc_core.infra.sqlite import Database
from orc_core.names import Owner

SCHEMA = """
CREATE TABLE IF NOT EXISTS conversation_heads (
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id, conversation_id)
);
CREATE INDEX IF NOT EXISTS conversation_heads_by_use
    ON conversation_heads (organization_id, user_id, updated_at, conversation_id);
CREATE TABLE IF NOT EXISTS conversation_turns (
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id, conversation_id, turn_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS conversation_turns_by_seq
    ON conversation_turns (organization_id, user_id, conversation_id, seq);
CREATE INDEX IF NOT EXISTS conversation_turns_committed
    ON conversation_turns (organization_id, user_id, conversation_id, seq) WHERE status = 'committed'
"""

_OWNED = "organization_id = ? AND user_id = ? AND conversation_id = ?"
_GET_HEAD = f"SELECT item FROM conversation_heads WHERE {_OWNED}"
_PUT_HEAD = """
INSERT INTO conversation_heads (organization_id, user_id, conversation_id, updated_at, item)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (organization_id, user_id, conversation_id)
DO UPDATE SET updated_at = excluded.updated_at, item = excluded.item
"""
_DELETE_HEAD = f"DELETE FROM conversation_heads WHERE {_OWNED}"
_LIST_HEADS = """
SELECT item FROM conversation_heads
WHERE organization_id = ? AND user_id = ? AND (updated_at, conversation_id) < (?, ?){found}
ORDER BY updated_at DESC, conversation_id DESC LIMIT ?
"""
_HAS_WORD = """
 AND ({fragments} OR json_extract(item, '$.words') IS NULL AND instr(lower(json_extract(item, '$.title')), ?))
"""
_HAS_FRAGMENT = "instr(json_extract(item, '$.words'), ?) OR instr(json_extract(item, '$.title_words'), ?)"
_OPENED_IN = " AND json_extract(item, '$.home') = ?"
_GET_TURN = f"SELECT item FROM conversation_turns WHERE {_OWNED} AND turn_id = ?"
_PUT_TURN = """
INSERT INTO conversation_turns (organization_id, user_id, conversation_id, turn_id, seq, status, item)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (organization_id, user_id, conversation_id, turn_id)
DO UPDATE SET status = excluded.status, item = excluded.item
"""
_LIST_TURNS = f"SELECT item FROM conversation_turns WHERE {_OWNED} AND seq > ? ORDER BY seq LIMIT ?"
_LIST_NEWEST = f"SELECT item FROM conversation_turns WHERE {_OWNED} AND seq < ? ORDER BY seq DESC LIMIT ?"
_LIST_COMMITTED_BEFORE = f"""
SELECT item FROM conversation_turns
WHERE {_OWNED} AND status = '{TurnStatus.COMMITTED}' AND seq < ? ORDER BY seq DESC LIMIT ?
"""
_DELETE_TURNS = f"DELETE FROM conversation_turns WHERE {_OWNED}"


class SqliteTurnLog:
    """A TurnLog over a database with SCHEMA. `clock` returns aware datetimes."""

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._clock = clock

    async def begin(
        self,
        owner: Owner,
        new: NewTurn,
        *,
        lease_seconds: float,
        history_limit: int = HISTORY_TURNS,
        on_started: Callable[[Started], object] | None = None,
    ) -> Begun:
        def work(connection: sqlite3.Connection) -> Begun:
            now = self._clock()
            known = _get_head(connection, owner)
            head = known or transitions.first_head(owner, now)
            stored = _get_turn(connection, owner, new.key)
            replaced = None
            if new.replaces is not None and stored is None:
                replaced = _last_version(connection, owner, new.replaces)
            head, turn = transitions.begin_turn(head, stored, new, lease_seconds, now, replaced)
            if turn.status.has_result:
                return Replayed(turn=turn)
            if head is not known:
                _put_head(connection, head)
            if replaced is not None:
                _put_turn(connection, owner, transitions.replaced_turn(replaced, turn))
            _put_turn(connection, owner, turn)
            before = (*owner.key, turn.seq, history_limit)
            rows = connection.execute(_LIST_COMMITTED_BEFORE, before).fetchall()
            found = [Turn.model_validate_json(item) for (item,) in rows]
            return Started(turn=turn, head=head, history=transitions.history_of(found, now))

        def report(begun: Begun) -> None:
            if on_started is not None and isinstance(begun, Started):
                on_started(begun)

        return await self._database.write(work, report)

    async def renew(self, owner: Owner, turn_id: str, attempt: str, *, lease_seconds: float) -> Turn:
        return await self._change(
            owner, turn_id, lambda turn, now: transitions.renew_turn(turn, attempt, lease_seconds, now)
        )

    async def commit(self, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        def work(connection: sqlite3.Connection) -> Turn:
            stored = _get_turn(connection, owner, turn_id)
            head = _get_head(connection, owner)
            head, turn = transitions.commit_turn(head, stored, attempt, outcome, self._clock())
            _put_head(connection, head)
            return _put_turn(connection, owner, turn)

        return await self._database.write(work)

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        failure = Failure(code=code, message=message)
        return await self._change(
            owner, turn_id, lambda turn, now: transitions.fail_turn(turn, attempt, failure, now)
        )

    async def ask_to_stop(self, owner: Owner, turn_id: str) -> Turn:
        asked = await self._change(owner, turn_id, transitions.ask_to_stop)
        return transitions.as_read(asked, self._clock())

    async def rate(self, owner: Owner, turn_id: str, feedback: Feedback | None) -> Turn:
        rated = await self._change(
            owner, turn_id, lambda turn, now: transitions.rate_turn(turn, feedback, now)
        )
        return transitions.as_read(rated, self._clock())

    async def head(self, owner: Owner) -> Head | None:
        return await self._database.read(lambda connection: _get_head(connection, owner))

    async def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        stored = await self._database.read(lambda connection: _get_turn(connection, owner, turn_id))
        return None if stored is None else transitions.as_read(stored, self._clock())

    async def turns(self, owner: Owner, *, after_seq: int = 0, limit: int = 100) -> list[Turn]:
        rows = await self._database.rows(_LIST_TURNS, (*owner.key, after_seq, limit))
        turns = [Turn.model_validate_json(row["item"]) for row in rows]
        return [transitions.as_read(turn, self._clock()) for turn in turns]

    async def page(self, owner: Owner, *, limit: int, before_seq: int | None = None) -> TurnPage | None:
        def work(connection: sqlite3.Connection) -> tuple[Head | None, list[Turn]]:
            head = _get_head(connection, owner)
            before = NO_SEQ if before_seq is None else before_seq
            rows = [] if head is None else connection.execute(_LIST_NEWEST, (*owner.key, before, limit))
            return head, [Turn.model_validate_json(item) for (item,) in rows]

        head, turns = await self._database.read(work)
        if head is None:
            return None
        now = self._clock()
        return TurnPage(head=head, turns=[transitions.as_read(turn, now) for turn in reversed(turns)])

    async def conversations(
        self,
        organization_id: str,
        user_id: str,
        *,
        limit: int,
        cursor: str | None = None,
        words: Sequence[Wanted] = (),
        home: str | None = None,
    ) -> tuple[list[Head], str | None]:
        found, texts = _condition(words)
        if home is not None:
            found, texts = found + _OPENED_IN, [*texts, home]
        place = (organization_id, user_id, *read_cursor(cursor))
        rows = await self._database.rows(_LIST_HEADS.format(found=found), (*place, *texts, limit + 1))
        heads = [Head.model_validate_json(row["item"]) for row in rows]
        return first_page(heads, limit, place_of)

    async def retitle(self, owner: Owner, title: str, by: TitleBy = TitleBy.USER) -> Head:
        def work(connection: sqlite3.Connection) -> Head:
            return _put_head(connection, transitions.retitle_head(_get_head(connection, owner), title, by))

        return await self._database.write(work)

    async def ensure_conversation(self, owner: Owner, file: str = "") -> Head:
        def work(connection: sqlite3.Connection) -> Head:
            head = _get_head(connection, owner)
            return head or _put_head(connection, transitions.first_head(owner, self._clock(), file))

        return await self._database.write(work)

    async def delete(self, owner: Owner) -> bool:
        return await self._database.erase((_DELETE_TURNS, owner.key), (_DELETE_HEAD, owner.key)) > 0

    async def ping(self) -> None:
        await self._database.ping()

    async def _change(
        self, owner: Owner, turn_id: str, change: Callable[[Turn | None, datetime], Turn]
    ) -> Turn:
        def work(connection: sqlite3.Connection) -> Turn:
            stored = _get_turn(connection, owner, turn_id)
            turn = change(stored, self._clock())
            return turn if turn is stored else _put_turn(connection, owner, turn)

        return await self._database.write(work)


def _condition(words: Sequence[Wanted]) -> tuple[str, list[str]]:
    """The part of a statement that finds heads with all of the words, and its parameters."""
    condition, texts = "", list[str]()
    for word in words:
        condition += _HAS_WORD.format(fragments=" OR ".join([_HAS_FRAGMENT] * len(word.fragments)))
        texts += [text for fragment in word.fragments for text in (fragment, fragment)] + [word.plain]
    return condition, texts


def _get_head(connection: sqlite3.Connection, owner: Owner) -> Head | None:
    row = connection.execute(_GET_HEAD, owner.key).fetchone()
    return None if row is None else Head.model_validate_json(row["item"])


def _put_head(connection: sqlite3.Connection, head: Head) -> Head:
    updated_at, _ = place_of(head)
    connection.execute(_PUT_HEAD, (*head.owner.key, updated_at, head.model_dump_json()))
    return head


def _get_turn(connection: sqlite3.Connection, owner: Owner, turn_id: str) -> Turn | None:
    row = connection.execute(_GET_TURN, (*owner.key, turn_id)).fetchone()
    return None if row is None else Turn.model_validate_json(row["item"])


def _last_version(connection: sqlite3.Connection, owner: Owner, turn_id: str) -> Turn:
    """The last version of a turn; NotFound if there is none."""
    turn = _get_turn(connection, owner, turn_id)
    while turn is not None and turn.replaced_by is not None:
        turn = _get_turn(connection, owner, turn.replaced_by)
    if turn is None:
        raise transitions.missing_turn()
    return turn


def _put_turn(connection: sqlite3.Connection, owner: Owner, turn: Turn) -> Turn:
    item = turn.model_dump_json()
    connection.execute(_PUT_TURN, (*owner.key, turn.turn_id, turn.seq, turn.listed_as, item))
    return turn
