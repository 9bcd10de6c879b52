"""What it takes for a client of Cosmos DB to read its own writes, and its failures in our words."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

from azure.cosmos.aio import CosmosClient

from core.azure.errors import translator
from core.errors import DependencyDown, OrcError
from core.outages import Guard

STORE = "store"
SESSION_IS_BEHIND = 1002
"""Sub-status of a 404: the replica that was asked has not seen what this client has seen."""

SESSION_TOKEN = "x-ms-session-token"
MOST_TOKENS = 10_000

_translate_others = translator(STORE, "Cosmos DB")


class SessionGuard(Guard):
    """Enters its client before the first use.

    A client that was never entered works as well, but keeps no session: its reads may miss its own writes.
    """

    def __init__(self, client: CosmosClient) -> None:
        super().__init__(STORE, translate)
        self._client = client
        self._entering = asyncio.Lock()
        self._is_entered = False

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        async with super().attempt():
            await self._enter()
            yield

    async def _enter(self) -> None:
        async with self._entering:
            if not self._is_entered:
                await self._client.__aenter__()
                self._is_entered = True


class BatchTokens:
    """How new a read of a partition has to be to see the last batch there.

    The SDK sees to it after every other write, but forgets the token that answers a batch.
    """

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, ...], str] = {}

    def note(self, partition: Sequence[str], headers: Mapping[str, str]) -> None:
        """Keep the token of a batch's answer, for the next read."""
        if token := headers.get(SESSION_TOKEN):
            self._tokens[tuple(partition)] = token
        if len(self._tokens) > MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]

    @contextmanager
    def reading(self, partition: Sequence[str]) -> Iterator[str | None]:
        """The token for a read, if one is needed. After the read, the SDK itself knows a newer one."""
        token = self._tokens.get(tuple(partition))
        yield token
        if token is not None and self._tokens.get(tuple(partition)) == token:
            del self._tokens[tuple(partition)]


def translate(exc: Exception) -> OrcError | None:
    """Which error of ours a failure of Cosmos DB amounts to."""
    if getattr(exc, "sub_status", None) == SESSION_IS_BEHIND:
        return DependencyDown("Cosmos DB is catching up. Try again shortly.", dependency=STORE)
    return _translate_others(exc)
