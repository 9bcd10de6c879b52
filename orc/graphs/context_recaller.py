"""recall_context: what of the conversation's older turns bears on the question."""

from typing import Any

from langgraph.runtime import Runtime

from orc.context.models import Recalled
from orc.graphs.models import ConversationState, Deps
from orc.graphs.utils import changes


async def recall_context(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Choose from the memory; nothing is asked of anybody where there is none, or it was not read."""
    memory = state.memory
    if not (memory.notes or memory.summary):
        return changes(recalled=Recalled(reason=memory.unread))
    return changes(recalled=await runtime.context.recall(state.question, memory))
