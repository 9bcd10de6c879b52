"""The plans that need no model: where wording, settings or what can be looked into settle the matter."""

from collections.abc import Sequence
from typing import NamedTuple

from core.text.question_type import (
    RECALL_COVERAGE,
    asks_for_listing,
    asks_for_overview,
    is_bare_answer,
    is_small_talk,
    is_statement,
    speaks_of_documents,
)
from orc.graphs.intents import (
    CONVERSATIONAL,
    FACTUAL,
    RESEARCH,
    Reach,
    kind_by_keyword,
    kinds_of,
    retriever_for,
    usual_steps,
)
from orc.graphs.models import ConversationState, Policy, QueryPlan
from orc.intents import Retriever, Step

GUESSED = 0.5
"""The confidence of a plan that stands in for a model's."""


class Decision(NamedTuple):
    """The kind of a question, how it is looked up, and what is done."""

    kind: str
    retriever: Retriever
    plan: QueryPlan


def told_by_wording(state: ConversationState) -> Decision | None:
    """Talk, and what memory answers: nothing is looked up, whatever there is to look into.

    Where there are documents, what the user said settles no more than names, and what was to be remembered:
    of anything else a document may say otherwise.
    """
    question = state.question
    is_talk = is_small_talk(question) or (is_bare_answer(question) and not state.history)
    recalled = state.recalled
    coverage = recalled.lasting_coverage if state.has_documents else recalled.coverage
    is_known = coverage >= RECALL_COVERAGE and not _is_about_documents(question)
    if state.blob_names or not (is_talk or is_known):
        return None
    return Decision(CONVERSATIONAL, "none", _as_asked(state, ["answer"]))


def obvious(state: ConversationState, reach: Reach, policy: Policy) -> Decision | None:
    """What needs no model to plan; None where one has to say what is meant, or what to look into."""
    configured = kind_by_keyword(state.question, policy)
    if not any(reach):
        return _usual(configured or CONVERSATIONAL, state, reach, policy)
    if state.blob_names:
        named = _usual(configured or _kind_by_wording(state.question), state, reach, policy)
        return None if state.history else named
    if configured:
        decision = _usual(configured, state, reach, policy)
        return decision if _is_settled(decision, state, reach, policy) else None
    if reach.documents and asks_for_listing(state.question):
        return _usual(RESEARCH, state, reach, policy)
    return None if state.history or reach.web else _about_documents(state, reach, policy)


def instead(problem: str, state: ConversationState, reach: Reach, policy: Policy) -> Decision:
    """What is done where a model was to plan and, as `problem` explains, did not."""
    kind = kind_by_keyword(state.question, policy) or (FACTUAL if reach.documents else CONVERSATIONAL)
    steps: list[Step] = ["retrieve", "answer"] if reach.documents else ["answer"]
    done = "looked up in the documents as asked" if reach.documents else "answered without looking it up"
    reason = f"The turn could not be planned: {problem.rstrip('.')}; the question is {done}."
    plan = _as_asked(state, steps, confidence=GUESSED, decided_by="fallback", fallback=reason)
    return Decision(kind, retriever_for(steps, kinds_of(policy)[kind], state, policy), plan)


def _about_documents(state: ConversationState, reach: Reach, policy: Policy) -> Decision:
    """The first question of a conversation that has documents."""
    if is_statement(state.question):
        # Whether it also asks for something is for the model to tell that answers.
        return Decision(CONVERSATIONAL, "tools", _as_asked(state, ["retrieve", "answer"]))
    return _usual(_kind_by_wording(state.question), state, reach, policy)


def _is_settled(decision: Decision, state: ConversationState, reach: Reach, policy: Policy) -> bool:
    """Whether the kind alone says enough: where code searches, the question has to stand alone."""
    if decision.retriever in ("none", "tools"):
        return True
    says_where = kinds_of(policy)[decision.kind].retriever is not None or not reach.web
    return says_where and not state.history


def _kind_by_wording(question: str) -> str:
    return RESEARCH if asks_for_listing(question) or asks_for_overview(question) else FACTUAL


def _is_about_documents(question: str) -> bool:
    return speaks_of_documents(question) or asks_for_listing(question) or asks_for_overview(question)


def _usual(kind: str, state: ConversationState, reach: Reach, policy: Policy) -> Decision:
    brings = kinds_of(policy)[kind]
    steps: list[Step] = ["retrieve", "answer"] if state.blob_names else usual_steps(brings, reach)
    without_web = brings.retriever == "web" and not reach.web and not state.blob_names
    reason = f"The web, where {kind} questions are looked up, is not there in this turn."
    plan = _as_asked(state, steps, fallback=reason if without_web else None)
    return Decision(kind, retriever_for(steps, brings, state, policy), plan)


def _as_asked(state: ConversationState, steps: Sequence[Step], **how: object) -> QueryPlan:
    return QueryPlan.model_validate({"query": state.question, "steps": list(steps), "confidence": 1.0, **how})
