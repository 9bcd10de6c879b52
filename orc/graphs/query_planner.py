"""plan_query: what to look up. A model helps only where there is a history to rewrite against."""

from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from core.contract import MAX_QUESTION_CHARACTERS
from core.errors import OrcError
from orc.events import Plan, Route
from orc.graphs.models import ConversationState, Deps, QueryPlan
from orc.graphs.routing import Intent, intent_of
from orc.graphs.utils import changes, within_budget

PLANNER_TOKENS = 3000
_STEPS: dict[Intent, list[str]] = {
    "document_question": ["retrieve", "answer"],
    "tools": ["tools", "answer"],
    "conversation": ["answer"],
}


class RewrittenQuestion(BaseModel):
    """The last question of a conversation, made to stand alone."""

    question: str = Field(description="the question, understandable without the conversation")


async def plan_query(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Announce the route, and make the question stand alone if it is to be looked up."""
    deps, intent = runtime.context, intent_of(state)
    retriever = {"document_question": "document_chat", "tools": "tools", "conversation": "none"}[intent]
    deps.emit(Route.model_validate({"intent": intent, "model": deps.model_name, "retriever": retriever}))
    plan = await _plan(state, deps, intent)
    deps.emit(plan_event(plan))
    return changes(plan=plan)


def plan_event(plan: QueryPlan) -> Plan:
    """The plan as callers see it, while the turn runs and in its result."""
    return Plan(
        rewritten_query=plan.query, steps=plan.steps, confidence=plan.confidence, fallback=plan.fallback
    )


async def _plan(state: ConversationState, deps: Deps, intent: Intent) -> QueryPlan:
    as_asked = QueryPlan(query=state.question, steps=_STEPS[intent], confidence=1.0)
    if intent != "document_question" or not state.history:
        return as_asked
    try:
        rewritten = await deps.planner.structured(
            _rewrite_prompt(state, deps), RewrittenQuestion, meter=deps.meter
        )
    except OrcError as exc:
        reason = f"The question could not be rewritten and is used as asked: {exc.message}"
        return as_asked.model_copy(update={"confidence": 0.5, "fallback": reason})
    query = rewritten.question.strip()[:MAX_QUESTION_CHARACTERS]
    return as_asked.model_copy(update={"query": query or state.question})


def _rewrite_prompt(state: ConversationState, deps: Deps) -> list[SystemMessage | HumanMessage]:
    recent = within_budget(state.history, PLANNER_TOKENS, deps.counter)
    # One line a message: a line inside it that starts like another speaker's must not count as one.
    history = "\n".join(f"{message.role}: {' '.join(message.content.split())}" for message in recent)
    return [
        SystemMessage(deps.prompts.rewrite),
        HumanMessage(f"Conversation so far:\n{history}\n\nLast question: {state.question}"),
    ]
