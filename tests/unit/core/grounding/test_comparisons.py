"""Comparisons and ranges in words: a claim keeps those of its page, in the same or other words."""

import pytest

from core.grounding.comparisons import in_signs, is_cut
from core.grounding.evidence import Evidence
from core.grounding.quotes import Span


def is_supported(claim: str, page: str) -> bool:
    return Evidence(page).find(claim, Span(0, len(page))) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at least 5 days", "≥ 5 days"),
        ("No more than EUR 5 a day", "≤ EUR 5 a day"),
        ("up to a maximum of three days", "≤ three days"),
        ("eight years and older", "≥ eight years"),
        ("two hours a day at most", "≤ two hours a day"),
        ("2 days at least 3 times", "2 days ≥ 3 times"),
        ("bis 1.500 Euro", "≤ 1.500 Euro"),
        ("von 13 bis 15 Uhr", "von 13 bis 15 Uhr"),
        ("bis 15. Oktober", "bis 15. Oktober"),
        ("3–5 days", "3 ≬ 5 days"),
        ("between $3 and $5", "$3 ≬ $5"),
        ("rose from 5 to 6 points", "rose from 5 to 6 points"),
        ("between 1991 and 2000", "between 1991 and 2000"),
        ("9-17 h, A4-12 bolts, 4–5 May", "9-17 h, A4-12 bolts, 4–5 May"),
        ("at 8 p.m. on Mondays", "at 8 pm on Mondays"),
        ("more to come, over there", "more to come, over there"),
        ("opened 2019-03-04, closed 4.11.2020", "opened 4 March 2019, closed 4 November 2020"),
        ("version 2019-13-04, part 1.2.2020.1", "version 2019-13-04, part 1.2.2020.1"),
        (
            "Stock: 5 000 | EUR 18 000 000 paid to 31 400 guests",
            "Stock: 5000 | EUR 18000000 paid to 31400 guests",
        ),
        ("Berlin 138 199 | Oslo 12 120 Rome", "Berlin 138 199 | Oslo 12 120 Rome"),
        ("101 102 103 104 days", "101 102 103 104 days"),
    ],
)
def test_comparisons_and_ranges_of_numbers_are_written_as_signs(text: str, expected: str) -> None:
    assert in_signs(text, "en") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at least ", True),
        ("at least EUR ", False),
        ("3 to ", True),
        ("between 3 and ", True),
        ("for ", False),
    ],
)
def test_a_number_is_cut_from_the_comparison_or_range_before_it(text: str, expected: bool) -> None:
    assert is_cut(f"You get {text}5 days.", len(f"You get {text}")) is expected


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("Employees get 5 days of leave in Oslo", "Employees get up to 5 days of leave in Oslo."),
        ("5 days of leave in Oslo", "Employees get up to 5 days of leave in Oslo."),
        ("five days of leave in Oslo", "Employees get at least five days of leave in Oslo."),
        ("Employees get more than 5 days of leave", "Employees get at least 5 days of leave."),
        ("A permit costs 80 euros in Oslo", "A permit costs more than 80 euros in Oslo."),
        ("The delivery takes 3 days in winter", "The delivery takes 3 to 5 days in winter."),
        ("The delivery takes 5 days in winter", "The delivery takes between 3 and 5 days in winter."),
        ("Die Laube darf 24 Quadratmeter groß sein", "Die Laube darf höchstens 24 Quadratmeter groß sein."),
        ("Un mandataire reçoit trois pouvoirs", "Un mandataire reçoit moins de trois pouvoirs."),
        ("Los certificados valen diez años en total", "Los certificados valen hasta diez años en total."),
        ("The quay opens at 8 p.m. on Sundays", "The quay opens at 8 a.m. on Sundays."),
        ("Claims are answered within five days", "Claims are answered within five working days."),
        ("Claims are answered within five working days", "Claims are answered within five days."),
    ],
)
def test_a_claim_without_the_comparison_or_range_is_not_supported(claim: str, page: str) -> None:
    assert not is_supported(claim, page)


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("In Oslo employees get at most 5 days of leave", "Employees get up to 5 days of leave in Oslo."),
        ("A maximum of five days is carried over", "Up to 5 days of leave are carried over."),
        ("The minimum notice is 30 days", "The notice is no less than 30 days."),
        ("The delivery takes 3–5 days in winter", "In winter the delivery takes between 3 and 5 days."),
        ("Grants range from $1,500 to $12,000 in all", "Grants in all range between $1,500 and $12,000."),
        ("The fee rose to 6 points in May", "The fee rose from 5 to 6 points in May."),
        ("Children aged eight years or older may swim", "Children of eight years and older may swim."),
        ("The quay opens at 8 am on Sundays", "On Sundays the quay opens at 8 a.m."),
    ],
)
def test_the_same_comparison_or_range_in_other_words_is_supported(claim: str, page: str) -> None:
    assert is_supported(claim, page)
