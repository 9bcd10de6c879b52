"""What the offline model does without sources."""

import json

import pytest

from core.offline.chat import describe_tool_output, recall, rewrite_question

EARLIER = ["What is the deductible of the Standard plan?", "Thanks!"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("and for families?", "and for families (deductible Standard plan)?"),
        ("How much is it?", "How much is it (deductible Standard plan)?"),
        ("Why?", "Why (deductible Standard plan)?"),
        ("Is that paid monthly?", "Is that paid monthly (deductible Standard plan)?"),
        (
            "How does it compare to the Plus plan?",
            "How does it compare to the Plus plan (deductible Standard)?",
        ),
    ],
)
def test_a_follow_up_question_gets_the_subject_of_the_last_one(question: str, expected: str) -> None:
    assert rewrite_question(question, EARLIER) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is coinsurance?",
        "Which services that are medically necessary are covered?",
        "What does this document say about dental care?",
        "Why is it important to choose an in-network provider with Northwind Health Plus?",
    ],
)
def test_a_complete_question_is_not_rewritten(question: str) -> None:
    assert rewrite_question(question, EARLIER) == question


def test_a_second_follow_up_gets_the_same_subject() -> None:
    assert rewrite_question("and for couples?", [*EARLIER, "and for families?"]) == (
        "and for couples (deductible Standard plan)?"
    )


def test_without_history_nothing_is_added() -> None:
    assert rewrite_question("and for families?", []) == "and for families?"


def test_documents_are_listed_by_name_and_status() -> None:
    documents = [
        {"filename": "a.pdf", "status": "completed", "reason": None},
        {"filename": "b.pdf", "status": "failed", "reason": "it is locked"},
    ]
    expected = "There are 2 in this conversation:\n- a.pdf (completed)\n- b.pdf (failed: it is locked)"
    assert describe_tool_output(json.dumps({"documents": documents})) == expected
    assert describe_tool_output(json.dumps([{"tool": "documents_list", "documents": documents}])) == expected


def test_other_tool_output_is_shown_unchanged() -> None:
    assert describe_tool_output('{"documents": []}') == "There are no documents in this conversation."
    assert describe_tool_output('{"error": "down"}') == "A tool failed: down"
    assert describe_tool_output("[]") == "The tool returned: []"


def test_the_newest_matching_statement_is_recalled() -> None:
    earlier = ["Hi! My name is Ada. I live in Paris.", "What can you do?", "Sorry, my name is Eve."]
    assert "“Sorry, my name is Eve.”" in (recall("What is my name?", earlier) or "")
    assert "“I live in Paris.”" in (recall("Where do I live?", earlier) or "")


@pytest.mark.parametrize("question", ["Hello!", "What is the capital of France?", "Who am I?"])
def test_other_questions_get_the_introduction(question: str) -> None:
    assert recall(question, ["My name is Ada."]) is None
