"""write_answer and return_state: the last words of a turn."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from core.grounding.citations import with_rectangles
from core.grounding.sources import withdrawn
from core.llm.chat_model import ChatModel
from core.llm.errors import ReplyCut
from core.llm.tokens import measure_sections
from orc.events import Citations
from orc.graphs.answer_stream import Speech, checked
from orc.graphs.context_builder import context_event
from orc.graphs.models import ConversationState, Deps
from orc.graphs.prompts import conversation_prompt
from orc.graphs.sources import as_material
from orc.graphs.utils import changes, writer_of


async def write_answer(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Write the answer, unless a tool has already given it in full: then no model is called again."""
    deps = runtime.context
    if state.answer is not None:
        return {}
    speech = Speech(deps.emit, state.sources, f"{state.question}\n{state.query}")
    writer, cap = writer_of(state, deps)
    messages = _prompt(state, deps)
    budget = state.context_budget | await measure_sections(messages, state.question, deps.counter)
    deps.emit(context_event(state, budget, deps))
    await _speak(messages, speech, writer, cap, deps)
    answer = speech.end()
    return changes(answer=answer, context_budget=budget, **checked(speech, state.tool_results, state))


async def _speak(
    messages: Sequence[BaseMessage], speech: Speech, writer: ChatModel, cap: int | None, deps: Deps
) -> None:
    """Say what the model writes. What it has said when it reaches its limit is kept, and known to be cut."""
    if not deps.stream and cap is None:
        speech.say(await writer.complete(messages, meter=deps.meter))
        return
    try:
        async with aclosing(writer.stream(messages, meter=deps.meter, max_tokens=cap)) as deltas:
            async for delta in deltas:
                speech.say(delta)
    except ReplyCut as exc:
        if cap is None or not exc.at_limit or not speech.has_begun:
            raise
        speech.cut = cap


async def return_state(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Show the sources."""
    if state.grounding is None:
        return {}
    citations = state.citations
    if state.sources:
        citations = await with_rectangles(citations, state.sources, runtime.context.page_boxes)
    runtime.context.emit(Citations(citations=citations))
    return changes(citations=citations)


def _prompt(state: ConversationState, deps: Deps) -> list[BaseMessage]:
    prompts, tool_output = deps.prompts, _tool_output(state)
    system = prompts.answer_from_tools if state.tool_results else prompts.converse
    asked = state.question
    if tool_output is not None:
        asked = f"{asked}\n\nWhat the tools found:\n{tool_output}"
    if state.revision is not None:
        system = f"{system}\n{prompts.revise}"
        asked = f"{asked}\n\n{withdrawn(state.revision)}"
    return conversation_prompt(system, asked, state, deps, tool_output)


def _tool_output(state: ConversationState) -> str | None:
    """What the tools returned, as a model reads it; None if none was called."""
    if not state.tool_results:
        return None
    findings = [
        {"tool": result.name, "error": result.error}
        if result.error
        else {"tool": result.name, **result.content}
        for result in state.tool_results
    ]
    return as_material(json.dumps(findings, ensure_ascii=False), state.sources)
