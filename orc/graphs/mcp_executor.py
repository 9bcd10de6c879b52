"""What a revision reads beyond the first attempt: in full what was told by summaries, or a wider search."""

from collections.abc import Collection
from typing import Any

from langgraph.runtime import Runtime
from pydantic import ValidationError

from core.errors import DependencyDown, OrcError
from core.grounding.sources import Source
from core.mcp_contract import CAP_META_KEY, MAX_QUERY_CHARACTERS, MODEL_META_KEY, DocumentChatResult
from orc.events import Token, Tool
from orc.graphs.lazy_retrieval import as_summaries, read_in_full, references_in, texts_of
from orc.graphs.models import ConversationState, Deps, ToolResult
from orc.graphs.retrieval import WIDER, LookedUp, call_tool, look_up, need_of
from orc.graphs.tool_context import Material
from orc.graphs.tool_loop import answer_with_tools, kept
from orc.graphs.utils import available_tools, changes, reusable_refs
from orc.tools.ports import DOCUMENT_CHAT, GET_PAGE, SEARCH_PAGES, WEB_SEARCH


async def look_further(state: ConversationState, deps: Deps, there: Collection[str]) -> dict[str, Any]:
    """Gather more for the next attempt. What was found before keeps its numbers, and up to half of the room:
    first what was cited. Where nothing more can be had, all stays as it was."""
    looked = await _looked_further(state, deps, there)
    reasons = [state.retrieval_reason, "The critic asked for more.", *looked.reasons]
    if all(result.error for result in looked.results):
        return changes(
            tool_results=[*state.tool_results, *looked.results], retrieval_reason=" ".join(reasons)
        )
    tokens, known = deps.policy.retrieval_tokens, _cited_first(state)
    material = Material(deps, known)
    await material.add(looked.results, tokens - min(material.carried_tokens, tokens // 2))
    material.carry_over(tokens - material.tokens)
    update = kept(material, reasons, state, deps)
    update["retrieval_steps"] = [*state.retrieval_steps, *update["retrieval_steps"]]
    told = {(source.document_id, source.page) for source in material.told}
    unread = [page for page in state.references if (page.document_id, page.page) not in told]
    return changes(references=unread, **update)


async def _looked_further(state: ConversationState, deps: Deps, there: Collection[str]) -> LookedUp:
    looked = LookedUp()
    if state.references and GET_PAGE in there:
        looked = await read_in_full(state.references, deps)
    if looked.enough:
        return looked
    need = need_of(state)
    wanted = state.revision.query if state.revision else ""
    if wanted and not (state.plan and state.plan.names_web):
        # Whoever wrote it had read documents: what they hold is not for a search engine.
        there = [name for name in there if name != WEB_SEARCH]
    wider = need.model_copy(
        update={
            "query": (wanted or need.query)[:MAX_QUERY_CHARACTERS],
            "documents": state.has_documents and (need.documents or not need.web),
            "summaries_first": False,
            "amounts": WIDER,
        }
    )
    return looked + await look_up(wider, deps, there)


def _cited_first(state: ConversationState) -> list[Source]:
    citations = state.earlier.citations if state.earlier else state.citations
    cited = {(citation.document_id, citation.page) for citation in citations}
    return sorted(state.sources, key=lambda source: (source.document_id, source.page) not in cited)


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
