"""Conversations, traces and memory: in Cosmos DB if its address is set, else in the local database."""

from pathlib import Path

import pytest

from devkit.doubles.upstash_double import UpstashDouble, serving
from devkit.opened_app import in_new_process
from orc.bootstrap import open_app
from orc.settings import Settings
from orc_core.infra.forks import ForkServer
from orc_core.infra.sandbox import SERVER
from orc_core.storage.cosmos.items import CosmosItems
from orc_core.storage.sqlite.items import SqliteItems

COSMOS = {"azure_cosmos_endpoint": "https://x.test/", "azure_cosmos_key": "a2V5"}
SEARCH = {"azure_search_endpoint": "https://x.test/", "azure_search_key": "key"}
STORAGE = {"azure_storage_account_url": "https://x.blob.core.windows.net/", "azure_storage_key": "a2V5"}


@pytest.mark.parametrize(
    ("services", "adapter", "has_database"),
    [
        ({}, SqliteItems, True),
        (STORAGE | SEARCH, SqliteItems, True),
        (COSMOS, CosmosItems, True),
        (COSMOS | STORAGE | SEARCH, CosmosItems, False),
    ],
)
async def test_the_app_opens_with_any_mix_of_services(
    tmp_path: Path, services: dict[str, str], adapter: type, has_database: bool
) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path, "ocr": "off", **services})
    async with open_app(settings) as app:
        assert {type(app.log._items), type(app.traces._items)} == {adapter}
    assert (tmp_path / "orc.db").exists() == has_database


async def test_upstash_vector_is_checked_with_its_token_and_does_not_block_turns(tmp_path: Path) -> None:
    states = []
    with serving(UpstashDouble()) as target:
        for token in (target.key, "withdrawn"):
            vectors = {"upstash_vector_rest_url": target.url, "upstash_vector_rest_token": token}
            settings = Settings.model_validate({"data_dir": tmp_path, "ocr": "off", **vectors})
            async with open_app(settings) as app:
                found = [await each() for each in app.checks]
            states += [state for state in found if state.name == "vectors"]
            assert "withdrawn" not in repr(found)
    assert [(state.backend, state.ok, state.allows_turns) for state in states] == [
        ("Upstash Vector", True, True),
        ("Upstash Vector", False, True),
    ]
    assert "UPSTASH_VECTOR_REST_TOKEN" in (states[1].detail or "")


@pytest.mark.slow
def test_the_api_opens_without_what_only_questions_and_files_need(tmp_path: Path) -> None:
    app = in_new_process("orc", tmp_path)
    needed = {"openai", "langchain_openai", "tiktoken"}
    assert needed.isdisjoint(app.opened)
    assert needed <= {*app.warmed}
    assert ForkServer.is_possible() == any(SERVER in command for command in app.children)
