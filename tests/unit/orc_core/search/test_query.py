"""Years and quarters in questions, file names and cover pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc_core.search.query import Period, cover_period, find_periods


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sales in FY22", [Period(2022)]),
        ("sales in FY '98", [Period(1998)]),
        ("fiscal year 2021 and fiscal 2020", [Period(2021), Period(2020)]),
        ("Q3 2023", [Period(2023, 3)]),
        ("Q2 of FY24", [Period(2024, 2)]),
        ("Q4'22", [Period(2022, 4)]),
        ("3Q23 results", [Period(2023, 3)]),
        ("the third quarter of fiscal 2023", [Period(2023, 3)]),
        ("im dritten Quartal 2022", [Period(2022, 3)]),
        ("au quatrième trimestre 2021", [Period(2021, 4)]),
        ("2021/22 season", [Period(2022)]),
        ("CONTOSO_2023Q4_EARNINGS.pdf", [Period(2023, 4)]),
        ("report_FY23Q1.pdf", [Period(2023, 1)]),
        ("ctso-20220924.pdf", [Period(2022)]),
        ("from 2020 to 2022, 2020", [Period(2020), Period(2022)]),
        ("version 2.2020, 12.2018 or 1,2023", []),
        ("Q3, page 12, 24/7 and 19-20", []),
        ("", []),
    ],
)
def test_periods_are_found(text: str, expected: list[Period]) -> None:
    assert find_periods(text) == expected


@given(st.text())
def test_periods_of_any_text_have_valid_years_and_quarters(text: str) -> None:
    for period in find_periods(text):
        assert 1900 <= period.year <= 2099
        assert 0 <= period.quarter <= 4


@pytest.mark.parametrize(
    ("cover", "expected"),
    [
        ("Commission file 1. For the fiscal year ended December 31, 2022. Filed 2023, 2023.", Period(2022)),
        ("Quarterly report. For the quarterly period ended March 31, 2021", Period(2021)),
        ("First Quarter 2021 Results, quarter ended March 31, 2021", Period(2021, 1)),
        ("Geschäftsbericht 2020. Gegründet 1899.", Period(2020)),
        ("Rapport annuel de la société pour 2019", Period(2019)),
        ("Contoso 2018, Contoso 2018, since 1987", Period(2018)),
        ("A handbook", None),
    ],
)
def test_a_cover_gives_the_reported_period(cover: str, expected: Period | None) -> None:
    assert cover_period(cover) == expected
