"""What a sentence must have to answer a question."""

import time

import pytest

from core.text.answer_type import (
    asking_words,
    asks_yes_or_no,
    counted_words,
    has_what_is_asked,
    is_negated,
    must_be_worked_out,
)


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


@pytest.mark.parametrize(
    ("text", "is_about_it"),
    [
        ("Phase 3 is planned for October.", True),
        ("Phase 2 started on 2 June with 3 depots.", False),
        ("Phase 2 ends when phase 3 starts.", True),
        ("Phase 3.1 starts in May.", True),
        ("Phase 31 starts in May.", False),
        ("It starts in October.", True),
    ],
)
def test_an_answer_about_a_numbered_part_is_not_about_another_one(text: str, is_about_it: bool) -> None:
    assert has_what_is_asked("What is the start of phase 3?", text) == is_about_it


def test_a_condition_is_no_time() -> None:
    assert has_what_is_asked("When can I smoke?", "Smoking is allowed after work.")


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How deep is the well?", "The well has a depth of 40 m.", "Well 3: 7.4 mg/l, 488 µS/cm."),
        ("How big is the unit?", "It has 312 square metres.", "It is shared by Units 3 and 5."),
        ("How old is the ship?", "The ship was built in 1911.", "The ship is moved in April 2026."),
        ("How long is the trial period?", "It takes four months.", "It is described in clause 4."),
        ("How long is the ship?", "The ship has 71 metres.", "The ship is restored until spring 2025."),
        ("How often is the filter cleaned?", "It is cleaned twice a year.", "It was cleaned on 3 May."),
        ("How often is it open?", "It is open three days a week.", "It is a hall of two floors."),
        ("How heavy is the mixer?", "Weight (kg): 58", "Price: 58"),
        ("How much does the plan cost each year?", "It costs 48 euros.", "It is kept for 24 months."),
        ("What is the phone number of the office?", "Call 01539 555 0163.", "Call the office on floor 14."),
        ("Quel est le numéro de téléphone ?", "Tél. 02 99 55 01 20", "Le 22 mai 2025"),
        ("What is her e-mail address?", "Ada Lund, a.lund@example.org", "Ada Lund, floor 4"),
        ("How many desks are there?", "There are 14 desks.", "Please pack your desks by Thursday at 4 pm."),
        ("How many members are there?", "There are 40 members.", "It has a house for members since 2021."),
        ("What is the number of members?", "There are 40 members.", "The number of members has grown."),
        ("How many guests come?", "We expect 40 guests.", "Guests come on 12 June."),
        ("When does the last ferry leave?", "The last ferry leaves at 16:00.", "The ferry leaves at 8:30."),
        ("Wie lange läuft der Vertrag?", "Er läuft ein Jahr.", "Er hat zwei Seiten."),
        ("How warm is the water?", "200 ml water of 35 °C", "380 ml warm water"),
        ("Wie warm ist das Wasser?", "Es hat 35 Grad.", "Es sind 380 ml warmes Wasser."),
        ("Wie schwer ist das Gerät?", "Es wiegt 3 Kilogramm.", "Es hat 3 Tasten."),
    ],
)
def test_a_measure_needs_a_fitting_unit(question: str, answer: str, other: str) -> None:
    assert has_what_is_asked(question, answer)
    assert not has_what_is_asked(question, other)


@pytest.mark.parametrize(
    "question",
    ["Are dogs allowed?", "Can we sublet it?", "Darf ich grillen?", "Peut-on fumer ?", "¿Puedo fumar?"],
)
def test_yes_or_no_would_answer(question: str) -> None:
    assert asks_yes_or_no(question)


def test_a_question_for_a_fact_is_not_answered_by_yes_or_no() -> None:
    assert not asks_yes_or_no("What can be done?")


@pytest.mark.parametrize("question", ["." + " " * 10_000, ". le" * 2_500])
def test_a_long_question_of_repeated_text_is_read_fast(question: str) -> None:
    begun = time.process_time()
    asks_yes_or_no(question)
    has_what_is_asked(question, "It costs 5 euros.")
    assert time.process_time() - begun < 0.1


@pytest.mark.parametrize(
    "text",
    [
        "Pets cannot be kept.",
        "Dogs aren't allowed.",
        "It won’t be refunded.",
        "Il n’y a rien.",
        "Kein Zutritt.",
    ],
)
def test_a_text_that_denies_or_forbids_is_negated(text: str) -> None:
    assert is_negated(text)


def test_a_text_that_allows_is_not_negated() -> None:
    assert not is_negated("Cats may be kept in the tenant's flat.")
