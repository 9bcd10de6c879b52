"""What the tools ask outside can be replaced in one place."""

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from core.errors import InvalidInput
from core.mcp_contract import WebSearchResult
from mcp_server.bootstrap import open_app
from mcp_server.settings import Settings
from mcp_server.tools.web_search import WebSearchTool
from mcp_server.web.ports import WebPage


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
    program = """
import asyncio, sys
from mcp_server.bootstrap import open_app
from mcp_server.settings import Settings

async def main():
    settings = Settings(data_dir=sys.argv[1], openai_api_key="key", _env_file=None)
    async with open_app(settings) as app:
        sys.stdout.write(" ".join(sys.modules))
        await app.warm()
        sys.stdout.write("\\n" + " ".join(sys.modules))

asyncio.run(main())
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    opened, warmed = ({*line.split()} for line in ran.stdout.splitlines())
    needed = {"openai", "langchain_openai", "tiktoken", "langsmith", "langchain_core.runnables"}
    assert not needed & opened
    assert needed <= warmed
