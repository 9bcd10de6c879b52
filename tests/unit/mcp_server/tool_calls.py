"""Calls of every tool, made from the arguments that it takes: a new tool needs no entry here."""

from typing import Any

from mcp_types import Tool

from orc_core.documents.places import Access, Place, PlaceType
from orc_core.documents.scope import Scope
from orc_core.mcp_contract import TOOL_FACTS
from orc_core.names import page_id

Arguments = dict[str, Any]
LOCAL = sorted(name for name, facts in TOOL_FACTS.items() if not facts.external)
"""The tools that a server without a search engine offers."""
IDENTIFIERS = {"document_id", "page_id"}
"""Arguments that name a document or a page: test_tool_isolation.py calls their tools with those of others."""
HARMLESS = set(
    "query top_k limit page_number entity_value relation_type direction question max_chars look_for"
    " context status name cursor document_names cached_file_info".split()
)
"""Arguments that name nothing by an id. `context` selects among the contexts of the token."""


def may_change(scope: Scope) -> Scope:
    """The scope of an editor of a workspace, who has switched on all tools that change something."""
    shared = Place(type=PlaceType.WORKSPACE, id="k3v9x2mq7hd4tz1w", name="Crew", access=Access.EDITOR)
    updates = tuple(sorted(name for name, facts in TOOL_FACTS.items() if facts.kind == "update"))
    return scope.model_copy(update={"places": (*scope.places, shared), "tools_on": updates})


def calls_of(tool: Tool, words: str, document: str, name: str = "") -> list[Arguments]:
    """Calls that ask for `words`: one for each identifier that the tool takes, or one if it takes none.

    `document` is given as the identifier, `name` as the file name.
    """
    taken, required = tool.input_schema["properties"], tool.input_schema.get("required", [])
    ids = {"document_id": document, "page_id": page_id(document, 1)}
    shared: Arguments = {name: words for name in ("query", "question", "entity_value") if name in taken}
    if "document_names" in required:
        shared["document_names"] = [name]
    calls = [{**shared, name: ids[name]} for name in taken if name in ids] or [shared]
    for call in calls:
        if "page_number" in taken and "document_id" in call:
            call["page_number"] = 1
    return calls
