"""Numbers in every usual way of writing, and those that are nowhere."""

import pytest

from orc_core.grounding.values import Values, missing, numbers_of, plain


def _missing(sentence: str, page: str, language: str = "en", units: str = "") -> list[str]:
    return missing(sentence, language, [Values(page)], Values(units).operands)


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
    ],
)
def test_a_number_that_is_nowhere_is_missing(sentence: str, page: str, found: list[str]) -> None:
    assert _missing(sentence, page) == found


def test_a_word_that_is_a_number_only_elsewhere_states_none() -> None:
    assert [number.written for number in numbers_of("They go to the bank once.", "en")] == []
    assert [number.written for number in numbers_of("Once años.", "es")] == ["Once"]
    assert [number.written for number in numbers_of("Three or 3.", "")] == ["3"]


@pytest.mark.parametrize(
    "sentence",
    ["In all 100.", "16 less.", "It is 1.38 times as much.", "It rose by 38.1 %.", "It is 72.4 per cent."],
)
def test_a_result_of_two_numbers_of_the_units_is_not_missing(sentence: str) -> None:
    units = "One has 58 and the other 42."
    assert _missing(sentence, "", units=units) == []
    assert _missing(sentence, "", units="One has 59 and the other 47.") != []


def test_among_many_numbers_a_result_is_chance() -> None:
    many = " ".join(str(number * number + 1000) for number in range(60))
    assert _missing("It is 2,021.", "", units=many) == ["2,021"]


def test_a_missing_number_is_named_as_it_is_written() -> None:
    for sentence in ("It cost 7 Millionen Euro.", "It cost $7bn.", "It took Twelve months."):
        assert all(number in sentence for number in _missing(sentence, "Nothing.")), sentence
        assert _missing(sentence, "Nothing.") != []
