"""Counts of rate limits: one item for each user and limit."""

import time
import uuid
from collections.abc import Callable

from orc.limits.window import Counts, Taken, Window, give_back, take
from orc_core.infra.items import Item, Items, over, unraced

KEPT_SECONDS = 24 * 60 * 60
"""How long an item outlives its window."""


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

    async def ping(self) -> None:
        """Raise DependencyDown unless the store answers."""
        await self._items.ping()


def _counts(item: Item | None) -> Counts:
    return {} if item is None else {int(slot): count for slot, count in item["counts"].items()}


def _item(name: str, counts: Counts, window: Window, mark: str) -> Item:
    return {
        "id": name,
        "counts": {str(slot): count for slot, count in counts.items()},
        "mark": mark,
        "ttl": window.seconds + KEPT_SECONDS,
    }
