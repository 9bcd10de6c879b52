"""web_search over MCP: offered where there is an engine, and what it lets through of the engine's answer."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent, Tool

from devkit.doubles.web_search_double import Failure, WebSearchDouble, WebSearchTarget, serving
from mcp_server.bootstrap import open_app
from mcp_server.server import build_stdio_server
from mcp_server.settings import Settings
from mcp_server.tools.web_search import LONGEST_TEXT, LONGEST_TITLE
from mcp_server.web.ports import MOST_WORDS, WebPage
from orc_core.documents.scope import Scope
from orc_core.errors import NotAuthenticated
from orc_core.mcp_contract import TOOLS
from tests.unit.mcp_server.stand_ins import ANN

pytestmark = pytest.mark.slow

QUAY = WebPage(title="The quay", url="https://quay.example/", text="The quay opens at seven.")
Engine = Literal["google", "brave"]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[WebSearchDouble, WebSearchTarget]]:
    double = WebSearchDouble()
    with serving(double) as target:
        yield double, target


@pytest.fixture
def double(
    served: tuple[WebSearchDouble, WebSearchTarget], monkeypatch: pytest.MonkeyPatch
) -> WebSearchDouble:
    """The search engines, of which this process's settings name Google."""
    double, target = served
    double.start_over(QUAY)
    for name, value in target.settings("google").items():
        monkeypatch.setenv(name, value)
    return double


@asynccontextmanager
async def client_of(settings: Settings, *, lets_in: bool = True) -> AsyncIterator[Client]:
    """A client of a tools server with these settings."""

    def scope() -> Scope:
        if not lets_in:
            raise NotAuthenticated("No scope.")
        return Scope.of_session(ANN, [])

    async with (
        open_app(settings) as services,
        Client(build_stdio_server(services, scope)) as client,
    ):
        yield client


async def offered(settings: Settings) -> dict[str, Tool]:
    async with client_of(settings) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


async def search(tmp_path: Path, query: str = "quay", *, lets_in: bool = True, **more: Any) -> CallToolResult:
    """One search, by the settings of this process."""
    async with client_of(Settings(data_dir=tmp_path), lets_in=lets_in) as client:
        return await client.call_tool("web_search", {"query": query, **more})


def failure_of(result: CallToolResult) -> dict[str, Any]:
    """The failure in words."""
    assert result.is_error
    [content] = result.content
    assert isinstance(content, TextContent)
    failure: dict[str, Any] = json.loads(content.text)
    return failure


GOOGLE = {"google_search_key": "k", "google_search_engine": "e"}
BRAVE = {"brave_search_key": "k"}


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        ({}, None),
        ({"google_search_key": "k"}, None),
        ({"brave_search_key": ""}, None),
        ({"web_search": "google", **BRAVE}, None),
        ({"web_search": "brave", **GOOGLE}, None),
        ({"web_search": "off", **GOOGLE, **BRAVE}, None),
        (GOOGLE, "google"),
        (BRAVE, "brave"),
        (GOOGLE | BRAVE, "google"),
        ({"web_search": "brave", **GOOGLE, **BRAVE}, "brave"),
    ],
)
def test_the_engine_is_the_one_with_a_key(settings: dict[str, Any], engine: str | None) -> None:
    assert Settings(**settings).web_search_engine == engine


async def test_it_is_offered_only_where_there_is_an_engine(tmp_path: Path) -> None:
    tools = await offered(Settings(data_dir=tmp_path))
    assert tools.keys() == TOOLS - {"web_search"}
    tools = await offered(Settings.model_validate({"data_dir": tmp_path, **BRAVE}))
    annotations = tools["web_search"].annotations
    assert annotations is not None
    assert annotations.read_only_hint
    assert annotations.open_world_hint
    assert [
        name for name, tool in tools.items() if tool.annotations and tool.annotations.open_world_hint
    ] == ["web_search"]


@pytest.mark.parametrize("engine", ["google", "brave"])
async def test_a_result_fits_its_schema_and_names_the_engine(
    engine: Engine,
    double: WebSearchDouble,
    served: tuple[WebSearchDouble, WebSearchTarget],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in served[1].settings(engine).items():
        monkeypatch.setenv(name, value)
    result = await search(tmp_path, "  when does the\nquay open? ")
    schema = (await offered(Settings(data_dir=tmp_path)))["web_search"].output_schema
    jsonschema.validate(result.structured_content, schema or {})
    assert result.structured_content == {
        "provider": engine,
        "query": "when does the quay open?",
        "results": [QUAY.model_dump()],
        "left_out": 0,
    }
    assert [name for name, _ in double.asked] == [engine]


async def test_unsafe_results_are_left_out_and_counted(double: WebSearchDouble, tmp_path: Path) -> None:
    shown = WebPage(title=f"T\u202e\nt{'t' * 999}", url="https://quay.example/b", text=f"x\x00y{'z' * 9999}")
    double.pages = [
        QUAY,
        QUAY.model_copy(update={"url": "javascript:alert(1)"}),
        QUAY.model_copy(update={"url": "http://192.168.0.1/reboot"}),
        QUAY.model_copy(update={"url": "https://quay.example/empty", "text": " \u200b"}),
        shown,
    ]
    found = (await search(tmp_path)).structured_content or {}
    assert found["left_out"] == 3
    first, second = found["results"]
    assert first == QUAY.model_dump()
    assert second["title"] == f"T t{'t' * 999}"[:LONGEST_TITLE]
    assert second["text"] == f"x y{'z' * 9999}"[:LONGEST_TEXT]


async def test_a_long_query_is_cut_and_the_result_says_to_what(
    double: WebSearchDouble, tmp_path: Path
) -> None:
    found = (await search(tmp_path, "quay " * 300, limit=10)).structured_content or {}
    assert found["query"] == " ".join(["quay"] * MOST_WORDS) == double.asked[0][1]["q"]


@pytest.mark.parametrize("arguments", [{"query": " \n "}, {"query": "quay", "limit": 11}, {"query": ""}])
async def test_invalid_query_is_not_sent(
    arguments: dict[str, Any], double: WebSearchDouble, tmp_path: Path
) -> None:
    assert failure_of(await search(tmp_path, **arguments))["code"] == "invalid_input"
    assert double.asked == []


async def test_web_search_needs_a_scope(double: WebSearchDouble, tmp_path: Path) -> None:
    assert failure_of(await search(tmp_path, lets_in=False))["code"] == "not_authenticated"
    assert double.asked == []


async def test_a_failure_says_what_is_down_and_whether_to_try_again(
    double: WebSearchDouble, tmp_path: Path
) -> None:
    double.failures = [Failure(403, b"{}")]
    failure = failure_of(await search(tmp_path))
    assert (failure["code"], failure["dependency"], failure["retryable"]) == (
        "web_search_auth",
        "web_search",
        False,
    )
    assert "GOOGLE_SEARCH_KEY" in failure["message"]
