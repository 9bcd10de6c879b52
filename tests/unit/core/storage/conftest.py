"""Containers of Cosmos DB that a test has for itself."""

from collections.abc import AsyncIterator

import pytest

from devkit.azure.targets import Target
from tests.unit.core.storage.cosmos_containers import Way, fresh_database, opened


@pytest.fixture
async def database(cosmos_target: Target) -> AsyncIterator[str]:
    async with fresh_database(cosmos_target) as name:
        yield name


@pytest.fixture
async def documents(cosmos_target: Target, database: str) -> AsyncIterator[Way]:
    async with opened(cosmos_target, database, "documents") as way:
        yield way


@pytest.fixture
async def analyses(cosmos_target: Target, database: str) -> AsyncIterator[Way]:
    async with opened(cosmos_target, database, "analyses") as way:
        yield way


@pytest.fixture
async def nowhere(cosmos_target: Target, database: str) -> AsyncIterator[Way]:
    """A container that does not exist."""
    async with opened(cosmos_target, database, "forgotten") as way:
        yield way
