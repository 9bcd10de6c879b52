"""A clock that moves only if a test moves it."""

from datetime import UTC, datetime


class Clock:
    """Seconds since the epoch, and the same moment as a date (`utc`)."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def utc(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    def advance(self, seconds: float) -> None:
        self.now += seconds
