"""The kinds of questions that there are in a process, and where the answers to each are looked for."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.errors import InvalidInput
from core.llm.factory import ChatModels
from core.text.terms import words
from orc.graphs.models import ConversationState, Policy
from orc.intents import Intent, Retriever, Step

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


def kinds_of(policy: Policy) -> dict[str, Intent]:
    """All kinds by name. What the settings leave open of a kind that there is anyway stays as it is."""
    kinds = dict(BUILT_IN)
    for name, configured in policy.intents.items():
        kinds[name] = kinds.get(name, Intent()).model_copy(
            update=configured.model_dump(exclude_defaults=True)
        )
    return kinds


def kind_by_keyword(question: str, policy: Policy) -> str | None:
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


def retriever_for(steps: Sequence[Step], kind: Intent, state: ConversationState, policy: Policy) -> Retriever:
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
