"""The sentences of `retrieval_reason` come from structured steps."""

from typing import get_args

import pytest

from orc.lookups import LookupStep, ReasonCode
from orc.turns.results import answer_kind_of, explain
from orc_core.grounding.models import Grounding


def step(reason_code: ReasonCode, tool: str = "semantic_search", **fields: object) -> LookupStep:
    return LookupStep.model_validate({"tool": tool, "reason_code": reason_code, **fields})


def test_a_turn_without_lookups_names_no_documents() -> None:
    assert explain([]) == "The turn names no documents."


def test_steps_become_sentences_in_order() -> None:
    steps = [
        step("failed", detail="no index."),
        step("found", "search_pages", hits=1),
        step("model_called"),
        step("left_out", hits=3, tokens=500),
    ]
    assert explain(steps) == (
        "semantic_search failed: no index. search_pages found 1 result. The model called semantic_search."
        " 3 of the results did not fit into 500 tokens."
    )


def test_repeated_calls_of_one_tool_are_mentioned_once() -> None:
    assert explain([step("model_called"), step("model_called")]) == "The model called semantic_search."


def test_the_reason_of_document_chat_is_passed_on() -> None:
    assert explain([step("document_chat", detail="It fits. a.pdf is read in full.")]) == (
        "It fits. a.pdf is read in full."
    )


@pytest.mark.parametrize("code", get_args(ReasonCode))
def test_every_reason_code_has_a_sentence(code: ReasonCode) -> None:
    assert explain([step(code, detail="why", hits=2, tokens=9)])


@pytest.mark.parametrize(
    ("checks", "kind"),
    [
        (None, "answer"),
        (Grounding(grounded=True, citations=1, quoted=1), "answer"),
        (Grounding(grounded=False, not_found=True), "not_found"),
        (
            Grounding(grounded=True, citations=3, quoted=3, not_found=True, closest_passages=True),
            "closest_passages",
        ),
        (Grounding(grounded=False, citations=3, closest_passages=True, issues=["gap"]), "closest_passages"),
    ],
)
def test_a_result_says_whether_its_citations_answer(checks: Grounding | None, kind: str) -> None:
    assert answer_kind_of(checks) == kind
