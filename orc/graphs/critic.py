"""critique: what the code checks say of an answer, and what becomes of it."""

from typing import Any

from langgraph.runtime import Runtime

from orc.events import Critique
from orc.graphs.models import ConversationState, Deps
from orc.graphs.utils import changes


async def critique(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Judge the answer. Talk that no document was asked about has nothing to be judged by."""
    if state.grounding is None:
        return {}
    accepted = state.grounding.grounded or state.grounding.not_found
    verdict = Critique(
        grounded=state.grounding.grounded,
        coverage=state.grounding.coverage,
        issues=state.grounding.issues,
        action="accept" if accepted else "label_unverified",
        attempt=state.attempt,
    )
    runtime.context.emit(verdict)
    return changes(verdicts=[*state.verdicts, verdict])
