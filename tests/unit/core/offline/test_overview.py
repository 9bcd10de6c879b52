"""What documents are about: their titles and the first sentences of their pages."""

import pytest

from core.grounding.sources import FencedSource
from core.offline.quotes import answer_from


def pages(*texts: str) -> list[FencedSource]:
    return [
        FencedSource(number=n, blob_name="perks.pdf", page=n, text=text) for n, text in enumerate(texts, 1)
    ]


GUIDE = pages(
    "PerksPlus\nHealth and wellness\nThis guide explains what PerksPlus is and what PerksPlus covers.\n"
    "PerksPlus pays for sport.",
    "Limits\nUp to $1000 are paid in a year. Lessons count.\nAll rights reserved.",
    "Claims\nReceipts are sent to the office. Keep a copy.\nAll rights reserved.",
)


@pytest.mark.parametrize(
    "question",
    [
        "Summarize this document",
        "What is this document about?",
        "what is this file",
        "Worum geht es hier?",
        "De quoi parle ce document ?",
        "¿De qué trata este documento?",
        "What is PerksPlus?",
    ],
)
def test_an_overview_is_the_title_and_the_first_sentence_of_each_page(question: str) -> None:
    assert answer_from(question, GUIDE) == (
        "PerksPlus Health and wellness [S1] PerksPlus pays for sport. [S1]"
        " Up to $1000 are paid in a year. [S2] Receipts are sent to the office. [S3]"
    )


@pytest.mark.parametrize("question", ["What is the limit?", "What is the meeting about the rent about?"])
def test_a_question_about_one_fact_gets_no_overview(question: str) -> None:
    assert not answer_from(question, GUIDE).startswith("PerksPlus Health")


def test_a_short_document_is_shown_by_its_sections() -> None:
    mail = pages("Minutes of May\n\nFair\nThe fair is in June. It rains.\n\nTreasurer\nNone was elected.")
    assert answer_from("Give me a summary of this mail", mail) == (
        "Minutes of May Fair [S1] The fair is in June. [S1] None was elected. [S1]"
    )


def test_a_sentence_that_announces_the_content_answers_nothing() -> None:
    answer = answer_from("What does PerksPlus cover?", GUIDE)
    assert "This guide explains" not in answer


def test_passages_from_the_middle_of_a_document_have_no_title() -> None:
    middle = [FencedSource(number=1, blob_name="a.pdf", page=7, text="Fees\nThe fee is 5 euros. More.")]
    assert answer_from("Summarize this", middle) == "The fee is 5 euros. [S1]"
