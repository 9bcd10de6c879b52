"""What the user said is found by the words of a question."""

import pytest

from orc_core.offline.model import recall

SAID = ["My name is Ada. I work in Leeds.", "What is the rent?", "My budget is 500.", "My budget is 700."]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is my name?", "My name is Ada."),
        ("Where do I work?", "I work in Leeds."),
        ("What is my budget?", "My budget is 700."),
        ("What is the rent?", None),
        ("How high is the deposit?", None),
    ],
)
def test_the_latest_sentence_with_the_words_of_the_question_is_quoted(
    question: str, sentence: str | None
) -> None:
    expected = f"Earlier in this conversation you said: “{sentence}”" if sentence else None
    assert recall(question, SAID) == expected
