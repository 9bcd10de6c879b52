"""The port of the trace store, its cursors, and totals per day."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Protocol

from core.models import Record
from orc.conversations.models import timestamp
from orc.traces.models import DayTotals, Status, TraceFilter, TurnIds, TurnTrace


class TurnFigures(Record):
    """What a turn adds to its day."""

    status: Status
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    duration_ms: float


def totals_of(day: date, turns: Sequence[TurnFigures]) -> DayTotals:
    """The totals of a day with at least one turn."""
    durations = sorted(turn.duration_ms for turn in turns)
    return DayTotals(
        day=day,
        turns=len(turns),
        failed=sum(turn.status == "failed" for turn in turns),
        input_tokens=sum(turn.input_tokens for turn in turns),
        output_tokens=sum(turn.output_tokens for turn in turns),
        cost_usd=sum(turn.cost_usd or 0.0 for turn in turns),
        unpriced=sum(turn.cost_usd is None for turn in turns),
        p50_ms=_nearest_rank(durations, 50),
        p95_ms=_nearest_rank(durations, 95),
    )


def _nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """The least value that so many percent of all do not exceed."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[rank - 1]


EARLIEST = ""
"""Sorts below every timestamp."""
_FIELDS = {*TurnIds.model_fields, *TurnFigures.model_fields, "intent", "model"} - {"turn_id"}


def place_of(trace: TurnTrace) -> tuple[str, str]:
    """The position of a trace: when its turn began, as text of fixed length that sorts, and the attempt."""
    return timestamp(trace.started_at), trace.attempt


def stored_fields(trace: TurnTrace) -> dict[str, object]:
    """The fields of a trace that stores filter and add up, stored next to the whole trace."""
    return {
        **trace.model_dump(include=_FIELDS),
        "day": trace.day,
        "input_tokens": trace.usage.input_tokens,
        "output_tokens": trace.usage.output_tokens,
    }


def earliest(moment: datetime | None) -> str:
    """The earliest timestamp that is asked for."""
    return EARLIEST if moment is None else timestamp(moment)


def before(moment: datetime | None, cursor: tuple[str, str]) -> tuple[str, str]:
    """The place before which things are asked for: where the last page ended, or the moment if earlier."""
    return cursor if moment is None else min(cursor, (timestamp(moment), ""))


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
