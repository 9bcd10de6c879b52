"""Traces in the database on this machine."""

import sqlite3
from collections.abc import Callable
from datetime import date, datetime, timedelta

from core.infra.sqlite import Database
from orc.conversations.models import read_cursor, timestamp, utc_now, write_cursor
from orc.traces.models import DayTotals, TraceFilter, TurnTrace
from orc.traces.ports import before, earliest, place_of

SCHEMA = """
CREATE TABLE IF NOT EXISTS turn_traces (
    organization_id TEXT NOT NULL,
    attempt TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    started_at TEXT NOT NULL,
    day TEXT NOT NULL,
    user_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    status TEXT NOT NULL,
    intent TEXT,
    model TEXT,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL,
    duration_ms REAL NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (organization_id, attempt)
);
CREATE INDEX IF NOT EXISTS turn_traces_by_time ON turn_traces (organization_id, started_at, attempt);
CREATE INDEX IF NOT EXISTS turn_traces_by_id ON turn_traces (organization_id, trace_id, started_at, attempt);
CREATE INDEX IF NOT EXISTS turn_traces_by_day ON turn_traces (
    organization_id, day, duration_ms, status, input_tokens, output_tokens, cost_usd
)
"""

_PUT = f"INSERT OR IGNORE INTO turn_traces VALUES ({', '.join('?' * 15)})"
_DROP = "DELETE FROM turn_traces WHERE organization_id = ? AND started_at < ?"
_PAGE = """
SELECT item FROM turn_traces
WHERE organization_id = ? AND started_at >= ? AND (started_at, attempt) < (?, ?) {filters}
ORDER BY started_at DESC, attempt DESC LIMIT ?
"""
# The nearest rank of a share p among n turns is the first whose number is at least p times n.
_DAILY = """
WITH ranked AS (
    SELECT day, status, input_tokens, output_tokens, cost_usd, duration_ms,
        row_number() OVER (PARTITION BY day ORDER BY duration_ms) AS position,
        count(*) OVER (PARTITION BY day) AS of_all
    FROM turn_traces WHERE organization_id = ? AND day BETWEEN ? AND ?
)
SELECT day, count(*) AS turns, sum(status = 'failed') AS failed,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
    total(cost_usd) AS cost_usd, sum(cost_usd IS NULL) AS unpriced,
    min(CASE WHEN position * 100 >= of_all * 50 THEN duration_ms END) AS p50_ms,
    min(CASE WHEN position * 100 >= of_all * 95 THEN duration_ms END) AS p95_ms
FROM ranked GROUP BY day ORDER BY day
"""


class SqliteTraceStore:
    """A TraceStore over a database that has SCHEMA. What is older than the retention goes as traces come."""

    def __init__(
        self,
        database: Database,
        *,
        retention: timedelta | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._retention = retention
        self._clock = clock

    async def save(self, trace: TurnTrace) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_PUT, _row(trace))
            if self._retention is not None:
                oldest = timestamp(self._clock() - self._retention)
                connection.execute(_DROP, (trace.organization_id, oldest))

        await self._database.write(work)

    async def page(
        self, organization_id: str, wanted: TraceFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[TurnTrace], str | None]:
        place = before(wanted.until, read_cursor(cursor))
        query = _PAGE.format(filters=" ".join(f"AND {name} = ?" for name in wanted.fields))
        first = earliest(wanted.since)
        parameters = (organization_id, first, *place, *wanted.fields.values(), limit + 1)
        traces = await self._items(query, parameters)
        page = traces[:limit]
        return page, write_cursor(place_of(page[-1])) if len(traces) > limit else None

    async def daily(self, organization_id: str, since: date, until: date) -> list[DayTotals]:
        def work(connection: sqlite3.Connection) -> list[DayTotals]:
            rows = connection.execute(_DAILY, (organization_id, since.isoformat(), until.isoformat()))
            return [DayTotals.model_validate(dict(row)) for row in rows]

        return await self._database.read(work)

    async def _items(self, query: str, parameters: tuple[object, ...]) -> list[TurnTrace]:
        def work(connection: sqlite3.Connection) -> list[TurnTrace]:
            return [
                TurnTrace.model_validate_json(row["item"]) for row in connection.execute(query, parameters)
            ]

        return await self._database.read(work)


def _row(trace: TurnTrace) -> tuple[object, ...]:
    return (
        trace.organization_id,
        trace.attempt,
        trace.trace_id,
        timestamp(trace.started_at),
        trace.day,
        trace.user_id,
        trace.conversation_id,
        trace.status,
        trace.intent,
        trace.model,
        trace.usage.input_tokens,
        trace.usage.output_tokens,
        trace.cost_usd,
        trace.duration_ms,
        trace.model_dump_json(),
    )
