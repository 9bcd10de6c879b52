"""The order in which traces are listed, latest first: by when their turns began."""

from datetime import datetime

from orc.conversations.listing import timestamp
from orc.traces.models import TurnTrace

EARLIEST = ""
"""Sorts below every timestamp."""


def place_of(trace: TurnTrace) -> tuple[str, str]:
    """Where a trace stands: when its turn began, as text of fixed length that sorts, and the attempt."""
    return timestamp(trace.started_at), trace.attempt


def earliest(moment: datetime | None) -> str:
    """The earliest timestamp that is asked for."""
    return EARLIEST if moment is None else timestamp(moment)


def before(moment: datetime | None, cursor: tuple[str, str]) -> tuple[str, str]:
    """The place before which things are asked for: where the last page ended, or the moment if earlier."""
    return cursor if moment is None else min(cursor, (timestamp(moment), ""))
