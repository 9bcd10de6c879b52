"""Traces in Cosmos DB: a partition is one organization's day, a trace an item in it."""

import asyncio
from datetime import date, timedelta

from orc.conversations.listing import first_page, read_cursor, sortable
from orc.traces.models import (
    DayTotals,
    TraceFilter,
    TurnFigures,
    TurnTrace,
    before,
    earliest,
    place_of,
    stored_fields,
    totals_of,
)
from orc_core.names import Owner
from orc_core.storage.cosmos.client import Container

DAYS_AT_ONCE = 8
# The key's beginning is repeated: a query over several partitions is not bound to it by that alone.
_PAGE = """
SELECT TOP @limit * FROM c
WHERE c.organization_id = @organization_id AND c.place >= @since AND c.place < @before {filters}
ORDER BY c.place DESC
"""
_OF_CONVERSATION = """
SELECT c.id, c.day FROM c WHERE c.organization_id = @organization AND c.user_id = @user
AND c.conversation_id = @conversation
"""
_FIGURES = f"SELECT {', '.join(f'c.{name}' for name in TurnFigures.model_fields)} FROM c WHERE c.day = @day"


class CosmosTraceStore:
    """A TraceStore over one container with the key [organization_id, day]."""

    def __init__(self, container: Container, *, retention_seconds: int | None = None) -> None:
        self._container = container
        self._expiry = {} if retention_seconds is None else {"ttl": retention_seconds}

    async def save(self, trace: TurnTrace) -> None:
        # The same item for every writer and every retry: a lost confirmation does no harm.
        place, record = sortable(place_of(trace)), trace.model_dump(mode="json")
        item = {"id": trace.attempt, **stored_fields(trace), "place": place, "item": record}
        await self._container.upsert(item | self._expiry)

    async def delete(self, owner: Owner) -> None:
        wanted = {
            "organization": owner.organization_id,
            "user": owner.user_id,
            "conversation": owner.conversation_id,
        }
        for found in await self._container.query(_OF_CONVERSATION, wanted, [owner.organization_id]):
            await self._container.delete(found["id"], (owner.organization_id, found["day"]))

    async def page(
        self, organization_id: str, wanted: TraceFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[TurnTrace], str | None]:
        query = _PAGE.format(filters=" ".join(f"AND c.{name} = @{name}" for name in wanted.fields))
        parameters = {
            **wanted.fields,
            "organization_id": organization_id,
            "since": earliest(wanted.since),
            "before": sortable(before(wanted.until, read_cursor(cursor))),
            "limit": limit + 1,
        }
        found = await self._container.query(query, parameters, [organization_id])
        traces = [TurnTrace.model_validate(item["item"]) for item in found]
        # The service may keep an organization's days on several partitions, each with its own order.
        return first_page(sorted(traces, key=place_of, reverse=True), limit, place_of)

    async def daily(self, organization_id: str, since: date, until: date) -> list[DayTotals]:
        slots = asyncio.Semaphore(DAYS_AT_ONCE)

        async def totals(day: date) -> DayTotals | None:
            async with slots:
                name = day.isoformat()
                found = await self._container.query(_FIGURES, {"day": name}, [organization_id, name])
            return totals_of(day, [TurnFigures.model_validate(item) for item in found]) if found else None

        days = [since + timedelta(days=number) for number in range((until - since).days + 1)]
        return [each for each in await asyncio.gather(*map(totals, days)) if each is not None]
