"""plan_query: what to look up. A model helps only where there is a history to rewrite against."""

from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from core.contract import MAX_QUESTION_CHARACTERS
from core.errors import OrcError
from orc.events import Plan, Route
from orc.graphs.models import ConversationState, Deps, QueryPlan, RouteChoice
from orc.graphs.utils import changes, within_budget


class RewrittenQuestion(BaseModel):
    """The last question of a conversation, made to stand alone."""

    question: str = Field(description="the question, understandable without the conversation")


async def plan_query(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Announce the route, and make the question stand alone if it is to be looked up."""
    deps = runtime.context
    model = deps.models.named(deps.asked_model).name
    route, as_asked = _by_rules(state, model)
    deps.emit(Route.model_validate(route.model_dump()))
    plan = await _plan(state, deps, as_asked)
    deps.emit(plan_event(plan))
    return changes(route=route, plan=plan)


def plan_event(plan: QueryPlan) -> Plan:
    """The plan as callers see it, while the turn runs and in its result."""
    return Plan.model_validate({"rewritten_query": plan.query, **plan.model_dump(exclude={"query"})})


def _by_rules(state: ConversationState, model: str) -> tuple[RouteChoice, QueryPlan]:
    if state.blob_names:
        route = RouteChoice(intent="factual_lookup", model=model, retriever="document_chat")
    elif state.has_documents:
        route = RouteChoice(intent="research", model=model, retriever="tools")
    else:
        route = RouteChoice(intent="conversational", model=model, retriever="none")
    looks = route.retriever != "none"
    return route, QueryPlan(query=state.question, steps=["retrieve"] * looks + ["answer"], confidence=1.0)


async def _plan(state: ConversationState, deps: Deps, as_asked: QueryPlan) -> QueryPlan:
    if not state.blob_names or not state.history:
        return as_asked
    try:
        rewritten = await deps.models.planner.structured(
            _rewrite_prompt(state, deps), RewrittenQuestion, meter=deps.meter
        )
    except OrcError as exc:
        reason = f"The question could not be rewritten and is used as asked: {exc.message}"
        return as_asked.model_copy(update={"confidence": 0.5, "decided_by": "fallback", "fallback": reason})
    query = rewritten.question.strip()[:MAX_QUESTION_CHARACTERS]
    return as_asked.model_copy(update={"query": query or state.question, "decided_by": "model"})


def _rewrite_prompt(state: ConversationState, deps: Deps) -> list[SystemMessage | HumanMessage]:
    recent = within_budget(state.history, deps.policy.planner_tokens, deps.counter)
    # One line a message: a line inside it that starts like another speaker's must not count as one.
    history = "\n".join(f"{message.role}: {' '.join(message.content.split())}" for message in recent)
    return [
        SystemMessage(deps.prompts.plan),
        HumanMessage(f"Conversation so far:\n{history}\n\nLast question: {state.question}"),
    ]
