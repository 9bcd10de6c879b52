"""No trace contains text of a user, a model, a tool or a document, for every outcome of a turn."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import FakeTools, Script
from devkit.sample_traces import detailed
from devkit.traced_turns import Kept, api
from orc.tools.ports import ToolSchema
from orc.traces.models import TurnTrace
from orc_core.errors import DependencyDown, OrcError
from orc_core.grounding.models import Citation, Grounding
from orc_core.llm.errors import ContentFiltered
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult, FileStatus
from orc_core.models import FileRef, RetrievalStep, Usage

pytestmark = pytest.mark.slow

CANARY = "quokka"
"""A word that is also a valid name."""
SAID = f"The {CANARY} opens at seven."
FILE = f"{CANARY}.txt"
NOT_OURS = RuntimeError(SAID)


class HangingTools(FakeTools):
    """Tools that never answer."""

    async def call(self, *words: Any, **options: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}


def answer_of_documents() -> dict[str, Any]:
    """A result of document_chat with the word in every text."""
    citation = Citation(
        document_id="d", blob_name=FILE, page=1, page_id="d.p1", quote=SAID, start=0, end=5, check="quoted"
    )
    metadata = DocumentChatMetadata(
        mode="rag",
        reason=SAID,
        retrieval=[RetrievalStep(method="hybrid", hits=2, note=SAID)],
        usage=Usage(model_calls=1, input_tokens=50, output_tokens=5),
        files=[FileStatus(blob_name=FILE, status="failed", reason=SAID)],
        grounding=Grounding(grounded=False, citations=1, quoted=1, coverage=0.5, issues=[SAID]),
    )
    ref = FileRef(file_id=CANARY, blob_name=FILE)
    found = DocumentChatResult(answer=SAID, files=[ref], citations=[citation], metadata=metadata)
    return found.model_dump(mode="json")


def says(_messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
    """A model that repeats the word, also in structured outputs."""
    if options.get("tool_choice"):
        name = options["tools"][0]["function"]["name"]
        form = {"intent": CANARY, "question": SAID, "steps": [CANARY], "confidence": 0.1, "action": CANARY}
        return AIMessage("", tool_calls=[{"name": name, "args": {**form, "issues": [SAID]}, "id": "1"}])
    return AIMessage(SAID)


def uses_tools(messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
    """A model that calls an existing and an unknown tool, and then repeats the word."""
    asked = [call["name"] for each in messages if isinstance(each, AIMessage) for call in each.tool_calls]
    if options.get("tools") and CANARY not in asked:
        calls = [{"name": name, "args": {"query": SAID}, "id": name} for name in ("semantic_search", CANARY)]
        return AIMessage(SAID, tool_calls=calls)
    return says(messages, options)


def raises(error: Exception) -> Script:
    def script(_messages: list[BaseMessage], _options: dict[str, Any]) -> AIMessage:
        raise error

    return script


@dataclass(frozen=True)
class Scene:
    """One course of a turn. `named`: the document is named in the question."""

    script: Script = says
    answers: Mapping[str, Any] = field(default_factory=dict)
    named: bool = False
    hanging: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    turns: int = 1


def lost(_arguments: dict[str, Any]) -> Exception:
    return OrcError(SAID, code=SAID)


FOUND = {"passages": [{"document_id": "d", "blob_name": FILE, "page": 1, "text": SAID, "start": 0}]}
STEPS = {"steps": [{"method": "lexical", "hits": 1, "note": SAID}]}
SEARCHED = {"semantic_search": {**FOUND, **STEPS}, "search_pages": lost, "documents_list": lost, CANARY: lost}
ANSWERED = {"document_chat": answer_of_documents()}
DOWN = DependencyDown(SAID, dependency="mcp_server")
SCENES = {
    "talk": Scene(),
    "a document": Scene(named=True, answers=ANSWERED),
    "planned by a model": Scene(named=True, answers=ANSWERED, turns=2),
    "tools": Scene(script=uses_tools, answers=SEARCHED),
    "summaries first": Scene(answers=SEARCHED, settings={"lazy_retrieval": True}),
    "a tool that says no": Scene(named=True, answers={"document_chat": lost}),
    "a tool that is down": Scene(named=True, answers={"document_chat": lambda _: DOWN}),
    "a tool that breaks": Scene(named=True, answers={"document_chat": lambda _: NOT_OURS}),
    "a tool that hangs": Scene(named=True, hanging=True, settings={"turn_deadline_seconds": 0.2}),
    "a model that is down": Scene(script=raises(DependencyDown(SAID, dependency="model", code="model_down"))),
    "a model that refuses": Scene(script=raises(ContentFiltered())),
    "a model that breaks": Scene(script=raises(NOT_OURS)),
}
FAIL = {name for name in SCENES if name.startswith(("a tool that", "a model that"))}


async def play(scene: Scene, folder: Path) -> list[TurnTrace]:
    """The traces of the scene's turns, requested alternately as JSON and as a stream."""
    kept, conversation_id = Kept(), str(uuid.uuid4())
    schemas = [ToolSchema(name=name, description="", input_schema={}) for name in scene.answers]
    tools = (HangingTools if scene.hanging else FakeTools)(schemas, **scene.answers)
    async with api(folder, kept, scene.script, tools, **scene.settings) as client:
        if scene.named or scene.answers:
            file = {"file": (FILE, SAID.encode())}
            stored = await client.post(f"/conversations/{conversation_id}/documents", files=file)
            assert stored.status_code == 201, stored.text
        for number in range(scene.turns):
            question = f"When does the {CANARY} open, and who keeps the key?"
            body: dict[str, Any] = {"question": question, "blob_names": [FILE] if scene.named else []}
            known = {"conversation_id": conversation_id} if scene.named or scene.answers else {}
            await client.post("/orc/stream" if number % 2 else "/orc", json={**body, **known})
            await asyncio.wait_for(kept.came.wait(), 5)
            kept.came.clear()
    return kept.traces


def leaks_text(trace: TurnTrace) -> bool:
    return CANARY in trace.model_dump_json().lower()


@pytest.mark.parametrize("name", SCENES)
async def test_no_trace_contains_text_of_a_user_or_document(name: str, tmp_path: Path) -> None:
    traces = await play(SCENES[name], tmp_path)
    assert len(traces) == SCENES[name].turns
    assert not any(map(leaks_text, traces))
    assert {trace.status for trace in traces} == {"failed" if name in FAIL else "done"}


def test_a_leak_in_a_trace_would_be_found() -> None:
    careless = detailed(1)
    assert not leaks_text(careless)
    assert leaks_text(careless.model_copy(update={"intent": SAID}))
    assert leaks_text(careless.model_copy(update={"context_budget": {FILE: 1}}))
