"""Questions and requests differ from statements by their wording."""

import pytest

from core.text.requests import asks_something


@pytest.mark.parametrize(
    "sentence",
    [
        "What is the ratio for Nike?",
        "From the balance sheet, what is the ratio for Nike",
        "Calculate the ratio.",
        "Please list the plans.",
        "Nenne die Fristen.",
        "Wie hoch ist die Miete",
        "Donnez le montant.",
        "¿Cuál es el plazo?",
    ],
)
def test_a_question_or_request_asks_something(sentence: str) -> None:
    assert asks_something(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "My name is Ada.",
        "When I travel, I take the train.",
        "The list is in the annex.",
        "What I want is short answers.",
        "Meine Frist endet am 5. Mai.",
        "Je travaille à Annecy.",
        "Vivo en Madrid.",
    ],
)
def test_a_statement_asks_nothing(sentence: str) -> None:
    assert not asks_something(sentence)
