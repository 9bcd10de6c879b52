"""A value that is made at its first use: a process can serve before it has imported the value's library."""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


# What is made late, and what that saves: docs/decisions/latency.md.
class Later(Generic[Value]):
    """Calls `make` once, for the first caller. What it raises is raised to each caller, who may try again."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._making = threading.Lock()
        self._made: list[Value] = []

    def get(self) -> Value:
        """The value. Blocking if it is not made yet."""
        with self._making:
            if not self._made:
                self._made.append(self._make())
        return self._made[0]

    async def take(self) -> Value:
        """The value; if it is not made yet, it is made in a thread."""
        return self._made[0] if self._made else await asyncio.to_thread(self.get)
