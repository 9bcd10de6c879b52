"""Counts of rate limits in Cosmos DB: one item for each user and limit."""

import time
import uuid
from collections.abc import Callable

from orc.limits.window import Counts, Taken, Window, give_back, take
from orc_core.storage.cosmos.client import ETAG, Container, Item, unraced

KEPT_SECONDS = 24 * 60 * 60
"""How long an item outlives its window."""


class CosmosLimitStore:
    """A LimitStore over one container with the key [organization_id, user_id].

    A write whose confirmation was lost is recognised by the mark that it left in the item.
    """

    def __init__(self, container: Container, clock: Callable[[], float] = time.time) -> None:
        self._container = container
        self._clock = clock

    async def take(self, organization_id: str, user_id: str, name: str, amount: int, window: Window) -> Taken:
        mark, made = uuid.uuid4().hex, Taken(False, 0, 0, 0)

        async def work() -> Taken:
            nonlocal made
            stored = await self._container.read(name, (organization_id, user_id))
            if stored is not None and stored["mark"] == mark:
                return made
            made, counts = take(_counts(stored), amount, window, self._clock())
            if made.is_allowed:
                await self._put(_item(organization_id, user_id, name, counts, window, mark), stored)
            return made

        return await unraced(work)

    async def give_back(
        self, organization_id: str, user_id: str, name: str, amount: int, window: Window
    ) -> None:
        mark = uuid.uuid4().hex

        async def work() -> None:
            stored = await self._container.read(name, (organization_id, user_id))
            if stored is None or stored["mark"] == mark:
                return
            counts = give_back(_counts(stored), amount, window, self._clock())
            await self._put(_item(organization_id, user_id, name, counts, window, mark), stored)

        await unraced(work)

    async def ping(self) -> None:
        await self._container.read("-", ("-", "-"))

    async def _put(self, item: Item, stored: Item | None) -> None:
        if stored is None:
            await self._container.create(item)
        else:
            await self._container.replace(item, stored[ETAG])


def _counts(item: Item | None) -> Counts:
    return {} if item is None else {int(slot): count for slot, count in item["counts"].items()}


def _item(organization_id: str, user_id: str, name: str, counts: Counts, window: Window, mark: str) -> Item:
    return {
        "id": name,
        "organization_id": organization_id,
        "user_id": user_id,
        "counts": {str(slot): count for slot, count in counts.items()},
        "mark": mark,
        "ttl": window.seconds + KEPT_SECONDS,
    }
