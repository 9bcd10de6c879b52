"""Documents matched by their file name and period."""

import pytest

from orc_core.search.document_match import name_parts, reported_periods, score_names, score_periods
from orc_core.search.query import Period, find_periods

NAMES = [
    "BLUEYONDER_2023_10K.pdf",
    "4T_2018_10-K.pdf",
    "AWD_2022_10K.pdf",
    "FABRIKAM_FABRIKAM_2022Q4_EARNINGS.pdf",
    "TailspinToys-2021-annual.pdf",
    "WWTR_FY23.pdf",
]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What is the gross margin of Blue Yonder?", 0),
        ("Blue Yonder's margin", 0),
        ("margin of blueyondr", 0),
        ("What did 4T spend?", 1),
        ("What is the revenue of Adventure Works Devices?", 2),
        ("fabrikam sales", 3),
        ("What does Tailspin earn?", 4),
        ("How many partners has Westwinter?", 5),
    ],
)
def test_the_named_file_scores_best(question: str, meant: int) -> None:
    scores = score_names(question, NAMES)
    assert max(range(len(scores)), key=scores.__getitem__) == meant
    assert scores[meant] > 0.2
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("question", ["How did sales change in 2022 and 2023?", "Who signs?", ""])
def test_a_question_that_names_no_file_prefers_none(question: str) -> None:
    assert not any(score_names(question, NAMES))


def test_a_part_of_all_names_has_little_weight() -> None:
    same = [f"plan-{letter}.pdf" for letter in "abcdefgh"]
    assert max(score_names("What is the plan?", same)) < 0.1


def test_name_parts_leave_out_extension_years_and_quarters() -> None:
    assert name_parts("TailspinToys_FY23Q4_10-K.pdf") == ["tailspintoys", "tailspin", "toys", "10k", "10"]


def test_the_newest_year_asked_counts_most_and_its_quarter_before_the_others() -> None:
    years = [reported_periods(f"r{year}.pdf", None) for year in (2020, 2021, 2022, 2023, 2024)]
    assert score_periods(find_periods("between 2021 and 2022"), years) == [0, 0.5, 1.0, 0.3, 0]
    quarters = [reported_periods(f"r_2023Q{quarter}.pdf", None) for quarter in (1, 2)]
    first, second = score_periods(find_periods("in Q2 2023"), quarters)
    assert second == 1.0 > first > 0


def test_the_cover_says_whether_a_name_with_a_quarter_means_the_year() -> None:
    annual = reported_periods("MSFT_FY23Q4_10K.docx", Period(2023))
    release = reported_periods("PressReleaseFY23Q4.docx", Period(2023, 4))
    assert score_periods([Period(2023)], [annual, release]) == [1.0, 0.5]
    assert score_periods([Period(2023, 4)], [annual, release]) == [1.0, 1.0]


def test_the_cover_gives_the_period_if_the_name_has_no_year() -> None:
    documents = [reported_periods(name, Period(2022)) for name in ("report.pdf", "report-2023.pdf")]
    assert score_periods([Period(2022)], documents) == [1.0, 0.3]
    assert score_periods([], documents) == [0, 0]
