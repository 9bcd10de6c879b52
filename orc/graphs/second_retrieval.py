"""What a revision reads beyond the first attempt: in full what was told by summaries, or a wider search."""

from collections.abc import Collection
from typing import Any

from core.grounding.sources import Source
from core.mcp_contract import MAX_QUERY_CHARACTERS
from orc.graphs.lazy_retrieval import read_in_full
from orc.graphs.models import GET_PAGE, WEB_SEARCH, ConversationState, Deps
from orc.graphs.retrieval import WIDER, LookedUp, look_up, need_of
from orc.graphs.tool_context import Material
from orc.graphs.tool_loop import kept
from orc.graphs.utils import changes


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
