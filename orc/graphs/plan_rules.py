"""The kinds of questions that there are in a process, and where the answers to each are looked for."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.errors import InvalidInput
from core.llm.factory import ChatModels
from core.text.question_type import (
    RECALL_COVERAGE,
    asks_for_listing,
    asks_for_overview,
    is_bare_answer,
    is_small_talk,
    is_statement,
    speaks_of_documents,
)
from core.text.terms import words
from orc.graphs.models import ConversationState, QueryPlan
from orc.intents import Intent, Retriever, Step
from orc.settings import TurnSettings

FACTUAL, FAQ, RESEARCH, CONVERSATIONAL = "factual_lookup", "faq", "research", "conversational"

BUILT_IN: Mapping[str, Intent] = {
    FACTUAL: Intent(description="asks for something definite: a number, a date, a name, a rule"),
    FAQ: Intent(
        description="is asked by many in the same words and has a short, settled answer", retriever="search"
    ),
    RESEARCH: Intent(
        description="needs several places: an overview, a comparison, a list, which documents there are",
        retriever="tools",
    ),
    CONVERSATIONAL: Intent(
        description="is talk, thanks, or about the conversation itself; nothing is looked up",
        retriever="none",
    ),
}


class Reach(NamedTuple):
    """What can be looked into in this turn."""

    documents: bool
    web: bool


def kinds_of(policy: TurnSettings) -> dict[str, Intent]:
    """All kinds by name. What the settings leave open of a kind that there is anyway stays as it is."""
    kinds = dict(BUILT_IN)
    for name, configured in policy.intents.items():
        kinds[name] = kinds.get(name, Intent()).model_copy(
            update=configured.model_dump(exclude_defaults=True)
        )
    return kinds


def kind_by_keyword(question: str, policy: TurnSettings) -> str | None:
    """The first kind of the settings of which the question has a keyword, as whole words."""
    asked = _spaced(question)
    for name, intent in policy.intents.items():
        if any(_spaced(keyword) in asked for keyword in intent.keywords):
            return name
    return None


def usual_steps(kind: Intent, reach: Reach) -> list[Step]:
    """What is done for a question of this kind where nothing says otherwise."""
    if kind.retriever == "none" or not any(reach):
        return ["answer"]
    to_the_web = reach.web and (kind.retriever == "web" or not reach.documents)
    return ["web_search" if to_the_web else "retrieve", "answer"]


def retriever_for(
    steps: Sequence[Step], kind: Intent, state: ConversationState, policy: TurnSettings
) -> Retriever:
    """How those steps look things up. A model chooses tools only where it may choose among all there are."""
    if state.blob_names:
        return "document_chat"
    if not {"retrieve", "both"}.intersection(steps):
        return "web" if "web_search" in steps else "none"
    if kind.retriever in ("search", "summaries"):
        return kind.retriever
    if kind.retriever == "tools" and not {"web_search", "both"}.intersection(steps):
        return "tools"
    return "summaries" if policy.lazy_retrieval else "search"


def check_intents(intents: Mapping[str, Intent], models: ChatModels) -> None:
    """Raise InvalidInput for kinds of the settings that no turn could follow."""
    for name, intent in intents.items():
        if problem := _problem(name, intent, models):
            raise InvalidInput(f"ORC_INTENTS cannot be used: {name!r} {problem}", field="intents")


def _problem(name: str, intent: Intent, models: ChatModels) -> str | None:
    if not name.strip():
        return "is no name for a kind of question."
    if not all(map(words, intent.keywords)):
        return "has a keyword without a word in it."
    if intent.model is not None and intent.model not in models.names:
        return f"names the model {intent.model!r}; the configured models are: {', '.join(models.names)}."
    if intent.retriever == "document_chat":
        return "names the retriever document_chat, which is for named documents, and for them always."
    return None


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


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


def obvious(state: ConversationState, reach: Reach, policy: TurnSettings) -> Decision | None:
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


def instead(problem: str, state: ConversationState, reach: Reach, policy: TurnSettings) -> Decision:
    """What is done where a model was to plan and, as `problem` explains, did not."""
    kind = kind_by_keyword(state.question, policy) or (FACTUAL if reach.documents else CONVERSATIONAL)
    steps: list[Step] = ["retrieve", "answer"] if reach.documents else ["answer"]
    done = "looked up in the documents as asked" if reach.documents else "answered without looking it up"
    reason = f"The turn could not be planned: {problem.rstrip('.')}; the question is {done}."
    plan = _as_asked(state, steps, confidence=GUESSED, decided_by="fallback", fallback=reason)
    return Decision(kind, retriever_for(steps, kinds_of(policy)[kind], state, policy), plan)


def _about_documents(state: ConversationState, reach: Reach, policy: TurnSettings) -> Decision:
    """The first question of a conversation that has documents."""
    if is_statement(state.question):
        # Whether it also asks for something is for the model to tell that answers.
        return Decision(CONVERSATIONAL, "tools", _as_asked(state, ["retrieve", "answer"]))
    return _usual(_kind_by_wording(state.question), state, reach, policy)


def _is_settled(decision: Decision, state: ConversationState, reach: Reach, policy: TurnSettings) -> bool:
    """Whether the kind alone says enough: where code searches, the question has to stand alone."""
    if decision.retriever in ("none", "tools"):
        return True
    says_where = kinds_of(policy)[decision.kind].retriever is not None or not reach.web
    return says_where and not state.history


def _kind_by_wording(question: str) -> str:
    return RESEARCH if asks_for_listing(question) or asks_for_overview(question) else FACTUAL


def _is_about_documents(question: str) -> bool:
    return speaks_of_documents(question) or asks_for_listing(question) or asks_for_overview(question)


def _usual(kind: str, state: ConversationState, reach: Reach, policy: TurnSettings) -> Decision:
    brings = kinds_of(policy)[kind]
    steps: list[Step] = ["retrieve", "answer"] if state.blob_names else usual_steps(brings, reach)
    without_web = brings.retriever == "web" and not reach.web and not state.blob_names
    reason = f"The web, where {kind} questions are looked up, is not there in this turn."
    plan = _as_asked(state, steps, fallback=reason if without_web else None)
    return Decision(kind, retriever_for(steps, brings, state, policy), plan)


def _as_asked(state: ConversationState, steps: Sequence[Step], **how: object) -> QueryPlan:
    return QueryPlan.model_validate({"query": state.question, "steps": list(steps), "confidence": 1.0, **how})
