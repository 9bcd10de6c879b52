"""Tools over several contexts: where each document is from, what a call selects, and which tools are off."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent

from mcp_server.bootstrap import open_app
from mcp_server.server import build_stdio_server
from mcp_server.settings import Settings
from mcp_server.tools.registration import offer
from orc.graphs.models import Origins
from orc_core.bootstrap import open_documents
from orc_core.documents.places import Access, Place, PlaceType, session_place
from orc_core.documents.scope import Scope
from orc_core.mcp_contract import ToolFacts
from orc_core.names import Owner
from tests.unit.mcp_server.stand_ins import ANN

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORGANIZATION, FOLDER, USECASE, WORKSPACE = "o1", "o1-f1", "o1-f1-u1", "w1"
BELOW, GONE, ALIKE = "o1-f2-u2", "o1-f2-u3", "o1-f22"
TEXTS = {
    "session": (ANN, "mine.txt", "The quay of the session opens at one."),
    "usecase": (Owner.of_context("acme", USECASE), "plan.txt", "The quay of the use case opens at two."),
    "folder": (Owner.of_context("acme", FOLDER), "plan.txt", "The quay of the folder opens at three."),
    "organization": (Owner.of_context("acme", ORGANIZATION), "o.txt", "The quay of Acme opens at four."),
    "workspace": (Owner.of_context("acme", WORKSPACE), "w.txt", "The quay of the workspace opens at five."),
    "below": (Owner.of_context("acme", BELOW), "b.txt", "The quay below opens at six."),
    "gone": (Owner.of_context("acme", GONE), "g.txt", "The canary quay that is deleted opens at seven."),
    "alike": (Owner.of_context("acme", ALIKE), "a.txt", "The canary quay of another folder opens at eight."),
    "unread": (Owner.of_context("acme", "w2"), "x.txt", "The canary quay elsewhere opens at nine."),
}


def place(kind: PlaceType, context_id: str, name: str, **more: Any) -> Place:
    return Place(type=kind, id=context_id, name=name, **more)


PLACES = (
    session_place(ANN),
    place(PlaceType.USECASE, USECASE, "Rail 2024"),
    place(PlaceType.FOLDER, FOLDER, "Rail"),
    place(PlaceType.ORGANIZATION, ORGANIZATION, "Acme"),
    place(PlaceType.WORKSPACE, WORKSPACE, 'Team ["x"]', near=False),
    place(PlaceType.FOLDER, "o1-f2", "Water", near=False, deep=True, without=(GONE,)),
)
SCOPE = Scope.of_session(ANN).model_copy(update={"places": PLACES})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ids(folder: Path) -> dict[str, str]:
    """The ids of the stored documents by what they are stored in."""
    async with open_documents(Settings(data_dir=folder)) as opened:
        found = {}
        for key, (owner, name, text) in TEXTS.items():
            source = folder / "source.txt"
            source.write_text(text)
            found[key] = (await opened.library.upload(owner, name, source)).document_id
        return found


class Calls:
    """A server with tools that change something, whose scope a test chooses."""

    def __init__(self) -> None:
        self.scope = SCOPE
        self.changed: list[str] = []
        self.server: MCPServer[None]

    async def call(self, name: str, **arguments: Any) -> CallToolResult:
        async with Client(self.server) as client:
            return await client.call_tool(name, arguments)

    async def found(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = await self.call(name, **arguments)
        assert not result.is_error, result.content
        assert "canary" not in result.model_dump_json()
        found: dict[str, Any] = dict(result.structured_content or {})
        return found

    async def refused(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = await self.call(name, **arguments)
        assert result.is_error
        assert isinstance(result.content[0], TextContent)
        failure: dict[str, Any] = json.loads(result.content[0].text)
        return failure


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(ids: dict[str, str], folder: Path) -> AsyncIterator[Calls]:
    calls = Calls()
    async with open_app(Settings(data_dir=folder)) as services:
        calls.server = build_stdio_server(services, lambda: calls.scope)

        @offer(
            calls.server,
            facts=ToolFacts("change_something", "Change something", "Changes it.", kind="update"),
        )
        async def change_something() -> CallToolResult:
            """Changes something."""
            calls.changed.append("once")
            return CallToolResult(content=[])

        yield calls


@pytest.fixture
def calls(opened: Calls) -> Calls:
    opened.scope = SCOPE
    return opened


ORIGINS = {
    "session": ("session", ANN.conversation_id, None, True),
    "usecase": ("usecase", USECASE, "Rail 2024", True),
    "folder": ("folder", FOLDER, "Rail", True),
    "organization": ("organization", ORGANIZATION, "Acme", True),
    "workspace": ("workspace", WORKSPACE, 'Team ["x"]', False),
    "below": ("folder", "o1-f2", "Water", False),
}


def origin(item: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item.get(each) for each in ("context_type", "context_id", "context_name", "focus"))


@pytest.mark.slow
async def test_a_listing_says_where_each_document_is_from(calls: Calls, ids: dict[str, str]) -> None:
    listed = await calls.found("documents_list")
    by_id = {each["document_id"]: origin(each) for each in listed["documents"]}
    assert by_id == {ids[key]: expected for key, expected in ORIGINS.items()}
    focus = [each["focus"] for each in listed["documents"]]
    assert focus == sorted(focus, reverse=True)
    assert listed["total"] == 6
    counts = [(each.get("context"), each["context_type"], each["total"]) for each in listed["by_context"]]
    assert counts == [
        (None, "session", 1),
        ("c1", "usecase", 1),
        ("c2", "folder", 1),
        ("c3", "organization", 1),
        ("c4", "workspace", 1),
        ("c5", "folder", 1),
    ]


async def test_pages_of_a_listing_have_each_document_once(calls: Calls, ids: dict[str, str]) -> None:
    found, cursor = [], ""
    while True:
        page = await calls.found("documents_list", limit=2, cursor=cursor)
        assert ("by_context" in page) == (not cursor)
        found += [each["document_id"] for each in page["documents"]]
        if "next_cursor" not in page:
            break
        cursor = page["next_cursor"]
    assert sorted(found) == sorted(ids[key] for key in ORIGINS)
    assert (await calls.refused("documents_list", cursor="another"))["code"] == "invalid_input"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("focus", {"session", "usecase", "folder", "organization"}),
        ("others", {"workspace", "below"}),
        ("c2", {"folder"}),
        ("c5", {"below"}),
        ("o1-f1-u1", {"usecase"}),
    ],
)
async def test_a_call_selects_contexts_of_its_scope(
    context: str, expected: set[str], calls: Calls, ids: dict[str, str]
) -> None:
    listed = await calls.found("documents_list", context=context)
    assert {each["document_id"] for each in listed["documents"]} == {ids[key] for key in expected}
    for tool, texts in (("semantic_search", "passages"), ("search_pages", "pages")):
        found = await calls.found(tool, query="quay opens", context=context)
        assert {each["document_id"] for each in found[texts]} == {ids[key] for key in expected}
        by_id = {each["document_id"]: origin(each) for each in found[texts]}
        assert by_id == {ids[key]: ORIGINS[key] for key in expected}


@pytest.mark.parametrize("context", ["w2", GONE, ALIKE, "o1-f2-u2", "o2", "c6", "s1", "", "~contexts"])
@pytest.mark.parametrize("tool", ["documents_list", "semantic_search", "search_pages", "document_chat"])
async def test_a_context_that_the_token_does_not_name_is_refused(
    tool: str, context: str, calls: Calls
) -> None:
    arguments: dict[str, Any] = {"query": "quay"} if "search" in tool else {}
    if tool == "document_chat":
        arguments = {"question": "When does the quay open?", "document_names": ["x.txt"]}
    refused = await calls.refused(tool, context=context, **arguments)
    assert refused["code"] == "invalid_input"
    assert "all, focus, others, c1, c2, c3, c4, c5" in refused["message"]


@pytest.mark.parametrize("key", ["gone", "alike", "unread"])
async def test_documents_outside_of_the_places_do_not_exist(
    key: str, calls: Calls, ids: dict[str, str]
) -> None:
    owner, name, _ = TEXTS[key]
    for tool in ("documents_get_content", "documents_get_summary"):
        assert (await calls.refused(tool, document_id=ids[key]))["code"] == "not_found"
    for named in (ids[key], name, f"acme/~contexts/{owner.conversation_id}/{name}"):
        asked = {"question": "When does the quay open?", "document_names": [named]}
        assert (await calls.refused("document_chat", **asked))["code"] == "not_found"


@pytest.mark.slow
async def test_an_answer_names_the_context_of_what_is_not_of_the_focus(
    calls: Calls, ids: dict[str, str]
) -> None:
    question = "When does the quay open?"
    for key, marker in (
        ("session", '[Page 1 of Document "mine.txt"]'),
        ("usecase", '[Page 1 of Document "plan.txt"]'),
        ("below", '[Page 1 of Document "b.txt" in folder "Water"]'),
        ("workspace", '[Page 1 of Document "w.txt" in workspace "Team (\'x\')"]'),
    ):
        owner, name, _ = TEXTS[key]
        path = f"acme/{owner.user_id}/{owner.conversation_id}/{name}"
        for named in (ids[key], path):
            answer = await calls.found("document_chat", question=question, document_names=[named])
            assert marker in answer["answer"]
            [citation] = answer["citations"]
            assert origin(citation) == ORIGINS[key]
    answer = await calls.found("document_chat", question=question, document_names=["plan.txt"], context="c2")
    assert "three" in answer["answer"]


async def test_what_a_model_read_is_known_although_the_answer_does_not_cite_it(
    calls: Calls, ids: dict[str, str]
) -> None:
    """Revoking a right withholds answers by the documents that a model was shown, not by those it cites."""
    named = [ids["usecase"], ids["workspace"]]
    answer = await calls.found(
        "document_chat", question="What is in the plan at three?", document_names=named
    )
    cited = {citation["document_id"] for citation in answer["citations"]}
    assert ids["workspace"] not in cited
    origins = Origins()
    origins.note("document_chat", answer)
    assert origins.places.keys() == set(named)
    assert origins.places[ids["workspace"]] == (WORKSPACE, False)
    assert [origin(each) for each in answer["metadata"]["files"]] == [
        ORIGINS["usecase"],
        ORIGINS["workspace"],
    ]


async def test_a_page_and_a_text_say_where_they_are_from(calls: Calls, ids: dict[str, str]) -> None:
    content = await calls.found("documents_get_content", document_id=ids["below"])
    assert origin(content) == origin(content["pages"][0]) == ORIGINS["below"]
    page = await calls.found("get_page", document_id=ids["workspace"], page_number=1)
    assert origin(page["pages"][0]) == ORIGINS["workspace"]


async def test_without_contexts_results_are_as_before(calls: Calls, ids: dict[str, str]) -> None:
    calls.scope = Scope.of_session(ANN)
    listed = await calls.found("documents_list")
    assert listed.keys() == {"documents"}
    assert list(listed["documents"][0])[:4] == ["document_id", "filename", "context_type", "context_id"]
    found = await calls.found("semantic_search", query="quay")
    assert found.keys() == {"passages", "steps", "documents"}
    assert not {"context_type", "context_id", "context_name", "focus"} & found["passages"][0].keys()
    assert (await calls.refused("documents_list", context="c1"))["code"] == "invalid_input"


async def test_the_server_refuses_tools_that_the_token_switches_off(calls: Calls) -> None:
    calls.scope = SCOPE.model_copy(update={"tools_off": ("semantic_search",)})
    assert (await calls.refused("semantic_search", query="quay"))["code"] == "tool_off"
    assert await calls.found("search_pages", query="quay")


@pytest.mark.parametrize(
    ("switched_on", "access", "is_allowed"),
    [
        (True, Access.EDITOR, True),
        (True, Access.ADMIN, True),
        (True, Access.VIEWER, False),
        (False, Access.ADMIN, False),
    ],
)
async def test_a_tool_that_changes_something_needs_a_switch_and_a_role_in_the_focus(
    switched_on: bool, access: Access, is_allowed: bool, calls: Calls
) -> None:
    near, far = place(PlaceType.FOLDER, FOLDER, "Rail", access=access), PLACES[4]
    places = (session_place(ANN), near, far.model_copy(update={"access": Access.ADMIN}))
    on = ("change_something",) if switched_on else ()
    calls.scope = Scope.of_session(ANN).model_copy(update={"places": places, "tools_on": on})
    before = len(calls.changed)
    result = await calls.call("change_something")
    assert (not result.is_error, len(calls.changed) - before) == (is_allowed, int(is_allowed))
