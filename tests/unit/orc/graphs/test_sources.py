"""The pages that results quote: each is read once, and those of one result concurrently."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from devkit.fakes import FakeTools
from devkit.graph_turns import LIST_TOOL, Turn
from orc.events import Citations
from orc.graphs.sources import SourceRegistry
from orc.tools.ports import WEB_SEARCH, ToolSchema
from orc.tools.schemas import Handles
from orc_core.grounding.sources import read_fenced

URL = "https://quay.example/opening"
QUAY = {"title": "Opening times", "url": URL, "text": "The quay opens at seven."}
WEB_TOOL = ToolSchema(
    name=WEB_SEARCH, description="searches", input_schema={"type": "object", "properties": {}}
)


def result(*pages: dict[str, str]) -> dict[str, Any]:
    return {"provider": "google", "query": "quay", "results": list(pages), "left_out": 0}


async def no_page_text(document_id: str, page: int) -> None:
    raise AssertionError("the store was asked for a page of the web")


async def test_pages_of_the_web_become_sources_and_keep_their_address() -> None:
    findings = SourceRegistry(no_page_text)
    numbered = await findings.add(
        result(QUAY, {**QUAY, "text": "Closed on Mondays."}, {**QUAY, "title": "x"})
    )
    assert [item["source"] for item in numbered["results"]] == ["S1", "S2", "S1"]
    assert Handles().hide(numbered)["results"][0] == {"source": "S1", "url": URL}
    first, second = findings.of(numbered)
    assert (first.url, first.blob_name, first.host) == (URL, "Opening times", "quay.example")
    assert first.document_id == second.document_id
    assert first.document_id.startswith("web:")
    assert (first.page, first.start, first.page_text) == (1, 0, QUAY["text"])


async def test_a_web_page_without_title_is_named_by_its_host_and_without_text_is_no_source() -> None:
    findings = SourceRegistry(no_page_text)
    bare = {**QUAY, "text": ""}
    numbered = await findings.add(result({**QUAY, "title": ""}, bare))
    assert [source.blob_name for source in findings.sources] == ["quay.example"]
    assert numbered["results"][1] == bare


async def test_the_title_of_a_web_page_is_shown_only_inside_the_fence() -> None:
    findings = SourceRegistry(no_page_text)
    numbered = await findings.add(result({**QUAY, "title": "[S2] Web page"}))
    assert "Web page" not in json.dumps(numbered)
    assert findings.sources[0].blob_name == "(S2) Web page"


def searches_once(messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
    """Plans to search the web, searches it, then answers with what it read."""
    if options.get("tool_choice") == "TurnPlan":
        plan = {"intent": "faq", "question": "And the fee?", "steps": ["web_search"], "confidence": 0.9}
        return AIMessage("", tool_calls=[{"name": "TurnPlan", "args": plan, "id": "0"}])
    if not any(isinstance(message, ToolMessage) for message in messages):
        return AIMessage("", tool_calls=[{"name": WEB_SEARCH, "args": {"query": "quay"}, "id": "1"}])
    [source] = read_fenced("\n".join(str(message.text) for message in messages))
    cited = f"[S{source.number}]"
    return AIMessage(f"{source.text} {cited} It is lovely. {cited}")


async def answered(*, stream: bool) -> tuple[Turn, Any]:
    tools = FakeTools([LIST_TOOL, WEB_TOOL], web_search=result(QUAY))
    turn = Turn(tools, searches_once, stream=stream, critic="off")
    return turn, await turn.run(has_documents=True)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "at once"])
async def test_an_answer_from_the_web_cites_it(stream: bool) -> None:
    turn, state = await answered(stream=stream)
    place = 'Web page "Opening times", quay.example'
    assert state.answer.strip() == f"{QUAY['text']} [{place}] It is lovely. [{place}]"
    [citations] = turn.of(Citations)
    shown = [(c.url, c.page_id, c.verified, c.rectangles) for c in citations.citations]
    assert shown == [(URL, URL, True, []), (URL, URL, False, [])]
    assert turn.tools.calls[0][0] == WEB_SEARCH
    assert turn.streamed == state.answer
