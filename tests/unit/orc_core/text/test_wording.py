"""The few wordings that are read without a model."""

import pytest

from orc_core.text.wording import has_subject, is_small_talk, is_statement, names_documents


@pytest.mark.parametrize(
    "text",
    [
        "Hi!",
        "Hello there",
        "Good morning, Orc",
        "Thanks a lot for your help!",
        "Who are you?",
        "What can you do?",
        "Guten Tag!",
        "Vielen Dank für deine Hilfe!",
        "Bonjour à tous",
        "Hola, ¿qué tal?",
        "👍",
        "",
    ],
)
def test_greetings_and_thanks_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is the rent?",
        "Hello, what is the rent?",
        "Thanks. And in May?",
        "yes",
        "Miete",
        "家賃は？",
        "help",
    ],
)
def test_whatever_says_more_is_not(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Ada.", True),
        ("Please remember that I work in Leeds.", True),
        ("Ich heiße Ada.", True),
        ("What is my name?", False),
        ("I want to know: what is the rent?", False),
        ("Vacation days", False),
    ],
)
def test_what_users_say_of_themselves_is_a_statement(text: str, expected: bool) -> None:
    assert is_statement(text) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is this about?", False),
        ("Which documents do I have?", False),
        ("Who wrote this report?", False),
        ("Welche Dokumente habe ich hochgeladen?", False),
        ("Worum geht es hier?", False),
        ("De quoi parle ce document ?", False),
        ("¿De qué trata este documento?", False),
        ("How many vacation days do employees get?", True),
        ("Summarise the rules on leave", True),
        ("Is it in the lease?", False),
        ("家賃はいくらですか？", True),
        ("Сколько дней отпуска?", True),
    ],
)
def test_a_subject_is_a_word_to_search_for(question: str, expected: bool) -> None:
    assert has_subject(question) is expected


def test_a_question_names_documents_by_a_whole_word() -> None:
    assert names_documents("What does the contract say about my name?")
    assert not names_documents("What is my name?")
