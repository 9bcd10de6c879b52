"""call_tools: document_chat where documents are named, else what the plan says is looked up, and how."""

from typing import Any

from langgraph.runtime import Runtime
from pydantic import ValidationError

from core.errors import DependencyDown, OrcError
from core.mcp_contract import CAP_META_KEY, MODEL_META_KEY, DocumentChatResult
from orc.graphs.lazy_retrieval import as_summaries, references_in, texts_of
from orc.graphs.models import DOCUMENT_CHAT, SEARCH_PAGES, ConversationState, Deps, ToolResult
from orc.graphs.retrieval import LookedUp, look_up, need_of
from orc.graphs.second_retrieval import look_further
from orc.graphs.tool_call import call_tool
from orc.graphs.tool_context import Material
from orc.graphs.tool_loop import answer_with_tools, kept
from orc.graphs.utils import changes, reusable_refs
from orc.tools.schemas import available_tools
from orc.turns.events import Token, Tool


async def call_tools(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Force document_chat for named documents; otherwise look up what is planned, and let a model that may
    look further answer from it. A revision only gathers more: what answers anew is write_answer."""
    deps = runtime.context
    if state.blob_names:
        return await _ask_documents(state, deps)
    try:
        tools = await available_tools(deps)
    except DependencyDown as exc:
        deps.emit(Tool(name="tools", status="failed", message=exc.message, code=exc.code))
        return _nothing_looked_up(state, exc)
    there = {tool.name for tool in tools}
    if state.revision is not None:
        return await look_further(state, deps, there)
    need = need_of(state, may_choose=deps.meter.calls_left > 1)
    looked = await look_up(need, deps, there)
    if looked.calls and (need.summaries_first or looked.lost):
        return await _leave_to_writer(state, deps, looked)
    return await answer_with_tools(state, deps, tools, looked)


async def _ask_documents(state: ConversationState, deps: Deps) -> dict[str, Any]:
    arguments, meta = document_chat_arguments(state), _who_writes(state, deps)
    result = await call_tool(DOCUMENT_CHAT, arguments, deps, streams=deps.stream, meta=meta)
    try:
        found = DocumentChatResult.model_validate(result.content)
    except ValidationError as exc:
        raise DependencyDown("document_chat returned no answer.", dependency="mcp_server") from exc
    if not deps.stream:
        deps.emit(Token(text=found.answer))
    return changes(tool_results=[result], last_mcp_tool_used=DOCUMENT_CHAT)


def document_chat_arguments(state: ConversationState) -> dict[str, Any]:
    """What document_chat is called with; `cached_file_info` only for exactly the same set of blobs."""
    arguments: dict[str, Any] = {"question": state.query, "document_names": state.blob_names}
    if refs := reusable_refs(state.blob_names, state.uploaded_file_refs):
        arguments["cached_file_info"] = [ref.model_dump() for ref in refs]
    if state.revision is not None:
        arguments["revision"] = state.revision.model_dump()
    return arguments


def _who_writes(state: ConversationState, deps: Deps) -> dict[str, Any]:
    """The routed model, unless it is the usual one, whatever that is to the tools server; and the cap."""
    if state.route is None:
        return {}
    model, cap = state.route.model, state.route.max_output_tokens
    named = {MODEL_META_KEY: model} if model != deps.models.writer.name else {}
    return named | ({CAP_META_KEY: cap} if cap is not None else {})


def _nothing_looked_up(state: ConversationState, why: DependencyDown) -> dict[str, Any]:
    reason = f"Nothing could be looked up: {why.message}"
    if state.revision is not None:
        return changes(retrieval_reason=f"{state.retrieval_reason} {reason}")
    return changes(tool_results=[ToolResult(name="tools", error=why.message)], retrieval_reason=reason)


async def _leave_to_writer(state: ConversationState, deps: Deps, looked: LookedUp) -> dict[str, Any]:
    """Keep what was found for write_answer: no model may look into the pages themselves yet."""
    material, references = Material(deps), references_in(looked.results)
    try:
        texts = await texts_of(references, deps)
    except OrcError as exc:
        failed = ToolResult(name=SEARCH_PAGES, error=exc.message)
        await material.add([failed], deps.policy.retrieval_tokens)
        return changes(**kept(material, [*looked.reasons, exc.message], state, deps))
    await material.add(
        [as_summaries(result, texts) for result in looked.results], deps.policy.retrieval_tokens
    )
    budget, reasons = {}, looked.reasons
    if references:
        whole = sum(map(deps.counter.count, texts.values()))
        budget = {"summaries": material.tokens, "deferred": whole}
        reasons = [*reasons, _deferred(len(references), **budget)]
    return changes(references=references, context_budget=budget, **kept(material, reasons, state, deps))


def _deferred(pages: int, *, summaries: int, deferred: int) -> str:
    return (
        f"{pages} pages are told by their summaries and best sentences ({summaries} tokens); their whole text"
        f" ({deferred} tokens) is read where the critic asks for it."
    )
