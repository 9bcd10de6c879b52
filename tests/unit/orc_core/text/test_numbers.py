"""Dates in different notations have one form."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.text.numbers import _DATE, _dates_in, dates_of, find_dates

PARTS = st.sampled_from(
    [
        *"3 31 4. 5th 2er º may märz january jan. 2024 1999 / - . 年 5月 of de del , :30 20 x 2.1".split(),
        " ",
        "\n",
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "2023-04-05",
        "2023/4/5",
        "05.04.2023",
        "5. April 2023",
        "5th of April 2023",
        "April 5, 2023",
        "Apr. 5 2023",
        "5 avril 2023",
        "5 de abril de 2023",
        "2023年4月5日",
        "on 5 April, 2023.",
    ],
)
def test_dates_have_one_form(text: str) -> None:
    assert find_dates(text) == ["2023-04-05"]


def test_an_ambiguous_date_gives_both_readings() -> None:
    assert find_dates("04/05/2023") == ["2023-05-04", "2023-04-05"]
    assert find_dates("12/25/2023") == ["2023-12-25"]


@pytest.mark.parametrize(
    "text", ["1.2.2023.4", "2023", "5 apples 2023", "99/99/2023", "v1.10.2", "May 2023", ""]
)
def test_other_numbers_are_not_dates(text: str) -> None:
    assert find_dates(text) == []


@given(st.dates(datetime.date(1800, 1, 1), datetime.date(2099, 12, 31)))
def test_generated_dates_are_found(date: datetime.date) -> None:
    assert find_dates(f"on {date}") == [str(date)]


@pytest.mark.parametrize(
    "date",
    [
        "(April 5, 2023)",
        "(5th of April., 2023)",
        "5. April 2023",
        "5 de abril del 2023",
        "2023-04-05",
        "05.04.2023",
    ],
)
def test_a_date_is_found_among_the_years_of_a_table(date: str) -> None:
    assert find_dates(f"Year 2021 2022 as of {date} 2023 2024 2025") == ["2023-04-05"]


def test_dates_are_found_wherever_their_years_are() -> None:
    filler = "no date here " * 20
    text = f"5 April 2023 {filler} 2024-05-06 and 7.6.2024 {filler} April 5th, 2025"
    found = ["2023-04-05", "2024-05-06", "2024-06-07", "2025-04-05"]
    assert find_dates(text) == found


def test_a_date_may_lack_its_year_or_its_day() -> None:
    text = (
        "3rd of May, 3-May-2024, May 2024, 1er mai, 05/03/2024 and 2024-05-03; March 1,084, May 3.5, 3 to 5"
    )
    found, rest = dates_of(text)
    assert found == [
        ("3rd of May", [(0, 5, 3)]),
        ("3-May-2024", [(2024, 5, 3)]),
        ("May 2024", [(2024, 5, 0)]),
        ("1er mai", [(0, 5, 1)]),
        ("05/03/2024", [(2024, 3, 5), (2024, 5, 3)]),
        ("2024-05-03", [(2024, 5, 3)]),
    ]
    assert [each for each in rest.split("|") if any(map(str.isdigit, each))] == [
        "; march 1,084, may 3.5, 3 to 5"
    ]
    assert find_dates("May 2023-04-05 and 3-May-2024") == ["2023-04-05", "2024-05-03"]


@given(st.lists(PARTS, max_size=40).map("".join))
def test_looking_only_near_marks_and_months_finds_what_looking_everywhere_does(text: str) -> None:
    assert [found.span() for found in _dates_in(text)] == [found.span() for found in _DATE.finditer(text)]
