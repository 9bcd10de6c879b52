"""Totals of a day's turns, for stores that cannot compute percentiles."""

from collections.abc import Sequence
from datetime import date

from core.models import Record
from orc.traces.models import DayTotals, Status


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
