"""build_context: from tool results to what the answer is made of."""

from typing import Any

from langgraph.runtime import Runtime

from core.contract import DocumentChatResult
from orc.events import Context
from orc.graphs.models import DOCUMENT_CHAT, ConversationState, Deps
from orc.graphs.utils import changes


async def build_context(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Take over what the tools found; document_chat's files replace the conversation's references."""
    update: dict[str, Any] = {}
    for result in state.tool_results:
        if result.name == DOCUMENT_CHAT and result.error is None:
            update = _from_document_chat(state, DocumentChatResult.model_validate(result.content))
    budget = _sizes(state, update.get("context_docs", state.context_docs), runtime.context)
    runtime.context.emit(
        Context(
            budget=budget,
            summary_selection=state.recalled.selection,
            history_turns=len(state.history) // 2,
        )
    )
    return changes(context_budget=budget, **update)


def _sizes(state: ConversationState, context_docs: list[str], deps: Deps) -> dict[str, int]:
    """Tokens by section of what this turn's answer draws on."""
    return {
        "history": sum(deps.counter.count(message.content) for message in state.history),
        "question": deps.counter.count(state.query),
        "tools": sum(deps.counter.count(text) for text in context_docs)
        + sum(deps.counter.count(source.text) for source in state.sources),
    }


def _from_document_chat(state: ConversationState, found: DocumentChatResult) -> dict[str, Any]:
    return {
        "context_docs": [*state.context_docs, found.answer],
        "uploaded_file_refs": found.files,
        "answer": found.answer,
        "citations": found.citations,
        "grounding": found.metadata.grounding,
        "retrieval_mode": found.metadata.mode,
        "retrieval_reason": found.metadata.reason,
        "retrieval_steps": found.metadata.retrieval,
        "files": found.metadata.files,
        "tool_usage": state.tool_usage + found.metadata.usage,
    }
