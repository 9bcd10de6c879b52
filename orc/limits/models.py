"""A limit as the rest of the program uses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orc.identity import Principal
from orc.limits.store import LimitStore
from orc.limits.window import Taken, Window
from orc_core.errors import TooMany

MESSAGES, UPLOADS, TASKS = "messages", "uploads", "tasks"


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
        self._window = window

    @property
    def window(self) -> Window | None:
        """What is allowed; None for no limit."""
        return self._window

    async def take(self, caller: Principal, amount: int = 1) -> Taken | None:
        """Count `amount`; raises RateLimited, with the time to wait, if it does not fit.

        If it is cancelled, nothing is counted.
        """
        if self._window is None or self._store is None:
            return None
        counting = asyncio.ensure_future(
            self._store.take(caller.organization_id, caller.user_id, self._name, amount, self._window)
        )
        try:
            taken = await asyncio.shield(counting)
        except asyncio.CancelledError:
            # The store may be writing: what it counts is taken off again.
            await asyncio.wait([counting])
            if counting.exception() is None and counting.result().is_allowed:
                await self.give_back(caller, amount)
            raise
        if not taken.is_allowed:
            hours = f"{self._window.seconds // 3600} hours" if self._window.seconds > 3600 else "hour"
            error = RateLimited(
                f"You have reached the limit of {self._window.limit:,} {_UNITS[self._name]}"
                f" in any {hours}. Try again in {taken.retry_after:,} seconds."
            )
            error.retry_after = taken.retry_after
            raise error
        return taken

    async def give_back(self, caller: Principal, amount: int = 1) -> None:
        """Take off what was counted and not used."""
        if self._window is not None and self._store is not None:
            await self._store.give_back(
                caller.organization_id, caller.user_id, self._name, amount, self._window
            )

    @asynccontextmanager
    async def counted(self, caller: Principal, amount: int = 1) -> AsyncIterator[Taken | None]:
        """Count `amount`, as `take` does; an exception inside the context takes it off again."""
        taken = await self.take(caller, amount)
        try:
            yield taken
        except BaseException:
            await asyncio.shield(self.give_back(caller, amount))
            raise


_UNITS = {MESSAGES: "messages", UPLOADS: "uploaded bytes", TASKS: "tasks"}
