"""plan_query: what kind of question it is and what is looked up, by rules or by one call of a model."""

import asyncio
import logging
from typing import Any

from langgraph.runtime import Runtime

from core.errors import DependencyDown, OrcError
from orc.graphs.intents import Reach, kinds_of
from orc.graphs.models import (
    LISTING,
    SEARCH,
    SEARCH_PAGES,
    WEB_SEARCH,
    ConversationState,
    Deps,
    QueryPlan,
    RouteChoice,
)
from orc.graphs.plan_checks import checked
from orc.graphs.plan_prompt import form_for, planning_prompt
from orc.graphs.plan_rules import Decision, instead, obvious, told_by_wording
from orc.graphs.utils import changes
from orc.tools.schemas import available_tools
from orc.turns.events import Plan, Route

logger = logging.getLogger(__name__)


async def plan_query(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Decide, and announce the route and the plan. A planner that fails never fails the turn."""
    deps = runtime.context
    kind, retriever, plan = await _decide(state, deps)
    brings = kinds_of(deps.policy)[kind]
    route = RouteChoice(
        intent=kind,
        model=deps.models.named(deps.asked_model or brings.model).name,
        retriever=retriever,
        max_output_tokens=brings.max_output_tokens,
    )
    deps.emit(Route.model_validate(route.model_dump()))
    deps.emit(plan_event(plan))
    return changes(route=route, plan=plan)


def plan_event(plan: QueryPlan) -> Plan:
    """The plan as callers see it, while the turn runs and in its result."""
    return Plan.model_validate({"rewritten_query": plan.query, **plan.model_dump(exclude={"query"})})


async def _decide(state: ConversationState, deps: Deps) -> Decision:
    if decision := told_by_wording(state):
        return decision
    reach, missing = await _reach(state, deps)
    decision = obvious(state, reach, deps.policy) or await _by_model(state, reach, deps)
    if missing is None:
        return decision
    why = " ".join(filter(None, (decision.plan.fallback, missing)))
    return decision._replace(plan=decision.plan.model_copy(update={"fallback": why}))


async def _reach(state: ConversationState, deps: Deps) -> tuple[Reach, str | None]:
    """Named documents are all that is read. A web that cannot be asked for now is not there, and why."""
    if state.blob_names:
        return Reach(documents=True, web=False), None
    web, missing = False, None
    try:
        web = any(tool.name == WEB_SEARCH for tool in await available_tools(deps))
    except DependencyDown as exc:
        if WEB_SEARCH not in deps.tools_off:
            missing = f"The plan is made without the web: {exc.message}"
    all_off = deps.tools_off >= {LISTING, SEARCH, SEARCH_PAGES}
    return Reach(documents=state.has_documents and not all_off, web=web), missing


async def _by_model(state: ConversationState, reach: Reach, deps: Deps) -> Decision:
    if deps.meter.calls_left == 1 and not state.blob_names:
        return instead("The only model call that is left is for the answer.", state, reach, deps.policy)
    kinds, seconds = kinds_of(deps.policy), deps.policy.planner_seconds
    try:
        prompt, form = planning_prompt(state, reach, kinds, deps), form_for(tuple(kinds))
        async with asyncio.timeout(seconds):
            said = await deps.models.planner.structured(prompt, form, meter=deps.meter)
        return checked(said, state, reach, deps.policy)
    except TimeoutError:
        problem = f"The planner took more than {seconds:g} s."
    except OrcError as exc:
        problem = exc.message
    except Exception:
        # Planning is no more than a choice: rules make it as well, and no fault in it may cost the turn.
        logger.exception("planner.failed")
        problem = "The planner failed unexpectedly."
    logger.warning("a turn is planned by rules, for want of a model's plan")
    return instead(problem, state, reach, deps.policy)
