"""Clients of services are closed with what they were opened in, however far the opening came."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import ParamSpec, TypeVar

import pytest

from orc_core.errors import InvalidInput
from orc_core.infra.settings import CoreSettings
from orc_core.storage.cosmos.client import Cosmos
from orc_core.storage.factory import open_clients

Arguments = ParamSpec("Arguments")
Closed = TypeVar("Closed")


class NotedStack(AsyncExitStack):
    """Notes whose methods it is going to call."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: set[type] = set()

    def push_async_callback(
        self,
        callback: Callable[Arguments, Awaitable[Closed]],
        /,
        *args: Arguments.args,
        **kwds: Arguments.kwargs,
    ) -> Callable[Arguments, Awaitable[Closed]]:
        self.owners.add(type(getattr(callback, "__self__", None)))
        return super().push_async_callback(callback, *args, **kwds)


async def test_what_was_opened_is_closed_where_the_next_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_COSMOS_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AZURE_COSMOS_KEY", "aGVsbG8=")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_URL", "http://127.0.0.1:9/account")
    async with NotedStack() as stack:
        with pytest.raises(InvalidInput):
            open_clients(CoreSettings(), stack)
        assert Cosmos in stack.owners
