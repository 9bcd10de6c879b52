"""The ports of turn traces: where they go, and where they are read. Adapters: SQLite and Cosmos DB."""

from datetime import date
from typing import Protocol

from orc.traces.models import DayTotals, TraceFilter, TurnTrace

MAX_DAYS = 92
"""That totals are asked for at once."""


class TraceSink(Protocol):
    """Takes the traces of turns."""

    async def save(self, trace: TurnTrace) -> None:
        """Keep a trace. May be called twice for the same attempt, the first time's confirmation lost."""


class TraceStore(TraceSink, Protocol):
    """Keeps traces. Whatever is asked, an organization sees its own alone.

    Traces hold no content, so they outlive the conversations that they are of, up to their retention.
    Any method raises DependencyDown when the store cannot be used.
    """

    async def page(
        self, organization_id: str, wanted: TraceFilter, *, limit: int, cursor: str | None = None
    ) -> tuple[list[TurnTrace], str | None]:
        """One page of the turns that fit, latest first, and the cursor of the next, if any.

        A cursor holds a place in that order, so nothing comes twice. Raises InvalidInput for one that
        is not from here.
        """

    async def daily(self, organization_id: str, since: date, until: date) -> list[DayTotals]:
        """The days from `since` to `until`, both included, on which there were turns, in order.

        At most MAX_DAYS; percentiles are by nearest rank.
        """


class NoTraces:
    """A TraceSink that keeps nothing."""

    async def save(self, trace: TurnTrace) -> None:  # noqa: ARG002
        return None
