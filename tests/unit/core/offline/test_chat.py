"""What the offline model does without sources."""

import json
from collections.abc import Sequence

import pytest

from core.offline.chat import (
    ANALYZE,
    LIST,
    SEARCH,
    Call,
    Done,
    choose_calls,
    describe_tool_output,
    leaves_out_documents,
    recall,
    rewrite_question,
)

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
        "What is this about?",
        "Who wrote this?",
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
    expected = (
        "There are 2 documents in this conversation:\n- a.pdf (completed)\n- b.pdf (failed: it is locked)"
    )
    assert describe_tool_output(json.dumps({"documents": documents}), "") == expected
    assert (
        describe_tool_output(json.dumps([{"tool": "documents_list", "documents": documents}]), "") == expected
    )


def test_other_tool_output_is_shown_unchanged() -> None:
    assert describe_tool_output('{"documents": []}', "") == "There are no documents in this conversation."
    assert describe_tool_output('{"error": "down"}', "") == "A tool failed: down"
    assert describe_tool_output("[]", "") == "The tool returned: []"


def test_a_statement_with_nothing_of_the_question_but_a_name_is_not_recalled() -> None:
    walls = [f"My wall {number} is painted in another colour." for number in range(20)]
    earlier = ["My boss is Jens Petersen.", *walls]
    assert recall("What is the salary of Jens Petersen?", earlier) is None
    assert recall("Who is Jens Petersen?", earlier) == (
        "Earlier in this conversation you said: “My boss is Jens Petersen.”"
    )


def test_the_newest_matching_statement_is_recalled() -> None:
    earlier = ["Hi! My name is Ada. I live in Paris.", "What can you do?", "Sorry, my name is Eve."]
    assert "“Sorry, my name is Eve.”" in (recall("What is my name?", earlier) or "")
    assert "“I live in Paris.”" in (recall("Where do I live?", earlier) or "")


@pytest.mark.parametrize("question", ["Hello!", "What is the capital of France?", "Who am I?"])
def test_other_questions_get_the_introduction(question: str) -> None:
    assert recall(question, ["My name is Ada."]) is None


@pytest.mark.parametrize(
    "asked_before",
    [
        "Calculate the inventory turnover ratio of Nike for 2021.",
        "From the balance sheet, what is the 2021 inventory turnover ratio for Nike",
        "Please give the turnover ratio of Nike for 2021. Round to two decimals.",
        'He wrote: "What is the turnover ratio of Nike for 2021?"',
    ],
)
def test_what_was_asked_before_is_not_recalled_as_a_fact(asked_before: str) -> None:
    question = "What is the receivables turnover ratio of Nike for 2021?"
    assert recall(question, [asked_before]) is None
    assert choose_calls(question, [asked_before], [], ALL) == [Call(SEARCH, {"query": question, "top_k": 8})]


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


@pytest.mark.parametrize("question", ["Summarize these documents", "What is this about?", "Who wrote it?"])
def test_a_question_about_the_whole_analyzes_every_listed_document(question: str) -> None:
    assert choose_calls(question, [], [], ALL) == [Call(LIST, {})]
    assert choose_calls(question, [], [LISTING], ALL) == [
        Call(ANALYZE, {"document": handle, "question": question}) for handle in ("d1", "d2")
    ]
    assert choose_calls(question, [], [LISTING, Done(ANALYZE, "{}")], ALL) == []
    assert choose_calls(question, [], [Done(LIST, "not JSON")], ALL) == []


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert choose_calls("How many days of leave are there?", [], [], [LIST]) == []
    assert choose_calls("Which documents do I have?", [], [], []) == []


def test_a_tool_result_that_is_nested_too_deeply_is_repeated_as_it_is() -> None:
    nested = "[" * 100_000
    assert describe_tool_output(nested, "") == f"The tool returned: {nested}"


FILES = ["pump-manual.pdf", "minutes_2024.md", "hello.eml", "figures.xlsx", "Vertrag.docx"]


def listed(names: Sequence[str]) -> Done:
    documents = [{"document": f"d{number}", "filename": name} for number, name in enumerate(names, 1)]
    return Done(LIST, json.dumps({"documents": documents}))


@pytest.mark.parametrize(
    ("question", "handles"),
    [
        ("Summarise the e-mail", ["d3"]),
        ("Who wrote the e-mail?", ["d3"]),
        ("Summarise the manual", ["d1"]),
        ("Give me a summary of the minutes of 2024", ["d2"]),
        ("Give me an overview of this spreadsheet", ["d4"]),
        ("Fasse den Vertrag zusammen", ["d5"]),
        ("Summarise the documents", ["d1", "d2", "d3", "d4", "d5"]),
        ("Summarise the letter", ["d1", "d2", "d3", "d4", "d5"]),
    ],
)
def test_the_documents_that_a_question_names_are_analyzed(question: str, handles: list[str]) -> None:
    calls = choose_calls(question, [], [listed(FILES)], ALL)
    assert [call.arguments["document"] for call in calls] == handles


def test_documents_that_were_not_read_are_noticed() -> None:
    done = [listed([f"{number}.pdf" for number in range(9)]), Done(ANALYZE, "{}")]
    assert len(choose_calls("Summarise the documents", [], done[:1], ALL)) == 8
    read = {f"{number}.pdf" for number in range(8)}
    assert leaves_out_documents("Summarise the documents", done, read)
    assert not leaves_out_documents("Summarise the documents", done, {*read, "8.pdf"})
    assert not leaves_out_documents("What is the rent?", done, read)
    done[0] = listed(FILES)
    assert not leaves_out_documents("Summarise the manual", done, {"pump-manual.pdf"})
