"""The units of a page: where they begin and end, and what a judge reads with them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from orc_core.grounding.units import around, label_of, located, page_units

PAGE = """3. Leave

Every employee has 28 days. One day is added after five years.

- Apply two weeks before.
- Tell your manager.

Grade | Days
A | 28
B | 30
"""


def _texts(page: str) -> list[str]:
    return [page[unit.start : unit.end] for unit in page_units(page)]


def test_sentences_items_rows_and_headings_are_units() -> None:
    assert _texts(PAGE) == [
        "3. Leave",
        "Every employee has 28 days.",
        "One day is added after five years.",
        "- Apply two weeks before.",
        "- Tell your manager.",
        "Grade | Days",
        "A | 28",
        "B | 30",
    ]


def test_sentences_continue_over_line_breaks_but_not_over_paragraphs() -> None:
    text = "One goes\non here. Two costs 3.50 today!\n\nThree"
    assert [text[part.start : part.end] for part in located(text)] == [
        "One goes\non here.",
        "Two costs 3.50 today!",
        "Three",
    ]


def test_a_unit_does_not_go_on_below_the_next_heading() -> None:
    page = "Rent\nIt is due in May, and it is paid by transfer.\nPets\nThey are allowed, but on a lead.\n"
    headings = [unit for unit in page_units(page) if unit.kind == "heading"]
    assert len(headings) == 2
    assert all(unit.above is not None for unit in page_units(page) if unit.kind == "sentence")


def test_the_label_of_a_unit_is_the_number_at_its_head() -> None:
    page = (
        "3. Payment\n\n5.2 The fee is due. It is small.\n\n§ 4 Pets\n\nArticle 7 - Fees\n\nOne of these:\n"
        "1. Red boats.\n2. Blue boats.\n\n19 Aug\n\nMay 20 Tour\n\n3. Mai 2024 is the day.\n\n"
        "12 boats came, or 2.5 million.\n"
    )
    labels = [label_of(page[unit.start : unit.end], unit.kind) for unit in page_units(page)]
    assert list(filter(None, labels)) == ["3.", "5.2", "§ 4", "Article 7", "1.", "2."]


def test_a_judge_reads_the_neighbours_the_heading_and_the_header_row() -> None:
    units = page_units(PAGE)
    assert units[7].header == 5
    assert around(units, 7) == [0, 5, 6, 7]
    assert around(units, 4) == [0, 2, 3, 4, 5, 6]
    assert around(units, 0) == [0, 1, 2]


@given(st.text("ab .:-|1\n\t•。字", max_size=200))
def test_every_visible_character_is_in_one_unit_in_order(page: str) -> None:
    units = page_units(page)
    assert "".join("".join(page[unit.start : unit.end].split()) for unit in units) == "".join(page.split())
    assert all(before.end <= after.start for before, after in itertools.pairwise(units))
