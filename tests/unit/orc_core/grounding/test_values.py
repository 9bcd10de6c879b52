"""Numbers in every usual way of writing, and those that are nowhere."""

import pytest

from orc_core.grounding.values import Values, missing, numbers_of, plain


def _missing(sentence: str, page: str, question: str = "", language: str = "en") -> list[str]:
    asked = Values(question)
    return missing(sentence, language, [asked, Values(page)], asked)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1,084", "1084"),
        ("1.084", "1084"),
        ("1 084", "1084"),
        ("1’084", "1084"),
        ("007", "7"),
        ("1,234.5", "1234.5"),
        ("1.234,5", "1234.5"),
        ("10 000 000", "10000000"),
        ("3,5", "3.5"),
        ("0.125", "0.125"),
        ("05.04.2023", "05.04.2023"),
        ("1.234.567", "1234567"),
    ],
)
def test_a_number_has_one_plain_form(written: str, value: str) -> None:
    assert plain(written) == value


@pytest.mark.parametrize(
    ("sentence", "page"),
    [
        ("It costs EUR 1,084.", "Es kostet 1.084,00 Euro."),
        ("They paid 1.2 million dollars.", "They paid $1,200,000."),
        ("They paid $1,200,000.", "They paid USD 1.2 million."),
        ("Revenue was 1.1 billion.", "Revenue in millions | 1,100"),
        ("There are three boats.", "It has 3 boats."),
        ("It began in the season of 2018–19.", "It began in the season of 2018-2019."),
        ("There are 25 boats.", "It has twenty-five boats."),
        ("It is the 3rd attempt.", "It is the third attempt."),
        ("It was on 2023-04-05.", "It was on 5 April 2023."),
        ("It was on 5.4.2023.", "It was on April 5, 2023."),
        ("It begins at 10:30.", "It begins at 10.30."),
        ("It was on 05/03/2024.", "It was on 3 May 2024."),
        ("It is due on 3 May.", "It is due on 3.5. at noon."),
        ("About 2,000 people came.", "1,987 people came."),
    ],
)
def test_a_number_is_found_in_any_usual_writing(sentence: str, page: str) -> None:
    assert _missing(sentence, page) == []


@pytest.mark.parametrize(
    ("sentence", "page", "found"),
    [
        ("It costs 1,085 euros.", "It costs 1,084 euros.", ["1,085"]),
        ("They paid 1.3 million.", "They paid 1,200,000.", ["1.3 million"]),
        ("There are seven boats.", "There are six boats.", ["seven"]),
        ("2,000 people came.", "1,987 people came.", ["2,000"]),
        ("About 3,000 people came.", "1,987 people came.", ["3,000"]),
        ("9 and 9 and 8 people.", "5 people.", ["9", "8"]),
        ("It takes 5 days.", "You may leave in May.", ["5"]),
        ("There are 5 boats.", "The grade is 4.5.", ["5"]),
        ("They paid 84 euros.", "They paid 1,084 euros.", ["84"]),
    ],
)
def test_a_number_that_is_nowhere_is_missing(sentence: str, page: str, found: list[str]) -> None:
    assert _missing(sentence, page) == found


def test_a_word_that_is_a_number_only_elsewhere_states_none() -> None:
    assert [number.written for number in numbers_of("They go to the bank once.", "en")] == []
    assert [number.written for number in numbers_of("Once años.", "es")] == ["Once"]
    assert [number.written for number in numbers_of("Three or 3.", "")] == ["3"]


PAGE = "One has 58 and the other 42, of 7 in all."
SHOWN = [
    "58 and 42 are 100 in all.",
    "One has 58, which is 16 more than 42.",
    "58 is 1.38 times 42.",
    "From 42 to 58 it rose by 38.1 %.",
    "42 is 72.4 per cent of 58.",
    "58 + 42 + 7 = 107.",
    "58 and 58 are 116.",
]


@pytest.mark.parametrize("sentence", SHOWN)
def test_a_result_is_not_missing_if_the_sentence_shows_what_it_comes_from(sentence: str) -> None:
    assert _missing(sentence, PAGE) == []
    assert _missing(sentence, PAGE.replace("58", "59")) != []


def test_sums_of_amounts_are_found_although_they_are_no_exact_fractions() -> None:
    page = "A is 10.10, B is 20.20, and C is 30.30."
    assert _missing("10.10, 20.20 and 30.30 euros are 60.60 together.", page) == []


def test_the_numbers_of_a_long_question_leave_space_for_those_of_the_sentence() -> None:
    asked = " ".join(str(7919 * number) for number in range(1, 60))
    assert _missing("4100 + 5200 = 9300.", "One has 4100, the other 5200.", asked) == []


def test_what_was_asked_can_be_calculated_with() -> None:
    assert _missing("It is 5.60 euros.", "A day is 28 euros.", "What is 20 % of 28 euros?") == []
    assert _missing("It is 5.70 euros.", "A day is 28 euros.", "What is 20 % of 28 euros?") == ["5.70"]


def test_numbers_of_a_page_do_not_give_others_by_chance() -> None:
    """Two of ten numbers give every other integer up to 100 as a sum, a difference, a product or a ratio."""
    page = "2 Meals. Germany 28, Austria 50, 53 abroad, 14 on arrival, 20 less, 3 guests, 11 a night, 7, 9."
    accepted = [number for number in range(1, 101) if not _missing(f"It is {number} euros.", page)]
    assert accepted == [2, 3, 7, 9, 11, 14, 20, 28, 50, 53]


def test_a_number_in_millions_is_not_on_a_page_that_names_no_scale() -> None:
    assert _missing("It has 12 million.", "Order 12 has 3 parts.") == ["12 million"]
    assert _missing("It has 12 million.", "Parts in millions: 12.") == []
    assert _missing("It is 1.25 m high.", "Height: 1.25 metres.") == []


def test_a_missing_number_is_named_as_it_is_written() -> None:
    for sentence in ("It cost 7 Millionen Euro.", "It cost $7bn.", "It took Twelve months."):
        assert all(number in sentence for number in _missing(sentence, "Nothing.")), sentence
        assert _missing(sentence, "Nothing.") != []
