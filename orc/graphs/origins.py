"""Where the material in a turn's prompts came from: what revocation has to know of it later."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from orc.tools.ports import WEB_SEARCH

MATERIAL = ("documents", "passages", "pages", "results", "citations")
"""The lists of a tool result that hold material of documents; a listing of contexts is none."""


class Origins:
    """The documents that tools have returned in one turn, with the context that each was reached through.

    `unnamed`: a tool returned material without saying of which documents it is.
    """

    def __init__(self) -> None:
        self.contexts: dict[str, str] = {}
        self.unnamed = False
        self.results: Counter[str] = Counter()

    def note(self, tool: str, content: dict[str, Any]) -> None:
        """Add what a tool returned."""
        if tool == WEB_SEARCH:
            return
        found = list(_documents_in(content))
        for document_id, context_id in found:
            self.contexts[document_id] = context_id
        self.results.update(context_id for _, context_id in found if context_id)
        has_lists = any(isinstance(content.get(name), list) for name in MATERIAL)
        self.unnamed = self.unnamed or (not found and not has_lists and bool(content))


def _documents_in(part: Any) -> Iterator[tuple[str, str]]:
    """The ids of documents with the ids of their contexts, "" for those of the session."""
    if isinstance(part, list):
        for item in part:
            yield from _documents_in(item)
    elif isinstance(part, dict):
        if isinstance(document_id := part.get("document_id"), str):
            is_context = part.get("context_type") not in (None, "session")
            yield document_id, str(part.get("context_id") or "") if is_context else ""
        for name, value in part.items():
            if name != "by_context":
                yield from _documents_in(value)
