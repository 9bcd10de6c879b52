"""How much one user may have under way at a time, so that no user takes the place of others."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from orc.identity import Principal
from orc_core.errors import TooMany


class UserLimit:
    """At most `most` of `what` at a time for each user. Other processes count by themselves."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._held: Counter[tuple[str, str]] = Counter()

    def enter(self, caller: Principal) -> None:
        """Count one more of this user. Raises TooMany if the user has as many as allowed."""
        user = (caller.organization_id, caller.user_id)
        if self._held[user] >= self._most:
            message = f"You have {self._most} {self._what} under way, the most at a time. Try again shortly."
            raise TooMany(message)
        self._held[user] += 1

    def leave(self, caller: Principal) -> None:
        """Count one less; each `enter` needs one."""
        user = (caller.organization_id, caller.user_id)
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]

    @contextmanager
    def hold(self, caller: Principal) -> Iterator[None]:
        """Count one more while the context is open."""
        self.enter(caller)
        try:
            yield
        finally:
            self.leave(caller)


class UserTurns:
    """At most `most` of something at a time for each user: what is more waits, so that others do not."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_users: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = WeakValueDictionary()

    def of(self, caller: Principal) -> asyncio.Semaphore:
        """Held while one of this user is under way."""
        user = (caller.organization_id, caller.user_id)
        return self._of_users.setdefault(user, asyncio.Semaphore(self._most))
