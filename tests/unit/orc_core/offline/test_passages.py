"""What is shown of the sources: the closest passages, readable and word for word, and never an answer."""

import re

import pytest

from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.closest import closest_label, not_found_answer
from orc_core.grounding.sources import FencedSource, Source
from orc_core.models import PROPERTIES
from orc_core.offline.passages import MOST_PASSAGES, closest_passages

LEAVE = "How many vacation days do employees get?"


def page(text: str, number: int = 1, *, page: int = 1, name: str = "a.pdf") -> FencedSource:
    return FencedSource(number=number, blob_name=name, page=page, text=text)


def pages(*texts: str, name: str = "a.pdf") -> list[FencedSource]:
    return [page(text, number, page=number, name=name) for number, text in enumerate(texts, 1)]


def cited(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\[S(\d+)\]", text)]


def checked(text: str, sources: list[FencedSource]) -> CitationWriter:
    known = [
        Source(
            number=each.number,
            document_id=each.blob_name,
            blob_name=each.blob_name,
            page=each.page,
            start=0,
            text=each.text,
            page_text=each.text,
        )
        for each in sources
    ]
    writer = CitationWriter(known)
    writer.feed(text)
    writer.finish()
    return writer


def test_passages_of_several_documents_are_shown_below_one_line_and_are_no_answer() -> None:
    plans = [
        page(f"Benefits of plan {n}.\nEmployees of plan {n} get {20 + n} vacation days.", n, name=f"{n}.pdf")
        for n in range(1, 8)
    ]
    shown = closest_passages(LEAVE, plans)
    label, *passages = shown.split("\n\n")
    assert label == closest_label(LEAVE)
    assert "No language model" in label
    assert len(cited(shown)) == len(set(cited(shown))) == len(passages) == MOST_PASSAGES
    writer = checked(shown, plans)
    assert all(each.verified and each.closest for each in writer.citations)
    assert (writer.grounding.grounded, writer.grounding.closest_passages) == (True, True)


@pytest.mark.parametrize(
    "request_",
    ["Summarise the leave of employees", "Translate the rules on leave", "Is 28 days of leave generous?"],
)
def test_what_needs_a_model_gets_the_same_line_and_passages(request_: str) -> None:
    sources = pages("Employees have 28 days of leave.", "Parking costs 9 euros.")
    shown = closest_passages(request_, sources)
    assert shown == f"{closest_label(request_)}\n\nEmployees have 28 days of leave. [S1]"


def test_the_order_of_a_search_stays() -> None:
    found = [page("Employees get days.", 1, page=9), page("Employees get 28 vacation days.", 2, page=3)]
    assert cited(closest_passages(LEAVE, found, are_found=True)) == [1, 2]
    assert cited(closest_passages(LEAVE, found[::-1], are_found=True)) == [2, 1]


def test_pages_in_reading_order_are_ordered_by_what_they_say() -> None:
    sources = pages("Employees park here.", "Visitors are welcome.", "Employees get 28 vacation days.")
    assert cited(closest_passages(LEAVE, sources)) == [3, 1]


def test_the_best_sentence_of_a_passage_is_quoted() -> None:
    text = "Leave is planned in autumn. All employees get 28 vacation days. Parking is free."
    shown = closest_passages(LEAVE, [page(text)])
    assert shown.split("\n\n")[1] == "All employees get 28 vacation days. [S1]"


def test_nothing_is_found_if_no_word_of_the_question_is_there() -> None:
    assert closest_passages("Xylophone zebra quasar?", pages("Employees get days.")) == not_found_answer("")
    german = "Wie hoch ist die Kaution für die Wohnung?"
    assert closest_passages(german, pages("Der Hund bellt.")) == not_found_answer(german)


def test_what_a_search_found_by_other_forms_of_words_is_shown_if_any_word_is_there() -> None:
    found = [page("Vaccation is 28 days.", 1, page=2), page("Employees are met here.", 2, page=1)]
    question = "Vacattion employees?"
    assert cited(closest_passages(question, found)) == [2]
    assert cited(closest_passages(question, found, are_found=True)) == [1, 2]
    assert cited(closest_passages("Urlaubstage?", found, are_found=True)) == []


def test_a_question_without_a_subject_gets_the_beginnings() -> None:
    sources = pages("The quays of Wexley\n\nThey were built in 1890. They are long.", "Boats rest here.")
    shown = closest_passages("What is this about?", sources)
    assert "They were built in 1890. [S1]" in shown and "They are long. [S1]" in shown
    assert cited(shown) == [1, 1, 2]


def test_a_heading_is_shown_above_its_passage() -> None:
    text = (
        "Annual leave\nEvery employee of the company has 28 vacation days, which are planned in autumn.\n\n"
        "Parking\nParking is free for all who work here, and for their visitors from other places too.\n"
    )
    shown = closest_passages("How many vacation days does an employee have?", [page(text)])
    assert "\n\n**Annual leave**\n\nEvery employee of the company has" in shown
    assert checked(shown, [page(text)]).grounding.grounded


def test_a_heading_is_shown_once_above_passages_that_follow_each_other_below_it() -> None:
    text = "5.3 Allowances\nMeals are covered by an allowance.\nHotels are paid as billed in clause 5.3.\n"
    shown = closest_passages("What does clause 5.3 say?", [page(text)])
    assert len(cited(shown)) == 2
    assert shown.count("**5.3 Allowances**") == 1
    short = [page(text.rpartition("Hotels")[0], number, name=f"{number}.pdf") for number in (1, 2)]
    assert closest_passages("What does clause 5.3 say?", short).count("**5.3 Allowances**") == 2


def test_a_passage_without_a_heading_is_shown_below_that_of_its_section() -> None:
    """A long section is several passages; only the first begins with its heading."""
    first = page("5.3 Hotels\nHotels are paid as billed, up to the limit of the city.\n", 1)
    second = page("Meals are paid as billed up to EUR 40.\n", 2).model_copy(update={"section": "5.4 Meals"})
    shown = closest_passages("What is paid as billed?", [first, second])
    assert shown.index("**5.4 Meals**") < shown.index("Meals are paid")
    assert "**5.3 Hotels**" in shown


def test_a_row_is_shown_with_the_header_of_its_table() -> None:
    table = "Fees\n\n| City | Hotel limit |\n| --- | --- |\n| Lisbon | 135 |\n| Oslo | 210 |\n"
    shown = closest_passages("What is the hotel limit in Lisbon?", [page(table)])
    assert "| City | Hotel limit |\n| --- | --- |\n| Lisbon | 135 [S1] |" in shown
    writer = checked(shown, [page(table)])
    assert [each.verified for each in writer.citations] == [True] * len(writer.citations)
    assert writer.grounding.grounded


def test_an_item_is_shown_with_the_sentence_above_its_list() -> None:
    lead = "Leave begins on any day. The leave of an employee ends with one of:"
    text = f"{lead}\n- a return to work after at most 28 days\n- the end of the contract\n"
    shown = closest_passages("Does a return to work end it?", [page(text)])
    assert (
        "The leave of an employee ends with one of:\n\na return to work after at most 28 days [S1]" in shown
    )


def test_running_headers_and_footers_are_neither_quoted_nor_headings() -> None:
    sources = pages(
        *(
            f"Vacation Days for Employees {n}\n\nQuay {n} gives {n} vacation days.\n\nPage {n} of 3"
            for n in (1, 2, 3)
        )
    )
    shown = closest_passages(LEAVE, sources)
    assert len(cited(shown)) == 3
    assert "for Employees" not in shown
    assert "of 3" not in shown


def test_one_sentence_of_an_item_is_quoted() -> None:
    sources = pages("- Gym costs are paid back. All employees get 28 vacation days. Parking is free.\n- Tea")
    shown = closest_passages(LEAVE, sources)
    assert shown.split("\n\n")[1] == "All employees get 28 vacation days. [S1]"
    assert checked(shown, sources).grounding.grounded


def test_behind_the_second_only_passages_with_much_of_the_question_are_shown() -> None:
    weak = ["Employees park here.", "Employees eat here.", "Employees read here."]
    sources = pages(*weak, "Employees get 28 vacation days.")
    assert cited(closest_passages(LEAVE, sources)) == [4, 1]


def test_only_files_that_the_question_names_are_quoted() -> None:
    sources = [
        page("Employees get 28 vacation days.", 1, name="old.pdf"),
        page("Employees get 30 vacation days.", 2, name="new.pdf"),
    ]
    assert cited(closest_passages("How many vacation days do employees get in new.pdf?", sources)) == [2]


def test_the_same_text_is_shown_once_of_a_document() -> None:
    sources = [
        page("Employees get 28 vacation days.", 1, page=1),
        page("Employees get 28 vacation days.", 2, page=2),
        page("Employees get 28 vacation days.", 3, page=1, name="b.pdf"),
    ]
    assert len(cited(closest_passages(LEAVE, sources))) == 2


@pytest.mark.parametrize(
    "unquotable",
    [
        "How many vacation days do employees get?",
        "Vacation days of employees ........ 12",
        "and vacation days of employees that",
        "12 34 56",
    ],
)
def test_questions_contents_and_pieces_of_sentences_are_not_quoted(unquotable: str) -> None:
    shown = closest_passages(LEAVE, [page(f"{unquotable}\n\nEmployees get 28 vacation days each year.")])
    assert shown.split("\n\n")[-1] == "Employees get 28 vacation days each year. [S1]"
    assert len(cited(shown)) == 1


def test_a_named_page_is_shown_from_its_beginning() -> None:
    sources = pages(
        "Leave is 28 days. It is paid.", "Fees are due. Berth 3 is free.", "The gate closes at 8."
    )
    assert cited(closest_passages("What is on page 2?", sources)) == [2, 2]
    assert cited(closest_passages("Is leave paid on page 2?", sources)) == [2, 2]
    assert cited(closest_passages("And the last page?", sources)) == [3]


def test_a_named_part_is_searched_for_the_rest_of_the_question() -> None:
    lease = "3.3 The rent rises by 7 percent. It does not fall.\n3.4 Clause 3.3 does not apply in May."
    shown = closest_passages("By how much does the rent rise by clause 3.3?", pages(lease, lease))
    assert "7 percent" in shown
    assert "does not apply" not in shown
    labelled = [page("Preface.", 1, page=1), page("The tide is high.", 2, page=2)]
    labelled[1] = labelled[1].model_copy(update={"label": "1"})
    assert cited(closest_passages("What is on page 1?", labelled)) == [2, 1]


def test_versions_of_a_statement_follow_each_other() -> None:
    """Side by side, each with its document, whatever ranks between them."""
    of_2025 = pages("Water is included in the fee.\nThe fee for water skis is 9.", name="2025.pdf")
    of_2026 = page("Water is not included in the fee.", 3, name="2026.pdf")
    shown = closest_passages("Is water included in the fee?", [*of_2025, of_2026])
    assert cited(shown)[:2] == [1, 3]
    assert shown.index("is included") < shown.index("not included") < shown.index("skis")


def test_a_question_about_the_file_is_led_by_what_it_says_of_itself() -> None:
    said = "Properties of the file: author Tove Dahl; 2 pages."
    sources = [
        *pages("Fees are due.", "Berths are covered."),
        page(said, 3, page=3).model_copy(update={"label": PROPERTIES}),
    ]
    shown = closest_passages("How many pages does the document have?", sources)
    assert shown.index("2 pages") < shown.index("Fees are due.")
    assert "2 pages" not in closest_passages("Which berths are covered?", sources)


def test_what_a_file_says_of_itself_does_not_lead_if_it_has_no_word_of_the_question() -> None:
    said = "Properties of the file: title “Outage of the gate”; author Tove Dahl."
    of_file = page(said, 3, page=3).model_copy(update={"label": PROPERTIES})
    for order in (2, 0):  # as read whole, and as found
        sources = pages("The gate was open.\n\nIt rained.", "The outage had one reason, the rain.")
        sources.insert(order, of_file)
        shown = closest_passages("What is this about?", sources)
        assert shown.index("The gate was") < shown.index("Tove Dahl") < shown.index("It rained.")
        shown = closest_passages("What was the reason for the outage of the gate?", sources, are_found=True)
        assert shown.index("one reason") < shown.index("Tove Dahl")


def test_a_sentence_that_ends_with_its_page_goes_on_at_the_beginning_of_the_next_one() -> None:
    texts = (
        "The keys are lent. The deposit is returned when the hall is",
        "empty and clean, after 40 days at most. The fee for a late return is",
        "EUR 275. The hall is heated.",
    )
    bare = pages(*texts)
    shown = closest_passages("When is the deposit returned?", bare)
    assert "when the hall is [S1]\n\nempty and clean, after 40 days at most. [S2]" in shown
    assert "late return is [S2]" in (late := closest_passages("What is the fee for a late return?", bare))
    assert "EUR 275" not in late, "a capital letter alone could begin another part of the page"
    below = pages(*(f"Kestrel Estates, page {n}\n\n{text}\n\nVersion 3" for n, text in enumerate(texts, 1)))
    assert "late return is [S2]\n\nEUR 275. [S3]" in closest_passages(
        "What is the fee for a late return?", below
    )
    assert checked(late, bare).grounding.grounded


def test_a_sentence_that_is_cut_within_its_page_does_not_go_on_elsewhere() -> None:
    sources = pages(
        "The deposit is returned when the hall is\n\nThe keys are lent.", "empty by noon. It is heated."
    )
    assert "empty by noon" not in closest_passages("When is the deposit returned?", sources)
