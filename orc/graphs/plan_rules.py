"""Intents, and the plans that need no model: wording, settings or the available sources decide them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orc.events import Plan
from orc.graphs.models import ConversationState
from orc.intents import Intent, Retriever, Step
from orc.settings import TurnSettings
from orc_core.errors import InvalidInput
from orc_core.llm.factory import ChatModels
from orc_core.text.terms import STOP_WORDS, detect_language, words
from orc_core.text.wording import has_subject, is_small_talk, names_documents

FACTUAL, FAQ, RESEARCH, CONVERSATIONAL = "factual_lookup", "faq", "research", "conversational"

BUILT_IN: Mapping[str, Intent] = {
    FACTUAL: Intent(description="asks for something definite: a number, a date, a name, a rule"),
    FAQ: Intent(
        description="is asked by many in the same words and has a short, settled answer",
        max_output_tokens=600,
        retriever="search",
    ),
    RESEARCH: Intent(
        description="needs several places: an overview, a comparison, a list, which documents there are",
        retriever="tools",
    ),
    CONVERSATIONAL: Intent(
        description="is talk, thanks, or about the conversation itself; nothing is looked up",
        max_output_tokens=1000,
        retriever="none",
    ),
}
RECALL_COVERAGE = 0.6
"""The share of a question's terms that the memory has to hold to count as its answer."""
FALLBACK_CONFIDENCE = 0.5
"""The confidence of a plan that replaces a model's."""


class AvailableSources(NamedTuple):
    """The sources that this turn can search."""

    documents: bool
    web: bool


class Decision(NamedTuple):
    """The intent of a question, its retriever and its plan."""

    intent: str
    retriever: Retriever
    plan: Plan


def intents_of(settings: TurnSettings) -> dict[str, Intent]:
    """All intents by name. The settings add intents, or override fields of the built-in ones."""
    intents = dict(BUILT_IN)
    for name, configured in settings.intents.items():
        changed = configured.model_dump(exclude_defaults=True)
        intents[name] = intents.get(name, Intent()).model_copy(update=changed)
    return intents


def searched_by_model(settings: TurnSettings) -> TurnSettings:
    """The settings with intents under which the model decides whether documents are searched."""
    chosen = {
        name: settings.intents.get(name, Intent()).model_copy(update={"retriever": "tools"})
        for name, intent in intents_of(settings).items()
        if intent.retriever in (None, "search", "summaries")
    }
    return settings.model_copy(update={"intents": {**settings.intents, **chosen}})


def intent_by_keyword(question: str, settings: TurnSettings) -> str | None:
    """The first configured intent with a keyword in the question, as whole words."""
    asked = _spaced(question)
    for name, intent in settings.intents.items():
        if any(_spaced(keyword) in asked for keyword in intent.keywords):
            return name
    return None


def default_steps(intent: Intent, sources: AvailableSources) -> list[Step]:
    """The steps for a question of this intent if no plan says otherwise."""
    if intent.retriever == "none" or not any(sources):
        return ["answer"]
    prefers_web = sources.web and (intent.retriever == "web" or not sources.documents)
    return ["web_search" if prefers_web else "retrieve", "answer"]


def retriever_for(
    steps: Sequence[Step], intent: Intent, state: ConversationState, settings: TurnSettings
) -> Retriever:
    """The retriever for the steps. A model chooses tools only if the plan does not name the web."""
    if state.blob_names:
        return "document_chat"
    if not {"retrieve", "both"}.intersection(steps):
        return "web" if "web_search" in steps else "none"
    if intent.retriever in ("search", "summaries"):
        return intent.retriever
    if intent.retriever == "tools" and not {"web_search", "both"}.intersection(steps):
        return "tools"
    return "summaries" if settings.lazy_retrieval else "search"


# Why rules come before a model, and code searches first: docs/decisions/planning.md.
def plan_from_wording(state: ConversationState) -> Decision | None:
    """The plan for talk, and for questions that memory answers: nothing is looked up.

    If there are documents, memory is enough only for names and for what the user asked to remember: a
    document may contradict anything else.
    """
    question, recalled = state.question, state.recalled
    coverage = recalled.lasting_coverage if state.has_documents else recalled.coverage
    is_known = coverage >= RECALL_COVERAGE and not names_documents(question)
    if state.blob_names or not (is_small_talk(question) or is_known):
        return None
    return Decision(CONVERSATIONAL, "none", _plan_as_asked(state, ["answer"]))


def plan_by_rules(
    state: ConversationState, sources: AvailableSources, settings: TurnSettings, language: str | None = None
) -> Decision | None:
    """The plan if rules can make it; None if a model has to choose the sources or rewrite the question.

    It has to if the question is not in the `language` of the documents.
    """
    configured, question = intent_by_keyword(state.question, settings), state.question

    def usual(intent: str) -> Decision:
        chosen = intents_of(settings)[intent]
        steps: list[Step] = ["retrieve", "answer"] if state.blob_names else default_steps(chosen, sources)
        lacks_web = chosen.retriever == "web" and not sources.web and not state.blob_names
        reason = f"The intent {intent} uses the web, which is not available in this turn."
        plan = _plan_as_asked(state, steps, fallback=reason if lacks_web else None)
        return Decision(intent, retriever_for(steps, chosen, state, settings), plan)

    if not any(sources):
        return usual(configured or CONVERSATIONAL)
    if state.blob_names:
        return None if state.history and not state.reads_whole else usual(configured or FACTUAL)
    if configured:
        decision = usual(configured)
        # If code searches, the question has to be understandable alone.
        names_source = intents_of(settings)[configured].retriever is not None or not sources.web
        is_settled = decision.retriever in ("none", "tools") or (names_source and not state.history)
        return decision if is_settled else None
    if state.history or sources.web or _is_foreign(question, language):
        return None
    # A question about the documents themselves has no words to search for: the model uses the tools.
    return usual(FACTUAL if has_subject(question) else RESEARCH)


def _is_foreign(question: str, language: str | None) -> bool:
    """Whether the question is certainly in another language than the documents."""
    spelled = words(question)
    asked = detect_language(spelled)
    return language not in (None, asked) and not STOP_WORDS[asked].isdisjoint(spelled)


def fallback_plan(
    problem: str, state: ConversationState, sources: AvailableSources, settings: TurnSettings
) -> Decision:
    """The plan that replaces a model's; `problem` says why there is none."""
    intent = intent_by_keyword(state.question, settings) or (FACTUAL if sources.documents else CONVERSATIONAL)
    steps: list[Step] = ["retrieve", "answer"] if sources.documents else ["answer"]
    action = "looked up in the documents as asked" if sources.documents else "answered without a lookup"
    reason = f"The turn could not be planned: {problem.rstrip('.')}; the question is {action}."
    how = {"confidence": FALLBACK_CONFIDENCE, "decided_by": "fallback", "fallback": reason}
    retriever = retriever_for(steps, intents_of(settings)[intent], state, settings)
    return Decision(intent, retriever, _plan_as_asked(state, steps, **how))


def check_intents(intents: Mapping[str, Intent], models: ChatModels) -> None:
    """Raise InvalidInput for configured intents that no turn could use."""
    for name, intent in intents.items():
        if not name.strip():
            problem = "is not a name."
        elif not all(map(words, intent.keywords)):
            problem = "has a keyword without a word in it."
        elif intent.model is not None and intent.model not in models.names:
            known = ", ".join(models.names)
            problem = f"names the model {intent.model!r}; the configured models are: {known}."
        elif intent.retriever == "document_chat":
            problem = "names the retriever document_chat, which always and only serves named documents."
        else:
            continue
        raise InvalidInput(f"ORC_INTENTS cannot be used: {name!r} {problem}", field="intents")


def _plan_as_asked(state: ConversationState, steps: Sequence[Step], **fields: object) -> Plan:
    asked = {"rewritten_query": state.question, "steps": list(steps), "confidence": 1.0}
    return Plan.model_validate(asked | fields)


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "
