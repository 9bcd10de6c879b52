"""Wakes the readers in this process that follow a conversation when it changes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from orc_core.names import Owner


class Changes:
    """Signals that a conversation has changed; readers load the change from the stores.

    Changes by other processes are not signalled: readers look into the stores now and then as well.
    """

    def __init__(self) -> None:
        self._followers: dict[Owner, set[asyncio.Event]] = {}

    def happened(self, owner: Owner) -> None:
        """Wake the followers of this conversation."""
        for follower in self._followers.get(owner, ()):
            follower.set()

    @contextmanager
    def followed(self, owner: Owner) -> Iterator[asyncio.Event]:
        """An event that is set at each change; the follower clears it before it reads the stores."""
        follower = asyncio.Event()
        self._followers.setdefault(owner, set()).add(follower)
        try:
            yield follower
        finally:
            self._followers[owner].discard(follower)
            if not self._followers[owner]:
                del self._followers[owner]
