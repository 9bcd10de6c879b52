"""Splitting page text into sentences, items, rows and headings."""

import pytest

from core.text.sentences import Piece, sentences, split_pieces


def test_a_sentence_can_span_lines() -> None:
    pieces = split_pieces("The deductible is\n$2,000 per\nyear. It starts again\nin January.")
    assert [piece.text for piece in pieces] == [
        "The deductible is $2,000 per year.",
        "It starts again in January.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith of Contoso Inc. paid 3.5 percent, i.e. nothing.",
        "See Fig. 3 and Jiang et al. 2021 for J. Doe.",
        "1. Quality: we strive for it.",
        "Der Umsatz betrug 30 Mio. Euro und 2 Mrd. GBP.",
        "Der Vertrag endet am 8. Februar 2024.",
        "Habló el Sr. Costa con la Dra. Gil en EE. UU. desde 1990.",
    ],
)
def test_abbreviations_initials_and_numbering_do_not_end_a_sentence(text: str) -> None:
    assert list(sentences(text)) == [text]


def test_a_number_at_the_end_of_a_sentence_is_no_day() -> None:
    text = "Es waren 8. Danach endete 2023. Februar war kalt."
    assert list(sentences(text)) == ["Es waren 8.", "Danach endete 2023.", "Februar war kalt."]


def test_chinese_and_japanese_sentences_need_no_space() -> None:
    assert list(sentences("年間2,000円です。詳細はこちら。")) == ["年間2,000円です。", "詳細はこちら。"]


def test_headings_are_pieces_and_apply_to_what_follows() -> None:
    text = (
        "Job Title\nOperations\n\nDuties:\n• Plan the work\n• Check the\nresults\nQualifications:\n• A degree"
    )
    assert split_pieces(text) == [
        Piece("Job Title", "heading"),
        Piece("Operations", "heading"),
        Piece("Duties:", "heading"),
        Piece("• Plan the work", "item", "Job Title Operations Duties:"),
        Piece("• Check the results", "item", "Job Title Operations Duties:"),
        Piece("Qualifications:", "heading"),
        Piece("• A degree", "item", "Job Title Operations Qualifications:"),
    ]


def test_a_sentence_with_a_colon_is_the_heading_of_its_items() -> None:
    text = "You should do the following before you schedule an appointment with anybody:\n- Call us\n- Wait"
    assert [piece.heading for piece in split_pieces(text)][1:] == [split_pieces(text)[0].text] * 2


def test_table_rows_are_separate_pieces_below_their_header() -> None:
    text = "Plan Deductible Copay\nStandard $2,000 $35\nPlus $1,500 $20\n\nAmounts are per year."
    kinds = [(piece.kind, piece.heading) for piece in split_pieces(text)]
    assert kinds[:3] == [("heading", ""), ("row", "Plan Deductible Copay"), ("row", "Plan Deductible Copay")]
    assert split_pieces(text)[3].text == "Amounts are per year."


@pytest.mark.parametrize(
    "text", ["A" * 300_000, "a. " * 100_000, "\n" * 100_000, "1 2 3\n" * 30_000, "a\n\n" * 30_000]
)
def test_splitting_takes_linear_time(text: str) -> None:
    assert len("".join(piece.text for piece in split_pieces(text))) <= len(text)
