"""Traces in the database on this machine."""

from collections.abc import Callable
from datetime import date, datetime, timedelta

from orc.conversations.listing import first_page, read_cursor, timestamp
from orc.conversations.models import utc_now
from orc.traces.models import DayTotals, TraceFilter, TurnTrace, before, earliest, place_of, stored_fields
from orc_core.infra.sqlite import Database, Statement
from orc_core.names import Owner

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
);
CREATE INDEX IF NOT EXISTS turn_traces_by_conversation ON turn_traces (
    organization_id, user_id, conversation_id
)
"""

_DROP = "DELETE FROM turn_traces WHERE organization_id = ? AND started_at < ?"
_DELETE = "DELETE FROM turn_traces WHERE organization_id = ? AND user_id = ? AND conversation_id = ?"
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
    """A TraceStore over a database with SCHEMA. Saving a trace removes those past their retention."""

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
        item = {"started_at": timestamp(trace.started_at), "item": trace.model_dump_json()}
        row = {**stored_fields(trace), **item}
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        statements: list[Statement] = [
            (f"INSERT OR REPLACE INTO turn_traces ({names}) VALUES ({values})", row)
        ]
        if self._retention is not None:
            oldest = timestamp(self._clock() - self._retention)
            statements.append((_DROP, (trace.organization_id, oldest)))
        await self._database.execute(*statements)

    async def delete(self, owner: Owner) -> None:
        await self._database.erase((_DELETE, owner.key))

    async def page(
        self, organization_id: str, wanted: TraceFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[TurnTrace], str | None]:
        place = before(wanted.until, read_cursor(cursor))
        query = _PAGE.format(filters=" ".join(f"AND {name} = ?" for name in wanted.fields))
        parameters = (organization_id, earliest(wanted.since), *place, *wanted.fields.values(), limit + 1)
        rows = await self._database.rows(query, parameters)
        traces = [TurnTrace.model_validate_json(row["item"]) for row in rows]
        return first_page(traces, limit, place_of)

    async def daily(self, organization_id: str, since: date, until: date) -> list[DayTotals]:
        days = (organization_id, since.isoformat(), until.isoformat())
        return [DayTotals.model_validate(dict(row)) for row in await self._database.rows(_DAILY, days)]
