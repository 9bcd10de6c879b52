"""Passages keep their offsets, lose no text, and end at natural boundaries."""

import re
import tracemalloc

import pytest

from orc_core.documents.passages import LONGEST, header_above, split_pages
from orc_core.models import Page
from orc_core.text.headings import find_headings

SENTENCE = "The plan covers visits to the doctor and the medicine that the doctor prescribes. "


def pages_of(*texts: str) -> list[Page]:
    return [Page(number=number, text=text) for number, text in enumerate(texts, 1)]


def test_a_page_that_fits_is_one_passage() -> None:
    (passage,) = split_pages("d", pages_of(f"\n{SENTENCE * 10}\n"))
    assert (passage.document_id, passage.page, passage.start) == ("d", 1, 1)


def test_blank_pages_have_no_passages() -> None:
    assert [passage.page for passage in split_pages("d", pages_of("", " \n\t\r\n", "Text."))] == [3]


@pytest.mark.parametrize("sentences", [15, 16, 22, 30, 60, 61])
def test_long_prose_is_cut_at_sentence_ends_into_even_passages(sentences: int) -> None:
    *most, last = split_pages("d", pages_of(SENTENCE * sentences))
    assert all(passage.text.endswith("prescribes.") for passage in most)
    assert all(700 <= len(passage.text) <= LONGEST for passage in most)
    assert len(last.text) >= 200


def test_a_paragraph_end_is_preferred_to_a_sentence_end() -> None:
    first, _ = split_pages("d", pages_of(SENTENCE * 11 + "\n\n" + SENTENCE * 11))
    assert first.text == (SENTENCE * 11).strip()


def test_tables_are_cut_at_line_ends() -> None:
    table = "\n".join(f"Row {row} | {row * 37} | {row * 91}" for row in range(120))
    for passage in split_pages("d", pages_of(table)):
        assert re.fullmatch(r"(Row \d+ \| \d+ \| \d+\n?)+", passage.text)


def test_japanese_is_cut_at_its_full_stops() -> None:
    passages = split_pages("d", pages_of("この保険は医師の診察と薬の費用を負担します。" * 120))
    assert len(passages) > 1
    assert all(passage.text.endswith("。") for passage in passages)


@pytest.mark.parametrize("joint", ["\n", "\n\n"])
def test_a_heading_stays_with_the_text_that_follows_it(joint: str) -> None:
    text = joint.join([SENTENCE * 13, "4 Care", "Out-of-Network Care", SENTENCE * 13])
    _, second = split_pages("d", pages_of(text))
    assert second.text.startswith("4 Care")


def test_headings_are_not_kept_with_text_if_a_scrap_would_remain() -> None:
    first, *_ = split_pages("d", pages_of(SENTENCE + "\n" + "Heading Of Something\n" * 100))
    assert len(first.text) > LONGEST // 3


@pytest.mark.slow
def test_a_page_of_headings_only_is_cut_in_linear_time() -> None:
    passages = split_pages("d", pages_of("Heading Of Something\n" * 50_000))
    assert len(passages) < 50_000 * 21 / (LONGEST // 3)


def test_a_passage_carries_the_nearest_heading_above_it() -> None:
    text = f"Annual Report\n{SENTENCE * 13}\n2 Risk Factors\n{SENTENCE * 13}"
    assert [passage.heading for passage in split_pages("d", pages_of(text, SENTENCE))] == [
        "Annual Report",
        "2 Risk Factors",
        "2 Risk Factors",
    ]


def test_the_page_label_is_the_outermost_heading() -> None:
    page = Page(number=1, text=f"Some Heading\n{SENTENCE}", label="Sheet 1")
    assert [passage.heading for passage in split_pages("d", [page])] == ["Sheet 1 > Some Heading"]


def test_printed_numbers_of_pages_are_no_headings() -> None:
    texts = {
        "iii": f"2 Methods\n{SENTENCE}",
        "iv": SENTENCE,
        "A-12": SENTENCE,
        "6983": SENTENCE,
        "2024": SENTENCE,
    }
    pages = [Page(number=at, text=text, label=label) for at, (label, text) in enumerate(texts.items(), 1)]
    assert [each.heading for each in split_pages("d", pages)] == [*["2 Methods"] * 4, "2024"]


def test_headings_include_their_parents() -> None:
    text = "\n".join(
        f"{heading}\n{SENTENCE * 13}"
        for heading in (
            "PART II",
            "ITEM 7. RESULTS",
            "2 Methods",
            "2.1 Data",
            "2.2 Models",
            "3 Findings",
            "PART III",
        )
    )
    headings = [passage.heading for passage in split_pages("d", pages_of(text))]
    assert list(dict.fromkeys(headings)) == [
        "PART II",
        "PART II > ITEM 7. RESULTS",
        "PART II > ITEM 7. RESULTS > 2 Methods",
        "ITEM 7. RESULTS > 2 Methods > 2.1 Data",
        "ITEM 7. RESULTS > 2 Methods > 2.2 Models",
        "PART II > ITEM 7. RESULTS > 3 Findings",
        "PART III",
    ]


def test_markdown_marks_give_heading_levels() -> None:
    text = f"# Guide\n{SENTENCE * 13}\n## Setup\n{SENTENCE * 13}\n# Use\n{SENTENCE * 13}"
    assert [passage.heading for passage in split_pages("d", pages_of(text))] == [
        "Guide",
        "Guide > Setup",
        "Use",
    ]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("(In millions) 2023 2022 2021", "Sales of things {0} 1,{1} 2,{1} 3,{1}"),
        ("Name | Role | Office", "Person {0} | Manager | {1}"),
        ("Q1 2023 Q2 2023 Q3 2023", "Sales of things {0} (1,{1}) 2,{1} $3,{1}"),
    ],
)
def test_a_passage_that_starts_in_a_table_has_its_header(header: str, row: str) -> None:
    rows = "\n".join(row.format(number, 100 + number) for number in range(60))
    text = f"OUR SALES\n{SENTENCE}\n{header}\n{rows}\n\n{SENTENCE * 20}"
    found = split_pages("d", pages_of(text))
    started_in_table = [passage for passage in found if passage.text.startswith(row[:5])]
    assert started_in_table
    assert {passage.heading for passage in started_in_table} == {f"OUR SALES > {header}"}
    assert found[-1].heading == "OUR SALES"


def test_a_line_on_many_pages_is_a_running_header() -> None:
    texts = [f"Annual Report 2023 Page {number}\n{SENTENCE}" for number in range(1, 9)]
    texts[0] = "Letter To Shareholders\n" + texts[0]
    headings = {passage.heading for passage in split_pages("d", pages_of(*texts))}
    assert headings == {"Letter To Shareholders"}


@pytest.mark.parametrize(
    "line", ["OVERVIEW", "1.2 Terms of use", "# Getting started", "Balance Billing Protection", "概要と目的"]
)
def test_headings_are_recognised(line: str) -> None:
    (heading,) = find_headings(f"  {line}\n")
    assert (heading.start, heading.text) == (2, line.lstrip("# "))


@pytest.mark.parametrize(
    "line",
    [
        "The plan covers this.",
        "and then it goes on",
        "12,345 67,890 1,234",
        "ab",
        "Revenue 2019 2020 2021 2022",
    ],
)
def test_other_lines_are_not_headings(line: str) -> None:
    assert find_headings(line) == []


@pytest.mark.slow
def test_a_long_table_is_cut_in_linear_time() -> None:
    rows = "\n".join(f"Row {row} | {row * 37} | {row * 91}" for row in range(60_000))
    assert all(passage.text.startswith("Row") for passage in split_pages("d", pages_of(rows)))


def test_looking_for_a_table_header_does_not_copy_the_page() -> None:
    rows = "Name | Role | Office\n" + "Person | Manager | 7\n" * 50_000
    tracemalloc.start()
    try:
        header = header_above(rows, rows.index("Person"))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert header == "Name | Role | Office"
    assert most_bytes < len(rows) / 10


@pytest.mark.parametrize("after", ["", "\n", "\nA sentence that is not a row."])
def test_the_last_row_of_a_table_has_its_header(after: str) -> None:
    text = f"Name | Role | Office\nPerson | Manager | 7{after}"
    assert header_above(text, text.index("Person")) == "Name | Role | Office"


def test_a_passage_below_a_running_head_has_the_heading_of_that_section() -> None:
    head = "Tarnhaven Harbour Services  Employee Handbook, edition 7"
    titles = ["Buying and Approving", "Lost Devices", "Service Plans", "Safety on the Quay", "Complaints"]
    pages = [
        Page(number=n, text=f"{head} {n} {title}\n{n} {title}\nWhoever reports in time is never charged.\n")
        for n, title in enumerate(titles, 1)
    ]
    assert [each.heading for each in split_pages("d", pages)] == [
        f"{n} {each}" for n, each in enumerate(titles, 1)
    ]
