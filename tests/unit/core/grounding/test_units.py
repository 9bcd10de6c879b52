"""The units of a page: where they begin and end, what is joined, and what a judge reads with them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from core.grounding.units import LONGEST_JOINED, around, located, page_units

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


def test_sentences_and_items_are_joined_and_rows_and_headings_are_not() -> None:
    assert _texts(PAGE) == [
        "3. Leave",
        "Every employee has 28 days. One day is added after five years.",
        "- Apply two weeks before.\n- Tell your manager.",
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


def test_a_unit_has_its_sentences_as_parts() -> None:
    unit = page_units(PAGE)[1]
    assert [PAGE[part.start : part.end] for part in unit.parts] == [
        "Every employee has 28 days.",
        "One day is added after five years.",
    ]


def test_a_unit_ends_before_it_is_too_long_but_a_sentence_is_never_cut() -> None:
    sentence = "The boat leaves the harbour at noon on each day of the week. "
    units = page_units(sentence * 20)
    assert len(units) == 5
    assert all(unit.end - unit.start <= LONGEST_JOINED for unit in units)
    long = f"The boat {'slowly ' * 100}leaves."
    assert _texts(f"{long} It is noon.") == [long, "It is noon."]


def test_a_unit_does_not_go_on_below_the_next_heading() -> None:
    page = "Rent\nIt is due in May, and it is paid by transfer.\nPets\nThey are allowed, but on a lead.\n"
    headings = [unit for unit in page_units(page) if unit.kind == "heading"]
    assert len(headings) == 2
    assert all(unit.above is not None for unit in page_units(page) if unit.kind == "sentence")


def test_a_judge_reads_the_neighbours_the_heading_and_the_header_row() -> None:
    units = page_units(PAGE)
    assert units[5].header == 3
    assert around(units, 5) == [0, 3, 4, 5]
    assert around(units, 1) == [0, 1, 2]
    assert around(units, 0) == [0, 1]


@given(st.text("ab .:-|1\n\t•。字", max_size=200))
def test_every_visible_character_is_in_one_unit_in_order(page: str) -> None:
    units = page_units(page)
    spans = [part for unit in units for part in unit.parts]
    assert "".join("".join(page[span.start : span.end].split()) for span in spans) == "".join(page.split())
    assert all(before.end <= after.start for before, after in itertools.pairwise(spans))
    assert [(unit.start, unit.end) for unit in units] == [(u.parts[0].start, u.parts[-1].end) for u in units]
