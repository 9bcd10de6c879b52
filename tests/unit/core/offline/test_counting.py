"""Questions that ask to count rows: a quote of one row does not answer them."""

import pytest

from core.grounding.closest import closest_label
from core.grounding.sources import FencedSource
from core.offline.counting import cells
from core.offline.quotes import answer_from

HALLS = """Halls
| Hall | Seats | Price |
| --- | --- | --- |
| Blue hall | 12 | 40 |
| Green hall | 30 | 80 |
"""
STOCK = """Price list
| Product | Stock |
| --- | --- |
| Cargo bike | 14 |
| City bike | 52 |
| Helmet | 210 |
"""
FIGURES = """Key figures
| Figure | 2024 |
| --- | --- |
| Employees | 450 |
| Offices | 8 |
"""
PLAIN = """Plan Members Copay
Standard plan 2,000 $35
Plus plan 1,500 $20
"""


def answer(question: str, table: str) -> str:
    return answer_from(question, [FencedSource(number=1, blob_name="a.xlsx", page=1, text=table)])


@pytest.mark.parametrize(
    ("question", "table", "quoted"),
    [
        ("How many halls are there?", HALLS, None),
        ("How many seats does the blue hall have?", HALLS, "| Blue hall | 12 | 40 |"),
        ("How many bikes are there?", STOCK, None),
        ("How many city bikes are in stock?", STOCK, "| City bike | 52 |"),
        ("How many employees were there in 2024?", FIGURES, "| Employees | 450 |"),
        ("How many plans are there?", PLAIN, None),
    ],
)
def test_a_row_answers_if_the_question_names_a_column_or_this_row(
    question: str, table: str, quoted: str | None
) -> None:
    found = answer(question, table)
    assert found.startswith(closest_label("en")) == (quoted is None)
    assert quoted is None or f"{quoted} [S1]" in found


def test_a_row_without_separators_has_its_text_before_the_first_digit() -> None:
    assert cells("Standard plan 2,000 $35") == ["Standard plan "]
    assert cells("| Blue hall | 12 |") == ["Blue hall", "12"]
    assert cells("Total") == ["Total"]
