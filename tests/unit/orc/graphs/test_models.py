"""What a tool returned counts as material of its documents, or of any document of the turn."""

from typing import Any

import pytest

from orc.graphs.models import Origins

STEP = {"method": "lexical", "threshold": 1.0, "hits": 0, "served": False, "note": "Nothing found."}
PASSAGE = {"document_id": "d", "text": "It costs ten crowns.", "context_type": "folder", "context_id": "c"}


@pytest.mark.parametrize(
    "content",
    [
        {"answer": "It costs ten crowns.", "citations": [], "files": []},
        {"answer": "It costs ten crowns.", "citations": [], "passages": [], "metadata": {"pages": 1}},
        {"passages": [{"text": "It costs ten crowns."}]},
        {"pages": [], "summary": "It costs ten crowns."},
        {"entity_types": [{"name": "ferry"}], "documents": 1},
        {"summary": "It costs ten crowns."},
    ],
)
def test_material_without_a_document_may_be_of_any(content: dict[str, Any]) -> None:
    origins = Origins()
    origins.note("tool", content)
    assert origins.unnamed


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"passages": [], "steps": [STEP], "documents": [], "counts": {"documents": 3, "unread": 0}},
        {"passages": [], "steps": [STEP], "documents": [{"document_id": "d", "searched": True}]},
        {"documents": [], "total": 0, "by_context": [{"context": "Ferries", "total": 0}]},
        {"answer": "", "citations": []},
    ],
)
def test_empty_lists_are_no_material(content: dict[str, Any]) -> None:
    origins = Origins()
    origins.note("tool", content)
    assert (origins.unnamed, origins.places) == (False, {})


def test_material_of_a_document_counts_for_its_place() -> None:
    origins = Origins()
    origins.note("tool", {"passages": [PASSAGE], "steps": [STEP], "documents": []})
    assert (origins.unnamed, origins.places) == (False, {"d": ("c", True)})
    origins.note("web_search", {"results": [{"text": "It costs nine crowns."}]})
    assert not origins.unnamed
