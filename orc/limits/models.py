"""Limits of each user: how much within a time, in counts that are stored, and how much at a time."""

import asyncio
import math
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple
from weakref import WeakValueDictionary

from orc.identity import Principal
from orc_core.errors import TooMany
from orc_core.infra.items import Item, Items, over, unraced

KEPT_SECONDS = 24 * 60 * 60
"""How long an item outlives its window."""
MESSAGES, UPLOADS, TASKS = "messages", "uploads", "tasks"
_UNITS = {MESSAGES: "messages", UPLOADS: "uploaded bytes", TASKS: "tasks"}
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


class LimitStore:
    """Counts by user and name, exact over all processes that share the store.

    A write whose confirmation was lost is recognised by the mark that it left in the item. `clock` returns
    seconds since the epoch.
    """

    def __init__(self, items: Items, clock: Callable[[], float] = time.time) -> None:
        self._items = items
        self._clock = clock

    async def take(self, organization_id: str, user_id: str, name: str, amount: int, window: Window) -> Taken:
        """Count `amount` if it fits into the window, in one step."""
        key, mark = (organization_id, user_id), uuid.uuid4().hex
        made = Taken(False, 0, 0, 0)

        async def work() -> Taken:
            nonlocal made
            stored = await self._items.read(key, name)
            if stored is not None and stored["mark"] == mark:
                return made
            made, counts = take(_counts(stored), amount, window, self._clock())
            if made.is_allowed:
                await self._items.write(key, over(stored, _item(name, counts, window, mark)))
            return made

        return await unraced(work)

    async def give_back(
        self, organization_id: str, user_id: str, name: str, amount: int, window: Window
    ) -> None:
        """Take off what was counted and not used."""
        key, mark = (organization_id, user_id), uuid.uuid4().hex

        async def work() -> None:
            stored = await self._items.read(key, name)
            if stored is None or stored["mark"] == mark:
                return
            counts = give_back(_counts(stored), amount, window, self._clock())
            await self._items.write(key, over(stored, _item(name, counts, window, mark)))

        await unraced(work)


def _counts(item: Item | None) -> Counts:
    return {} if item is None else {int(slot): count for slot, count in item["counts"].items()}


def _item(name: str, counts: Counts, window: Window, mark: str) -> Item:
    return {
        "id": name,
        "counts": {str(slot): count for slot, count in counts.items()},
        "mark": mark,
        "ttl": window.seconds + KEPT_SECONDS,
    }


class RateLimited(TooMany):
    """The user has done as much as is allowed within a time."""

    code = "rate_limited"


class RateLimit:
    """A limit for each user; without a `window` there is none, and nothing is stored."""

    def __init__(
        self, store: LimitStore | None = None, name: str = MESSAGES, window: Window | None = None
    ) -> None:
        self._store = store
        self._name = name
        self.window = window

    async def take(self, caller: Principal, amount: int = 1) -> Taken | None:
        """Count `amount`; raises RateLimited, with the time to wait, if it does not fit."""
        if self.window is None or self._store is None:
            return None
        user = (caller.organization_id, caller.user_id)
        taken = await self._store.take(*user, self._name, amount, self.window)
        if not taken.is_allowed:
            hours = f"{self.window.seconds // 3600} hours" if self.window.seconds > 3600 else "hour"
            error = RateLimited(
                f"You have reached the limit of {self.window.limit:,} {_UNITS[self._name]}"
                f" in any {hours}. Try again in {taken.retry_after:,} seconds."
            )
            error.retry_after = taken.retry_after
            raise error
        return taken

    async def give_back(self, caller: Principal, amount: int = 1) -> None:
        """Take off what was counted and not used."""
        if self.window is not None and self._store is not None:
            user = (caller.organization_id, caller.user_id)
            await self._store.give_back(*user, self._name, amount, self.window)

    async def give_back_failed(self, caller: Principal) -> None:
        """Take off one that was counted and failed, as often within the window as the limit has.

        A user who makes answers fail on purpose gets at most twice as many.
        """
        if self.window is not None and self._store is not None:
            user = (caller.organization_id, caller.user_id)
            if (await self._store.take(*user, f"{self._name}.failed", 1, self.window)).is_allowed:
                await self.give_back(caller)

    @asynccontextmanager
    async def counted(self, caller: Principal, amount: int = 1) -> AsyncIterator[Taken | None]:
        """Count `amount`, as `take` does; an exception inside the context takes it off again."""
        taken = await self.take(caller, amount)
        try:
            yield taken
        except BaseException:
            await asyncio.shield(self.give_back(caller, amount))
            raise


class UserLimit:
    """At most `most` of `what` at a time for each user. Other processes count by themselves."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._held: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def hold(self, caller: Principal) -> Iterator[None]:
        """Count one more while the context is open. Raises TooMany if the user has as many as allowed."""
        user = (caller.organization_id, caller.user_id)
        if self._held[user] >= self._most:
            message = f"You have {self._most} {self._what} under way, the most at a time. Try again shortly."
            raise TooMany(message)
        self._held[user] += 1
        try:
            yield
        finally:
            self._held[user] -= 1
            if not self._held[user]:
                del self._held[user]


class UserTurns:
    """At most `most` of something at a time for each user: what is more waits, so that others do not."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_users: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = WeakValueDictionary()

    def of(self, caller: Principal) -> asyncio.Semaphore:
        """Held while one of this user is under way."""
        user = (caller.organization_id, caller.user_id)
        return self._of_users.setdefault(user, asyncio.Semaphore(self._most))
