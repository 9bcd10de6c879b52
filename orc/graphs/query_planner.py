"""What the planner is asked: the form that it fills in, and a prompt within its budget."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field, create_model

from core.errors import DependencyDown, OrcError
from core.llm.errors import ModelOutputInvalid
from core.llm.messages import QuestionMessage, memory_message
from core.llm.token_budget import take_last_fitting
from core.llm.tokens import BEFORE_THE_REPLY, TokenCounter, message_tokens, tools_tokens
from core.mcp_contract import MAX_QUESTION_CHARACTERS
from orc.conversations.models import ChatMessage
from orc.events import Plan, Route
from orc.graphs.models import ConversationState, Deps, QueryPlan, RouteChoice
from orc.graphs.plan_rules import (
    Decision,
    Reach,
    instead,
    kind_by_keyword,
    kinds_of,
    obvious,
    retriever_for,
    told_by_wording,
    usual_steps,
)
from orc.graphs.utils import available_tools, changes
from orc.intents import MAX_STEPS, Intent, Step
from orc.memory.client_history import cleaned
from orc.memory.rendering import remembered
from orc.settings import TurnSettings
from orc.tools.ports import LISTING, SEARCH, SEARCH_PAGES, WEB_SEARCH

STEPS: tuple[Step, ...] = get_args(Step)
SHORTENED = 400
"""Characters of a message that is told in part, because not even the last two fit as they are."""
FORMS_KEPT = 32
USER = "user: "
"""How the user's lines of the transcript begin."""


ENOUGH_CONFIDENCE = 0.5
"""A plan with less confidence searches the documents and the web."""


class TurnPlan(BaseModel):
    """How one turn of a conversation is answered."""

    # Lenient: what does not fit is refused by code that can say what it was.
    intent: str
    question: str = Field(description="the last question, understandable without the conversation")
    steps: list[str] = Field(
        default=[],
        description="in order; none: as usual for the kind",
        json_schema_extra={"items": {"type": "string", "enum": list(STEPS)}, "maxItems": MAX_STEPS},
    )
    confidence: float = Field(
        description="that these steps find the answer", json_schema_extra={"minimum": 0, "maximum": 1}
    )


class PlanMessage(QuestionMessage):
    """The question to plan, and which sources the turn may use."""

    documents: bool
    web: bool


@lru_cache(maxsize=FORMS_KEPT)
def form_for(kinds: tuple[str, ...]) -> type[TurnPlan]:
    """The form with the names of the kinds that there are; the same one every time."""
    intent = Field(description="the kind of question", json_schema_extra={"enum": list(kinds)})
    return create_model("TurnPlan", __base__=TurnPlan, __doc__=TurnPlan.__doc__, intent=(str, intent))


def planning_prompt(
    state: ConversationState, reach: Reach, kinds: Mapping[str, Intent], deps: Deps
) -> list[BaseMessage]:
    """The prompt, with its form within `policy.planner_tokens` unless the question alone takes more.

    The newest messages go first; what is remembered gets half of the room at the most.
    """
    form, counter = form_for(tuple(kinds)), deps.counter
    instructions = deps.prompts.plan.format(reach=_told(reach), kinds=_listed(kinds), most=MAX_STEPS)
    room = deps.policy.planner_tokens

    def asked(known: str, said: Sequence[str]) -> list[BaseMessage]:
        transcript = "\n".join(["Conversation so far:", *said, "", ""]) if said else ""
        question = PlanMessage(
            content=f"{transcript}Last question: {state.question}",
            question=state.question,
            earlier=tuple(line.removeprefix(USER) for line in said if line.startswith(USER)),
            documents=reach.documents,
            web=reach.web,
        )
        return [SystemMessage(instructions), *memory_message(known), question]

    def left(known: str, said: Sequence[str]) -> int:
        return room - prompt_tokens(asked(known, said), form, counter)

    for_memory = min(deps.policy.memory_tokens, left("", []) // 2)
    known = remembered(state.recalled, for_memory, counter) if for_memory > 0 else ""
    said = _newest(state.history, left(known, []), counter)
    while said and left(known, said) < 0:  # text counts differently once it is put together
        said = said[1:]
    return asked(known, said)


def prompt_tokens(messages: Sequence[BaseMessage], form: type[TurnPlan], counter: TokenCounter) -> int:
    """All tokens that a model is given with this form."""
    return (
        BEFORE_THE_REPLY
        + tools_tokens([_definition(form)], counter)
        + sum(message_tokens(message, counter) for message in messages)
    )


@lru_cache(maxsize=FORMS_KEPT)
def _definition(form: type[TurnPlan]) -> dict[str, Any]:
    return convert_to_openai_tool(form)


def _newest(history: Sequence[ChatMessage], tokens: int, counter: TokenCounter) -> list[str]:
    """The newest messages that fit, oldest first; shortened where not even the last two fit whole."""
    # One line a message: a line inside it that starts like another speaker's must not count as one.
    lines = [f"{message.role}: {' '.join(message.content.split())}" for message in history]

    def size(line: str) -> int:
        return counter.count(f"{line}\n")

    whole = take_last_fitting(lines, tokens, size)
    if len(whole) >= min(2, len(lines)):
        return whole
    return take_last_fitting([_shortened(line) for line in lines], tokens, size)


def _shortened(line: str) -> str:
    return line if len(line) <= SHORTENED else f"{line[:SHORTENED].rstrip()} …"


def _told(reach: Reach) -> str:
    places = ["the documents of this conversation"] * reach.documents + ["the web"] * reach.web
    return " and ".join(places) or "nothing"


def _listed(kinds: Mapping[str, Intent]) -> str:
    return "\n".join(f"- {name}: {' '.join(kind.description.split())}" for name, kind in kinds.items())


MOST_ADDED = 1000
"""Characters that may make a question stand alone; what is longer is something else than a question."""


def checked(said: TurnPlan, state: ConversationState, reach: Reach, policy: TurnSettings) -> Decision:
    """The decision that a filled form stands for; ModelOutputInvalid where it makes no sense."""
    kinds, configured = kinds_of(policy), kind_by_keyword(state.question, policy)
    if said.intent not in kinds:
        raise ModelOutputInvalid("The plan names a kind of question that there is not.")
    if not 0 <= said.confidence <= 1:
        raise ModelOutputInvalid("The plan's confidence is not between 0 and 1.")
    planned = in_order(said.steps)
    kind = kinds[configured or said.intent]
    if not said.steps or (configured and kind.retriever is not None):
        planned = usual_steps(kind, reach)
    steps, missing = within(reach, planned)
    query, unusable = standing_alone(said.question, state.question)
    plan = QueryPlan(
        query=query,
        steps=["retrieve", "answer"] if state.blob_names else steps,
        confidence=said.confidence,
        decided_by="model",
        fallback=" ".join(filter(None, (missing, unusable))) or None,
    )
    plan = escalated(plan, reach, ENOUGH_CONFIDENCE)
    return Decision(configured or said.intent, retriever_for(plan.steps, kind, state, policy), plan)


def in_order(steps: Sequence[str]) -> list[Step]:
    """The steps, each once and the answer last; ModelOutputInvalid for too many, or one that there is not."""
    if len(steps) > MAX_STEPS:
        raise ModelOutputInvalid(f"The plan has more than {MAX_STEPS} steps.")
    if not set(steps) <= set(STEPS):
        raise ModelOutputInvalid("The plan has a step that there is not.")
    looks: list[Step] = [step for step in STEPS if step in steps and step != "answer"]
    looks.sort(key=steps.index)
    return [*(["both"] if "both" in looks else looks), "answer"]


def within(reach: Reach, steps: Sequence[Step]) -> tuple[list[Step], str | None]:
    """The steps as far as they are possible, and what is missing for the others.

    For a web that is not there the documents stand in; nothing stands in for documents.
    """
    possible = [step for step in (_possible(step, reach) for step in steps) if step is not None]
    missing = ["documents"] * bool(not reach.documents and {"retrieve", "both"}.intersection(steps))
    missing += ["the web"] * bool(not reach.web and {"web_search", "both"}.intersection(steps))
    reason = f"The plan is to look into {' and '.join(missing)}, which this turn does not have."
    return list(dict.fromkeys(possible)), reason if missing else None


def standing_alone(rewritten: str, asked: str) -> tuple[str, str | None]:
    """The rewritten question, or the question as asked and why."""
    question = cleaned(rewritten)
    if 0 < len(question) <= min(len(asked) + MOST_ADDED, MAX_QUESTION_CHARACTERS):
        return question, None
    wrong = "much too long" if question else "empty"
    return asked, f"The rewritten question was {wrong}; the question is used as asked."


def escalated(plan: QueryPlan, reach: Reach, enough: float) -> QueryPlan:
    """The plan; looking into all that there is where it is less than `enough` sure."""
    everything: Step = "both" if all(reach) else "web_search" if reach.web else "retrieve"
    looks = set(plan.steps)
    if plan.confidence >= enough or not any(reach) or everything in looks:
        return plan
    if {"retrieve", "web_search"} <= looks:
        return plan
    places = {"both": "documents and the web", "web_search": "the web", "retrieve": "the documents"}
    reason = (
        f"The plan was {plan.confidence:.0%} sure, less than the {enough:.0%} that are asked for: "
        f"{places[everything]} are looked into."
    )
    return plan.model_copy(update={"steps": [everything, "answer"], "escalation": reason})


def _possible(step: Step, reach: Reach) -> Step | None:
    if step == "answer" or (step == "both" and all(reach)):
        return step
    if reach.web and step in ("web_search", "both"):
        return "web_search"
    if reach.documents:
        return "retrieve"
    return None


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
