"""Containers of Cosmos DB that a test has for itself, and files of which copies are kept at a provider."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.azure.targets import Target
from devkit.blob_steps import Write, source_in
from orc_core.llm.provider import Provider
from tests.unit.orc_core.conftest import MakeSettings, OpenFor
from tests.unit.orc_core.storage.cosmos_containers import Way, fresh_database, opened
from tests.unit.orc_core.storage.kept_files import KeptFiles, open_kept_files


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
def write(tmp_path: Path) -> Write:
    return source_in(tmp_path)


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[KeptFiles]:
    async with open_kept_files(tmp_path) as kept:
        yield kept


@pytest.fixture
def provider(base_url: str, make_settings: MakeSettings, open_for: OpenFor) -> Provider:
    return open_for(make_settings(openai_base_url=base_url, model_retries=0))
