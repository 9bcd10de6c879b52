"""Stores traces: an item each; a partition is one organization's day."""

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
from orc_core.infra.items import Items, Where, delete, equal, unraced, upsert
from orc_core.names import Owner

DAYS_AT_ONCE = 8


class TraceStore:
    """Keeps traces. Whatever is asked, an organization sees its own alone.

    Traces are removed with their conversation, and after their retention if there is one.
    Any method raises DependencyDown when the store cannot be used.
    """

    def __init__(self, items: Items, *, retention_seconds: int | None = None) -> None:
        self._items = items
        self._expiry = {} if retention_seconds is None else {"ttl": retention_seconds}

    async def save(self, trace: TurnTrace) -> None:
        """Keep a trace, in the place of an earlier one of the same attempt."""
        # The same item for every writer and every retry: a lost confirmation does no harm.
        place, record = sortable(place_of(trace)), trace.model_dump(mode="json")
        item = {"id": trace.attempt, **stored_fields(trace), "place": place, "item": record, **self._expiry}
        await self._items.write((trace.organization_id, trace.day), upsert(item))

    async def delete(self, owner: Owner) -> None:
        """Remove the traces of a conversation; none is no error."""
        organization_id, user_id, conversation_id = owner.key
        theirs = equal(user_id=user_id, conversation_id=conversation_id)

        async def work() -> None:
            for found in await self._items.query([organization_id], theirs, fields=("id", "day")):
                await self._items.write((organization_id, found["day"]), delete(found["id"]))

        await unraced(work)

    async def page(
        self, organization_id: str, wanted: TraceFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[TurnTrace], str | None]:
        """One page of the turns that fit, latest first, and the cursor of the next, if any.

        Raises InvalidInput for a wrong cursor.
        """
        found = await self._items.query(
            [organization_id],
            Where("place", ">=", earliest(wanted.since)),
            Where("place", "<", sortable(before(wanted.until, read_cursor(cursor)))),
            equal(**wanted.fields),
            order="place",
            descending=True,
            limit=limit + 1,
        )
        traces = [TurnTrace.model_validate(item["item"]) for item in found]
        # The days of an organization may be on several partitions, each with its own order.
        return first_page(sorted(traces, key=place_of, reverse=True), limit, place_of)

    async def daily(self, organization_id: str, since: date, until: date) -> list[DayTotals]:
        """The days from `since` to `until`, both included, on which there were turns, in order."""
        slots = asyncio.Semaphore(DAYS_AT_ONCE)

        async def totals(day: date) -> DayTotals | None:
            async with slots:
                key = [organization_id, day.isoformat()]
                found = await self._items.query(key, fields=list(TurnFigures.model_fields))
            return totals_of(day, [TurnFigures.model_validate(item) for item in found]) if found else None

        days = [since + timedelta(days=number) for number in range((until - since).days + 1)]
        return [each for each in await asyncio.gather(*map(totals, days)) if each is not None]
