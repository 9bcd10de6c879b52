"""Storage for tests: clients of the emulator or a real account, and a container that a test has to itself."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from devkit.azure.targets import Target
from devkit.faults.proxy import OnRequest, Proxy, proxied
from devkit.faults.rules import STORAGE, Rules
from orc_core.infra.azure import Credentials
from orc_core.storage.blob.account import Storage, open_storage


class Container(NamedTuple):
    """A container by name, and clients that reach it."""

    storage: Storage
    name: str


@asynccontextmanager
async def opened(target: Target) -> AsyncIterator[Storage]:
    """Clients that are closed at the end."""
    credentials = Credentials()
    storage = open_storage(target.url, target.queue_url, target.key or credentials.default)
    try:
        yield storage
    finally:
        await storage.close()
        await credentials.close()


@asynccontextmanager
async def fresh_container(target: Target) -> AsyncIterator[Container]:
    """An empty container, which is removed at the end."""
    async with opened(target) as storage:
        name = f"test-{uuid.uuid4().hex}"
        await storage.create_missing([name])
        try:
            yield Container(storage, name)
        finally:
            await storage.container(name).delete_container()


@asynccontextmanager
async def behind_proxy(
    target: Target, rules: Rules = STORAGE, *, seed: int = 0, on_request: OnRequest | None = None
) -> AsyncIterator[tuple[Storage, Proxy]]:
    """Clients that reach the emulator through a proxy, which makes no faults until its `rate` is set."""
    if not target.url.startswith("http://"):
        pytest.skip("faults can be made on the way to an emulator only: a real account is reached by https")
    async with proxied(target.url, rules, seed=seed, on_request=on_request) as proxy:
        through = Target(proxy.url, target.key, target.queue_url)
        async with opened(through) as storage:
            yield storage, proxy
