"""Sentences about tables: their numbers are those of the cells that they name."""

import pytest

from orc_core.grounding.checks import Page, Passage, Row, are_in_cells, check, row_of

PAGE = Page(
    "Revenue by branch in EUR million, of which each is audited by the firm that the board has chosen.\n\n"
    "Branch (EUR million) | 2022 | 2023\nOslo | 31.4 | 33.0\nMalmö | 18.9 | 17.6\nOslo port | 1.5 | 2.25\n"
)


def _check(sentence: str) -> str:
    return check(sentence, [Passage(PAGE)]).check


def test_a_row_has_labels_from_its_header_or_from_its_cells() -> None:
    cells = (("2022", "31"), ("2023", "33"))
    assert row_of("Oslo | 31 | 33", "Branch | 2022 | 2023", "Sales") == Row(
        "Oslo", "Sales\nBranch | 2022 | 2023\n", cells
    )
    assert row_of("Branch: Oslo | 2022: 31 | 2023: 33", "", "") == Row("Oslo", "\n\nBranch", cells)
    assert row_of("| Oslo | 31 |", "Branch | 2022 | 2023", "") == Row(
        "Oslo", "\nBranch | 2022 | 2023\n", (("", "31"),)
    )
    assert row_of("Oslo", "", "") is None


@pytest.mark.parametrize(
    "sentence",
    [
        "The branch in Oslo had EUR 33.0 million in 2023.",
        "Oslo grew from 31.4 in 2022 to 33.0 in 2023.",
        "The Malmö branch has 17.6.",
        "Oslo port had 2.25 in 2023.",
    ],
)
def test_numbers_in_the_cells_that_a_sentence_names_are_quoted(sentence: str) -> None:
    assert _check(sentence) == "quoted"


@pytest.mark.parametrize(
    "sentence",
    [
        "The branch in Oslo had EUR 17.6 million in 2023.",
        "The branch in Oslo had EUR 31.4 million in 2023.",
        "The branch in Oslo had EUR 33.0 billion in 2023.",
        "The branch in Oslo did not have EUR 33.0 million in 2023.",
        "The branch in Bergen had EUR 33.0 million in 2023.",
        "The branch in Oslo was opened in 2023.",
        "Oslo sold boats, nets, ropes and sails to many old friends of the harbour for 33.0 in 2023.",
    ],
)
def test_the_number_of_another_cell_or_scale_is_not_quoted(sentence: str) -> None:
    assert _check(sentence) != "quoted"


def test_a_sentence_without_a_number_is_in_no_cell() -> None:
    assert not are_in_cells("Oslo is a branch.", [Row("Oslo", "Branch", (("2023", "33"),))], "en")
