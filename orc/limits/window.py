"""A sliding window: how much was done in the last hour or day, counted in slots of equal length."""

import math
from collections.abc import Mapping
from typing import NamedTuple

# Why slots and not a bucket: docs/decisions/limits-of-use.md.
SLOTS = 60
Counts = Mapping[int, int]
"""Amounts by slot; slots are numbered from the epoch on."""


class Window(NamedTuple):
    """At most `limit` within any `seconds`."""

    limit: int
    seconds: int

    @property
    def slot_seconds(self) -> float:
        return self.seconds / SLOTS


class Taken(NamedTuple):
    """What came of a request for some of a limit. `retry_after`: seconds until it would be allowed."""

    is_allowed: bool
    limit: int
    remaining: int
    seconds: int
    retry_after: int = 0


def take(counts: Counts, amount: int, window: Window, now: float) -> tuple[Taken, Counts]:
    """Count `amount` if it fits; returns the outcome and the counts to store.

    A slot counts until all of it is older than the window, so no window of that length, wherever it begins,
    has more than the limit.
    """
    current = _slot(now, window)
    recent = _recent(counts, window, now)
    used = sum(recent.values())
    if used + amount > window.limit:
        # Until so much of what was counted is too old; all of the window for more than the limit.
        wait, excess = window.seconds, used + amount - window.limit
        for slot in sorted(recent):
            excess -= recent[slot]
            if excess <= 0:
                wait = max(1, math.ceil(_end(slot, window) - now))
                break
        return Taken(False, window.limit, max(0, window.limit - used), window.seconds, wait), recent
    recent[current] = recent.get(current, 0) + amount
    return Taken(True, window.limit, window.limit - used - amount, window.seconds), recent


def give_back(counts: Counts, amount: int, window: Window, now: float) -> Counts:
    """The counts after `amount` was not used after all: taken from the latest slots."""
    left, kept = amount, _recent(counts, window, now)
    for slot in sorted(kept, reverse=True):
        used = min(left, kept[slot])
        kept[slot] -= used
        left -= used
    return {slot: count for slot, count in kept.items() if count}


def _recent(counts: Counts, window: Window, now: float) -> dict[int, int]:
    """What is within the window. What a clock that was ahead has counted later than the next slot is not."""
    latest = _slot(now, window) + 1  # the clocks of machines that share the counts differ a little
    return {slot: n for slot, n in counts.items() if slot <= latest and _end(slot, window) > now}


def _slot(now: float, window: Window) -> int:
    return math.floor(now / window.slot_seconds)


def _end(slot: int, window: Window) -> float:
    """When nothing of a slot is within the window any more."""
    return (slot + 1) * window.slot_seconds + window.seconds
