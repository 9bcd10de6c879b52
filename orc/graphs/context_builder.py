"""recall_context: what of the conversation's older turns bears on the question."""

from typing import Any

from langgraph.runtime import Runtime

from core.mcp_contract import DocumentChatResult
from orc.events import Context
from orc.graphs.models import ConversationState, Deps
from orc.graphs.prompts import told_history
from orc.graphs.utils import changes
from orc.memory.models import Recalled
from orc.tools.ports import DOCUMENT_CHAT


async def recall_context(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Choose from the memory; nothing is asked of anybody where there is none, or it was not read."""
    memory = state.memory
    if not (memory.notes or memory.summary):
        return changes(recalled=Recalled(reason=memory.unread))
    return changes(recalled=await runtime.context.recall(state.question, memory))


async def build_context(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Take over what the tools found; document_chat's files replace the conversation's references.

    Says how large the prompt of an answer was that a tool, or a model with tools, has given; of one that
    is still to be written, write_answer says it.
    """
    update: dict[str, Any] = {}
    for result in state.tool_results:
        if result.name == DOCUMENT_CHAT and result.error is None:
            update = _from_document_chat(state, DocumentChatResult.model_validate(result.content))
    if state.answer is not None or "answer" in update:
        budget = update.get("context_budget", state.context_budget)
        runtime.context.emit(context_event(state, budget, runtime.context))
    return changes(**update)


def context_event(state: ConversationState, budget: dict[str, int], deps: Deps) -> Context:
    """What the answer is made of, in tokens by part of its prompt, and what of the memory was told.

    document_chat reads no history: the question that it is given stands alone.
    """
    told = [] if state.blob_names else told_history(state, deps)
    return Context(
        budget=budget,
        summary_selection=state.recalled.selection,
        history_turns=sum(message.role == "user" for message in told),
    )


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
        "left_out": found.metadata.left_out,
        "context_budget": found.metadata.prompt,
    }
