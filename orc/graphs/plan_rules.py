"""Intents, the plans that need no model, and the documents that a question is about.

Wording, settings or the available sources decide them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orc.events import Plan
from orc.graphs.models import ConversationState, RunContext
from orc.intents import Intent, Retriever, Step
from orc.settings import TurnSettings
from orc.tools.ports import DOCUMENT_CHAT
from orc_core.documents.unknown_files import without_files
from orc_core.errors import InvalidInput
from orc_core.llm.factory import ChatModels
from orc_core.models import Document, DocumentStatus
from orc_core.search.mentions import compares, continues, last_whole
from orc_core.text.file_names import comparable, without_names
from orc_core.text.provenance import asked_words, is_pasted
from orc_core.text.terms import STOP_WORDS, detect_language, in_language_of, words
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
MOST_NAMED = 50
"""Documents that one question may name."""

_LIMITED = {
    "en": "Only {} was read for this. Ask without the name to search all {} documents.",
    "de": "Dafür wurde nur {} gelesen. Ohne den Namen werden alle {} Dokumente durchsucht.",
    "fr": "Seul {} a été lu pour cela. Sans le nom, les {} documents sont parcourus.",
    "es": "Para esto solo se leyó {}. Sin el nombre se buscan los {} documentos.",
}
_QUOTED = {"en": "“{}”", "de": "„{}“", "fr": "« {} »", "es": "«{}»"}


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
    """The first configured intent with a keyword in the question, as whole words.

    A text that was pasted does not have the web searched.
    """
    asked, own = _spaced(question), _spaced(asked_words(question))
    for name, intent in settings.intents.items():
        said = own if intent.retriever == "web" else asked
        if any(_spaced(keyword) in said for keyword in intent.keywords):
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

    def known(code: str) -> int:
        return sum(map(STOP_WORDS[code].__contains__, spelled))

    return language is not None and known(detect_language(spelled)) > known(language)


def documents_meant(
    state: ConversationState, plan: Plan, context: RunContext, *, may_call: bool
) -> list[str]:
    """The documents, by name or path, that are read as if the request had named them; none if any may be.

    The question of the plan counts if it names all that the user's own words name: it is complete. A model
    that `may_call` tools can read documents that are asked about as such by itself.
    """
    if state.blob_names or DOCUMENT_CHAT in context.tools_off or plan.names_web or not plan.looks_up:
        return []
    if context.update_tools:
        return []  # document_chat answers alone: no model could propose what the user has switched on
    shelf = {path: each for path, each in state.shelf.items() if each.status is not DocumentStatus.FAILED}
    asked, complete = (_named(text, shelf) for text in (state.question, plan.rewritten_query))
    named = complete if set(asked) <= set(complete) else asked
    as_such = not (may_call or plan.decided_by == "fallback" or has_subject(plan.rewritten_query))
    if not named and (as_such or (len(shelf) > 1 and compares(f"{state.question}\n{plan.rewritten_query}"))):
        # Few are read, or read through, each; many are searched.
        named = list(shelf) if len(shelf) <= context.settings.max_documents_per_request else []
    return named[:MOST_NAMED]


def fit_as_a_whole(named: Sequence[Document], settings: TurnSettings) -> bool:
    """Whether the tools server will read these documents whole; if their size is not known yet, no."""
    is_known = bool(named) and all(each.readable and each.tokens for each in named)
    fit = sum(each.tokens for each in named) <= settings.full_text_tokens
    return is_known and fit and len(named) <= settings.max_documents_per_request


def limit_note(state: ConversationState) -> str:
    """A sentence that says which documents were read alone, and how to widen that; empty if all were."""
    names = state.plan.documents if state.plan else []
    total = max(len(state.shelf), state.counts.near + state.counts.far)
    if not names or len(names) >= total:
        return ""
    quoted = in_language_of(state.question, _QUOTED)
    return in_language_of(state.question, _LIMITED).format(", ".join(map(quoted.format, names)), total)


def _named(text: str, shelf: dict[str, Document]) -> list[str]:
    _, found = without_names(text, [each.blob_name for each in shelf.values()])
    forms = set(map(comparable, found))
    return [path for path, each in shelf.items() if comparable(each.blob_name) in forms]


def as_follow_up(state: ConversationState) -> str:
    """The question, behind the last whole one if it begins like its end: a search would not find it alone.

    One that names a file asks the same of that file only.
    """
    before = last_whole([each.content for each in state.history if each.role == "user"])
    if without_files(state.question) != state.question:
        before = without_files(before)
    is_end = before and continues(state.question) and not is_pasted(before)
    return f"{before} {state.question}" if is_end else state.question


def fallback_plan(
    problem: str, state: ConversationState, sources: AvailableSources, settings: TurnSettings
) -> Decision:
    """The plan that replaces a model's; `problem` says why there is none."""
    intent = intent_by_keyword(state.question, settings) or (FACTUAL if sources.documents else CONVERSATIONAL)
    steps: list[Step] = ["retrieve", "answer"] if sources.documents else ["answer"]
    action = "looked up in the documents as asked" if sources.documents else "answered without a lookup"
    reason = f"The turn could not be planned: {problem.rstrip('.')}; the question is {action}."
    how: dict[str, object] = {"confidence": FALLBACK_CONFIDENCE, "decided_by": "fallback", "fallback": reason}
    how["rewritten_query"] = as_follow_up(state)
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
