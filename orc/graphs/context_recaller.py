"""recall_context: what of the conversation's older turns bears on the question."""

from typing import Any

from langgraph.runtime import Runtime

from orc.graphs.models import ConversationState, Deps
from orc.graphs.utils import changes


async def recall_context(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Choose from the memory; nothing is asked of anybody where there is none."""
    if not (state.memory.notes or state.memory.summary):
        return {}
    return changes(recalled=await runtime.context.recall(state.question, state.memory))
