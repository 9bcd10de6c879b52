"""What of a model's plan may stand: whatever it says, it cannot reach what the turn does not have."""

from collections.abc import Sequence

from core.llm.errors import ModelOutputInvalid
from core.mcp_contract import MAX_QUESTION_CHARACTERS
from orc.graphs.intents import Reach, kind_by_keyword, kinds_of, retriever_for, usual_steps
from orc.graphs.models import ConversationState, Policy, QueryPlan
from orc.graphs.plan_prompt import STEPS, TurnPlan
from orc.graphs.plan_rules import Decision
from orc.intents import MAX_STEPS, Step
from orc.memory.client_history import cleaned

MOST_ADDED = 1000
"""Characters that may make a question stand alone; what is longer is something else than a question."""


def checked(said: TurnPlan, state: ConversationState, reach: Reach, policy: Policy) -> Decision:
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
    plan = escalated(plan, reach, policy.planner_confidence)
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
