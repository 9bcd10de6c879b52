"""What a search engine is asked. Words of documents do not leave with a query."""

import re

from orc.graphs.models import ConversationState
from orc_core.mcp_contract import MAX_QUERY_CHARACTERS
from orc_core.text.provenance import is_inserted, is_pasted, own_words
from orc_core.text.terms import detect_language, stems, words

_ONLY_WORDS = re.compile(r"[\w\s.,;:?!'\"’()/%&€$+-]*")
_CITES_A_DOCUMENT = ' of Document "'


# Why only the user's words leave: docs/decisions/web-search.md.
def web_query(wanted: str, state: ConversationState) -> str:
    """`wanted`, if a model can have it from the user alone; otherwise the question as the user asked it.

    A document can order a model that reads it to send other documents' text to the search engine. The planner
    reads answers from documents.
    """
    if not _may_know_documents(state):
        return wanted[:MAX_QUERY_CHARACTERS]
    said = [own_words(message.content) for message in state.history if message.role == "user"]
    asked = _asked(state.question)
    own = words("\n".join([asked, *said, *(note.text for note in state.recalled.notes)]))
    language = detect_language(own)
    known = {"", *stems(own, language)}
    is_own = _ONLY_WORDS.fullmatch(wanted) and known.issuperset(stems(words(wanted), language))
    return (wanted if is_own and wanted.strip() else asked)[:MAX_QUERY_CHARACTERS]


def _asked(question: str) -> str:
    """The question as far as a search engine may have it; empty if a client has put texts into it.

    A phrase in quotation marks is what the user looks for; a text that was pasted is not.
    """
    if is_inserted(question):
        return ""
    return (own_words(question) if is_pasted(question) else "") or question


def _may_know_documents(state: ConversationState) -> bool:
    """Whether documents, answers from them or other texts of others can be in a prompt of this turn."""
    if is_pasted(state.question):
        return True
    earlier = [message.content for message in state.history]
    remembered = [point.text for point in state.recalled.summary]
    return state.has_documents or any(_CITES_A_DOCUMENT in text for text in [*earlier, *remembered])
