"""Near misses of a model are put right, and what was asked is shown without identifiers."""

from typing import Any

import pytest

from orc.tools.schemas import Handles, hits_in, shown_arguments, with_handles, within_limits

LIMIT = {"type": "integer", "minimum": 1, "maximum": 20}
SCHEMA = {
    "properties": {"query": {"type": "string"}, "limit": LIMIT, "top_k": {"anyOf": [LIMIT, {"type": "null"}]}}
}
DOCUMENTS = [("id-1", "doc1.pdf"), ("id-2", "Lease 2024.pdf")]


@pytest.mark.parametrize(
    ("given", "taken", "is_said"),
    [
        ({"limit": 25}, {"limit": 20}, True),
        ({"limit": 0}, {"limit": 1}, True),
        ({"top_k": 100}, {"top_k": 20}, True),
        ({"limit": "7"}, {"limit": 7}, False),
        ({"limit": 7.0}, {"limit": 7}, False),
        ({"limit": True}, {"limit": True}, False),
        ({"limit": None, "query": "25"}, {"limit": None, "query": "25"}, False),
        ({"unknown": 99}, {"unknown": 99}, False),
    ],
)
def test_numbers_are_brought_within_the_limits(given: Any, taken: Any, is_said: bool) -> None:
    arguments, changed = within_limits(given, SCHEMA)
    assert arguments == taken
    assert bool(changed) is is_said


@pytest.mark.parametrize("name", ["doc1.pdf", "DOC1.PDF", " doc1.pdf "])
def test_the_name_of_a_file_is_taken_for_its_handle(name: str) -> None:
    handles = Handles(["id-2", "id-1"])
    given = with_handles({"document": name, "page_number": 1, "query": "doc1.pdf"}, handles, DOCUMENTS)
    assert handles.resolve(given) == {"document_id": "id-1", "page_number": 1, "query": "doc1.pdf"}


def test_other_names_stay_unknown() -> None:
    given = with_handles({"document": "secret.pdf"}, Handles(["id-1"]), DOCUMENTS)
    assert given == {"document": "secret.pdf"}


def test_arguments_are_shown_without_identifiers_and_shortened() -> None:
    given = {"query": "x" * 900, "document_id": "id-1", "cached_file_info": [{}], "document_names": ["a.pdf"]}
    shown = shown_arguments(given)
    assert shown.keys() == {"query", "document_names"}
    assert len(shown["query"]) < 410


def test_results_are_counted_whatever_they_are_called() -> None:
    assert hits_in({"passages": [1, 2], "steps": []}) == 2
    assert hits_in({"answer": "x"}) is None
