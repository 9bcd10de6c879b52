"""What a sentence must have to answer a question."""

import pytest

from core.text.answer_type import asking_words, counted_words, has_what_is_asked, must_be_worked_out


@pytest.mark.parametrize(
    "question",
    [
        "Calculate days payable outstanding for 2023.",
        "What is the return on assets? Round to two decimals.",
        "How much cheaper is the large can?",
        "Would you recommend this plan?",
        "Berechne die Grundmiete pro Quadratmeter.",
        "Calculez le salaire annuel.",
        "Calcula el margen bruto.",
    ],
)
def test_a_calculation_or_an_opinion_cannot_be_quoted(question: str) -> None:
    assert must_be_worked_out(question)


@pytest.mark.parametrize(
    "question",
    ["How many days of leave are there?", "What does the Plus plan cost?", "Wie hoch ist die Miete?"],
)
def test_a_stated_figure_can_be_quoted(question: str) -> None:
    assert not must_be_worked_out(question)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("What is the turnover ratio in 2021?", "The turnover ratio was 4.", "Inventories were 12 in 2021."),
        ("What share has the ground floor?", "It has 40 % of the area.", "The share is given below."),
        ("What was the percentage?", "It was 40 per cent.", "It was 40."),
        ("How many keys are there?", "There are five keys.", "The keys are with the staff."),
        ("How many berths had Pier 3?", "Pier 3 had 4 berths.", "Pier 3 had berths."),
        ("When was it founded?", "It was founded in May.", "It was founded by Ada Ames."),
        ("Is the deposit adequate?", "An adequate deposit is 300.", "The deposit is 300."),
        ("Ist die Kaution angemessen?", "Eine angemessene Kaution.", "Die Kaution beträgt 300 Euro."),
        ("Le salaire est-il élevé ?", "Le salaire est élevé.", "Le salaire est de 2000 euros."),
        ("¿Cuántos días hay?", "Hay cinco días.", "Hay días libres."),
    ],
)
def test_an_answer_has_the_figure_or_judgement_by_name(question: str, answer: str, other: str) -> None:
    assert has_what_is_asked(question, answer)
    assert not has_what_is_asked(question, other)


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many parking spaces are there?", "parking spaces"),
        ("Wie viele Schlüssel?", "Schlüssel"),
        ("Combien de jours ?", "jours"),
        ("¿Cuántos días?", "días"),
        ("How much is it?", ""),
    ],
)
def test_what_is_counted_follows_how_many(question: str, counted: str) -> None:
    assert counted_words(question).strip() == counted


def test_the_words_that_ask_are_not_looked_for_in_the_answer() -> None:
    assert asking_words("How long is the lease, and since which year?") == "How long which year"
    assert asking_words("What does propagate mean?") == ""
    assert has_what_is_asked("What does propagate mean?", "To propagate is to copy.")


def test_a_condition_is_no_time() -> None:
    assert has_what_is_asked("When can I smoke?", "Smoking is allowed after work.")
