"""Which tools the offline model calls, and which it leaves alone."""

import json

import pytest

from core.offline.tools import ANALYZE, LIST, SEARCH, Call, Done, choose_calls

ALL = [LIST, SEARCH, ANALYZE]
LISTING = Done(LIST, json.dumps({"documents": [{"document": "d1"}, {"document": "d2"}]}))


@pytest.mark.parametrize(
    "question", ["How many days of leave are there?", "travel costs", "List the perks of the plan", "Wann?"]
)
def test_a_question_is_searched_once(question: str) -> None:
    assert choose_calls(question, [], [], ALL) == [Call(SEARCH, {"query": question, "top_k": 8})]
    assert choose_calls(question, [], [Done(SEARCH, "{}")], ALL) == []


def test_a_follow_up_question_is_searched_with_its_subject() -> None:
    [call] = choose_calls("and for children?", ["What is the fee of the club?"], [], ALL)
    assert call == Call(SEARCH, {"query": "and for children (fee club)?", "top_k": 8})


@pytest.mark.parametrize(
    "said", ["Hello!", "Thanks a lot", "My name is Ada.", "What can you do?", "Guten Tag", "Merci !"]
)
def test_small_talk_needs_no_tool(said: str) -> None:
    assert choose_calls(said, [], [], ALL) == []


def test_a_question_about_an_earlier_statement_needs_no_tool() -> None:
    assert choose_calls("What is my name?", ["My name is Ada."], [], ALL) == []
    asked = "What is my name according to the contract?"
    assert [call.name for call in choose_calls(asked, ["My name is Ada."], [], ALL)] == [SEARCH]


def test_documents_are_listed_once() -> None:
    assert choose_calls("Which documents do I have?", [], [], ALL) == [Call(LIST, {})]
    assert choose_calls("Which documents do I have?", [], [LISTING], ALL) == []


def test_an_overview_analyzes_every_listed_document() -> None:
    question = "Summarize these documents"
    assert choose_calls(question, [], [], ALL) == [Call(LIST, {})]
    assert choose_calls(question, [], [LISTING], ALL) == [
        Call(ANALYZE, {"document": handle, "question": question}) for handle in ("d1", "d2")
    ]
    assert choose_calls(question, [], [LISTING, Done(ANALYZE, "{}")], ALL) == []
    assert choose_calls(question, [], [Done(LIST, "not JSON")], ALL) == []


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert choose_calls("How many days of leave are there?", [], [], [LIST]) == []
    assert choose_calls("Which documents do I have?", [], [], []) == []
