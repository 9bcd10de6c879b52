"""write_answer, the only node that makes an answer, and return_state, which shows its sources."""

from typing import Any

from langgraph.runtime import Runtime

from orc.events import Citations, Token
from orc.graphs.answer_stream import answer_fields
from orc.graphs.meant import limit_note
from orc.graphs.models import ConversationState, Deps
from orc.graphs.prompts import sources_prompt
from orc.graphs.revision import revision_deadline
from orc.graphs.tool_loop import answer_with_tools, ask_writer
from orc.graphs.utils import changes
from orc.lookups import LookupStep
from orc_core.documents.unknown_files import unknown_files_note
from orc_core.grounding.rectangles import with_rectangles
from orc_core.grounding.sources import without_markers
from orc_core.markdown.safe_markdown import made_safe


async def write_answer(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Adopt document_chat's answer, let the model answer with tools, or write from what was found."""
    deps = runtime.context
    if state.document_reply is not None:
        # The tools server has checked the reply, whose text was emitted on arrival.
        reply = state.document_reply
        checks = reply.metadata.grounding
        grounding = None if checks.is_talk else checks
        answer = {"answer": reply.answer, "citations": reply.citations, "grounding": grounding}
        return changes(attempt=state.attempt.model_copy(update=answer))
    update: dict[str, Any] = {}
    async with revision_deadline(state, deps):
        if state.tools:
            update = await answer_with_tools(state, deps)
            state = state.model_copy(update=update)
        if state.answer is None:
            update["attempt"] = state.attempt.model_copy(update=await _write_from_sources(state, deps))
    if state.plan and state.plan.looks_up and not state.tool_results and not state.earlier:
        update["lookup_steps"] = [*state.lookup_steps, LookupStep(tool="", reason_code="not_looked_up")]
    return changes(**update)


async def _write_from_sources(state: ConversationState, deps: Deps) -> dict[str, Any]:
    results, sources = state.tool_results, state.attempt.sources
    _, stream = await ask_writer(sources_prompt(state, deps, results, sources), sources, state, deps)
    return answer_fields(stream, results, state)


async def return_state(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Say which files of the question are not there or were read alone, and emit the citations with their
    places on the page."""
    deps, attempt = runtime.context, state.attempt
    said = (unknown_files_note(state.unknown_files, state.question), limit_note(state))
    if note := " ".join(filter(None, said)):
        # Names of files come from users: they neither link nor imitate a citation.
        note = f"\n\n{made_safe(without_markers(note))}"
        attempt = attempt.model_copy(update={"answer": f"{attempt.answer}{note}"})
        deps.emit(Token(text=note))
    if attempt.grounding is None:
        return changes(attempt=attempt)
    citations = attempt.citations
    if attempt.sources:
        citations = await with_rectangles(citations, attempt.sources, deps.page_boxes)
    deps.emit(Citations(citations=citations))
    return changes(attempt=attempt.model_copy(update={"citations": citations}))
