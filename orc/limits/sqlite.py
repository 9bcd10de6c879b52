"""Counts of rate limits in SQLite: one row for each user and limit."""

import json
import sqlite3
import time
from collections.abc import Callable

from orc.limits.window import Counts, Taken, Window, give_back, take
from orc_core.infra.sqlite import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS rate_limits (
    organization_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (organization_id, user_id, name)
) WITHOUT ROWID
"""
_GET = "SELECT counts FROM rate_limits WHERE organization_id = ? AND user_id = ? AND name = ?"
_PUT = "REPLACE INTO rate_limits (organization_id, user_id, name, counts) VALUES (?, ?, ?, ?)"


class SqliteLimitStore:
    """A LimitStore over a database with SCHEMA. `clock` returns seconds since the epoch."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def take(self, organization_id: str, user_id: str, name: str, amount: int, window: Window) -> Taken:
        key = (organization_id, user_id, name)

        def work(connection: sqlite3.Connection) -> Taken:
            taken, counts = take(_counts(connection, key), amount, window, self._clock())
            if taken.is_allowed:
                connection.execute(_PUT, (*key, json.dumps(counts)))
            return taken

        return await self._database.write(work)

    async def give_back(
        self, organization_id: str, user_id: str, name: str, amount: int, window: Window
    ) -> None:
        key = (organization_id, user_id, name)

        def work(connection: sqlite3.Connection) -> None:
            counts = give_back(_counts(connection, key), amount, window, self._clock())
            connection.execute(_PUT, (*key, json.dumps(counts)))

        await self._database.write(work)

    async def ping(self) -> None:
        await self._database.ping()


def _counts(connection: sqlite3.Connection, key: tuple[str, str, str]) -> Counts:
    row = connection.execute(_GET, key).fetchone()
    return {} if row is None else {int(slot): count for slot, count in json.loads(row["counts"]).items()}
