"""Where the material in a turn's prompts came from: what revocation has to know of it later."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orc.tools.ports import WEB_SEARCH

MATERIAL = ("documents", "passages", "pages", "results", "citations")
"""The lists of a tool result that hold material of documents; a listing of contexts is none."""

ABOUT_ITSELF = ("steps", "counts", "by_context", "next_cursor")
"""What else a listing or a search returns: how it searched, and numbers."""


@dataclass
class Origins:
    """The documents that tools have returned in one turn, with the place that each was reached through.

    A place is the id of a context, "" for the session, and whether it belongs to the focus.
    `unnamed`: a tool returned material without saying of which documents it is.
    """

    places: dict[str, tuple[str, bool]] = field(default_factory=dict)
    unnamed: bool = False
    results: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def note(self, tool: str, content: dict[str, Any]) -> None:
        """Add what a tool returned."""
        if tool == WEB_SEARCH:
            return
        documents = content.get("documents")
        if "steps" in content and isinstance(documents, list):
            # No prompt has the documents that a search went through.
            content = {**content, "documents": [each for each in documents if not each.get("searched")]}
        found = list(_documents_in(content))
        self.places.update(found)
        self.results.update(place for _, place in found)
        self.unnamed = self.unnamed or (not found and _has_material(content))


def _has_material(content: dict[str, Any]) -> bool:
    """Whether the result may hold material: only one of empty lists and of what a search says of itself is
    known to hold none."""
    if not any(isinstance(content.get(name), list) for name in MATERIAL):
        return bool(content)
    return any(_has_text(value) for name, value in content.items() if name not in ABOUT_ITSELF)


def _has_text(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_text, value.values()))
    return any(map(_has_text, value)) if isinstance(value, list) else isinstance(value, str) and bool(value)


def _documents_in(part: Any) -> Iterator[tuple[str, tuple[str, bool]]]:
    """The ids of documents with the places that they were reached through."""
    if isinstance(part, list):
        for item in part:
            yield from _documents_in(item)
    elif isinstance(part, dict):
        if isinstance(document_id := part.get("document_id"), str):
            is_context = part.get("context_type") not in (None, "session")
            context_id = str(part.get("context_id") or "") if is_context else ""
            yield document_id, (context_id, part.get("focus") is not False)
        for name, value in part.items():
            if name != "by_context":
                yield from _documents_in(value)
