"""The documents that a question is about: named ones, or the few that it compares or asks about as such."""

from collections.abc import Sequence

from orc.events import Plan
from orc.graphs.models import ConversationState, RunContext
from orc.settings import TurnSettings
from orc.tools.ports import DOCUMENT_CHAT
from orc_core.models import Document, DocumentStatus
from orc_core.search.mentions import compares
from orc_core.text.file_names import comparable, without_names
from orc_core.text.terms import in_language_of
from orc_core.text.wording import has_subject

MOST_NAMED = 50
"""Documents that one question may name."""

_LIMITED = {
    "en": "Only {} was read for this. Ask without the name to search all {} documents.",
    "de": "Dafür wurde nur {} gelesen. Ohne den Namen werden alle {} Dokumente durchsucht.",
    "fr": "Seul {} a été lu pour cela. Sans le nom, les {} documents sont parcourus.",
    "es": "Para esto solo se leyó {}. Sin el nombre se buscan los {} documentos.",
}
_QUOTED = {"en": "“{}”", "de": "„{}“", "fr": "« {} »", "es": "«{}»"}


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
