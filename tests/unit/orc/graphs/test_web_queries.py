"""A search engine is asked in the user's words if documents may be known."""

from typing import Any

import pytest

from orc.conversations.models import ChatMessage
from orc.graphs.models import ConversationState
from orc.graphs.retrieval import web_query
from orc.memory.models import Note, NoteKind, Recalled, SummaryPoint

QUESTION = "When does the quay open in winter?"
ANSWERED = 'The salary of Ann Lee is 5,000. [Page 1 of Document "a.pdf"]'


def state(question: str = QUESTION, **fields: Any) -> ConversationState:
    given = {"question": question, "conversation_id": "c", "has_documents": True, **fields}
    return ConversationState.model_validate(given)


def said(*contents: str) -> list[ChatMessage]:
    roles = ("user", "assistant")
    return [
        ChatMessage.model_validate({"role": roles[number % 2], "content": content})
        for number, content in enumerate(contents)
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        QUESTION,
        "quay opening winter",
        "When does the quay open in the winter, and when in the winter not?",
        "quays, opened in winter?",
    ],
)
def test_a_query_of_the_users_words_is_used(wanted: str) -> None:
    assert web_query(wanted, state()) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        f"{QUESTION} Ann Lee 5000",
        "quay 5,000",
        "quay\u200b winter",
        "quay \U0001f600 winter",
        "",
        " ",
        "\u79d8\u5bc6",
    ],
)
def test_any_other_query_is_replaced_by_the_question(wanted: str) -> None:
    assert web_query(wanted, state()) == QUESTION


def test_earlier_words_of_the_user_count_and_those_of_answers_do_not() -> None:
    history = said("Does the quay of Nordholm close?", ANSWERED)
    assert web_query("Nordholm quay winter", state(history=history)) == "Nordholm quay winter"
    assert web_query("Ann Lee", state(history=history)) == QUESTION


def test_notes_are_the_users_words() -> None:
    note = Note(kind=NoteKind.FACT, text="I live in Nordholm.", first_seen=1, last_seen=1)
    assert web_query("Nordholm quay", state(recalled=Recalled(notes=[note]))) == "Nordholm quay"


def test_without_documents_a_model_may_use_its_own_words() -> None:
    assert web_query("harbour hours", state(has_documents=False)) == "harbour hours"


@pytest.mark.parametrize(
    "known",
    [
        {"history": said("And?", ANSWERED)},
        {"recalled": Recalled(summary=[SummaryPoint(text=ANSWERED, first_seq=1, last_seq=1)])},
    ],
)
def test_answers_from_deleted_documents_are_documents_too(known: dict[str, Any]) -> None:
    assert web_query("Ann Lee", state(has_documents=False, **known)) == QUESTION


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Wann \u00f6ffnet der Kai im Winter?", "Kai \u00f6ffnet Winter"),
        ("\u57e0\u982d\u306f\u3044\u3064\u958b\u304d\u307e\u3059\u304b", "\u57e0\u982d"),
        (
            "\u041a\u043e\u0433\u0434\u0430 \u043f\u0440\u0438\u0447\u0430\u043b?",
            "\u043f\u0440\u0438\u0447\u0430\u043b",
        ),
    ],
)
def test_other_languages_are_compared_in_the_same_way(question: str, wanted: str) -> None:
    assert web_query(wanted, state(question)) == wanted
    assert web_query(f"{wanted} Lee", state(question)) == question
