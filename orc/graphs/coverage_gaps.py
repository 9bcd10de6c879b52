"""What was not looked into for an answer that says that nothing was found: it counts only without gaps."""

from collections.abc import Iterator

from core.grounding.models import Grounding
from orc.graphs.models import DOCUMENT_CHAT, LISTING, WEB_SEARCH, ConversationState
from orc.graphs.tool_context import TOO_LONG


def as_looked_into(checks: Grounding, state: ConversationState) -> Grounding:
    """The checks of the answer; where it finds nothing and not all was looked into, they accept it no more,
    and say why."""
    if not checks.not_found or not (gaps := list(dict.fromkeys(_gaps(state)))):
        return checks
    return checks.model_copy(
        update={"not_found": False, "grounded": False, "issues": [*checks.issues, *gaps]}
    )


def _gaps(state: ConversationState) -> Iterator[str]:
    for file in state.files:
        if file.status == "failed":
            yield f"{file.blob_name} could not be read: {file.reason or 'its text is not ready.'}"
    if state.left_out:
        yield f"{state.left_out} of the passages or pages did not fit into the model's window."
    if not state.blob_names:
        yield from _gaps_of_tools(state)


def _gaps_of_tools(state: ConversationState) -> Iterator[str]:
    """What is told of documents where there are some, and of the web where there are none."""
    beside = {LISTING, DOCUMENT_CHAT, WEB_SEARCH} if state.has_documents else {LISTING, DOCUMENT_CHAT}
    results = [result for result in state.tool_results if result.name not in beside]
    found = [result for result in results if not result.error and result.content != TOO_LONG]
    if not found:
        where = "in the documents" if state.has_documents else "anywhere"
        yield f"Nothing could be looked up {where}, so that nothing was found there says nothing."
    for result in found:
        documents = result.content.get("documents")
        for document in documents if isinstance(documents, list) else []:
            if isinstance(document, dict) and document.get("searched") is False:
                yield f"{document.get('filename')} was not searched: {document.get('reason')}"
