"""write_answer and return_state: the last words of a turn."""

import json
from contextlib import aclosing
from typing import Any

from langgraph.runtime import Runtime

from core.grounding.highlights import with_rectangles
from orc.events import Citations
from orc.graphs.findings import as_material
from orc.graphs.models import ConversationState, Deps
from orc.graphs.speaking import Speech, checked
from orc.graphs.utils import changes, chat_messages, writer_of


async def write_answer(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Write the answer, unless a tool has already given it in full: then no model is called again."""
    deps = runtime.context
    if state.answer is not None:
        return {}
    system = deps.prompts.answer_from_tools if state.tool_results else deps.prompts.converse
    messages = chat_messages(system, state.history, _with_findings(state))
    speech = Speech(deps.emit, state.sources)
    writer, cap = writer_of(state, deps)
    if deps.stream:
        async with aclosing(writer.stream(messages, meter=deps.meter, max_tokens=cap)) as deltas:
            async for delta in deltas:
                speech.say(delta)
    else:
        speech.say(await writer.complete(messages, meter=deps.meter, max_tokens=cap))
    answer = speech.end()
    return changes(answer=answer, **checked(speech, state.tool_results))


async def return_state(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Show the sources."""
    if state.grounding is None:
        return {}
    citations = state.citations
    if state.sources:
        citations = await with_rectangles(citations, state.sources, runtime.context.page_boxes)
    runtime.context.emit(Citations(citations=citations))
    return changes(citations=citations)


def _with_findings(state: ConversationState) -> str:
    if not state.tool_results:
        return state.question
    findings = [
        {"tool": result.name, "error": result.error}
        if result.error
        else {"tool": result.name, **result.content}
        for result in state.tool_results
    ]
    material = as_material(json.dumps(findings, ensure_ascii=False), state.sources)
    return f"{state.question}\n\nWhat the tools found:\n{material}"
