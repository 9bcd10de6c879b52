"""What the tools ask outside can be replaced in one place."""

from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from devkit.opened_app import in_new_process
from mcp_server.bootstrap import open_app
from mcp_server.settings import Settings
from mcp_server.tools.web_search import WebSearchTool
from mcp_server.web.ports import WebPage
from orc_core.errors import InvalidInput
from orc_core.mcp_contract import WebSearchResult


class OnePage:
    """A WebSearch that always finds the same page."""

    name = "one page"

    async def search(self, query: str, limit: int) -> list[WebPage]:
        return [WebPage(title="Quay", url="https://quay.example/", text="It opens at seven.")]


async def test_a_double_takes_the_place_of_what_the_settings_would_ask(tmp_path: Path) -> None:
    async with open_app(Settings(data_dir=tmp_path), web=WebSearchTool(OnePage())) as services:
        assert services.web is not None
        found: WebSearchResult = await services.web.search("quay", 1)
    assert [page.text for page in found.results] == ["It opens at seven."]


@pytest.mark.parametrize(
    ("engine", "lacks"), [("brave", "BRAVE_SEARCH_KEY"), ("google", "GOOGLE_SEARCH_ENGINE")]
)
async def test_missing_key_of_the_chosen_search_engine_stops_the_start(
    tmp_path: Path, engine: Literal["brave", "google"], lacks: str
) -> None:
    settings = Settings(data_dir=tmp_path / "data", web_search=engine, google_search_key=SecretStr("key"))
    with pytest.raises(InvalidInput, match=rf"ORC_WEB_SEARCH is {engine}, .*{lacks}"):
        async with open_app(settings):
            pass
    assert not (tmp_path / "data").exists()


async def test_without_a_key_there_is_no_web_search(tmp_path: Path) -> None:
    async with open_app(Settings(data_dir=tmp_path)) as services:
        assert services.web is None


@pytest.mark.slow
def test_the_tools_server_opens_without_the_libraries_that_only_questions_need(tmp_path: Path) -> None:
    app = in_new_process("mcp_server", tmp_path)
    needed = {"openai", "langchain_openai", "tiktoken", "langsmith", "langchain_core.runnables"}
    assert needed.isdisjoint(app.opened)
    assert needed <= {*app.warmed}
