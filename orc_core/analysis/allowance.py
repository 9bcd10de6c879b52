"""How many tokens of models the page analysis of an organization may use a day."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime

from orc_core.models import Usage


def _today() -> date:
    return datetime.now(UTC).date()


class DailyTokens:
    """Counts tokens by organization for the present day, in UTC. Each process counts for itself."""

    def __init__(self, most: int, today: Callable[[], date] = _today) -> None:
        self._most = most
        self._today = today
        self._day = today()
        self._used: Counter[str] = Counter()

    def add(self, organization_id: str, usage: Usage) -> None:
        """Count the tokens of finished calls."""
        self._begin_day()
        self._used[organization_id] += usage.input_tokens + usage.output_tokens

    def are_used_up(self, organization_id: str) -> bool:
        """Whether no further call may be made today."""
        self._begin_day()
        return self._used[organization_id] >= self._most

    def _begin_day(self) -> None:
        if (day := self._today()) != self._day:
            self._day = day
            self._used.clear()
