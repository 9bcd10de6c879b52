"""What the first pages say about a document: its title, its authors, its date."""

import pytest

from core.grounding.closest import NOT_FOUND_ANSWER
from core.grounding.sources import FencedSource
from core.offline.quotes import answer_from

WHO, WHEN, WHAT = "Who wrote this?", "When was this published?", "What is this document about?"

PAPER = """Proceedings of the 61st Annual Meeting of the Society for Computational Linguistics
Volume 1: Long Papers, pages 6981–7004
July 9-14, 2023 ©2023 Society for Computational Linguistics
Checking Complex Claims with Programs
Liang Pan1,2 Xiao Wu3 Xin Lu4
William Wang1 Min Kan4
1 University of Wexley 2 Institute of Quays
Abstract
Checking claims often requires several pieces of evidence and many steps of reasoning, as is known.
In this paper, we present Program-Guided
Checking, a model that decomposes complex claims into simpler tasks. It explains every step.
1 Introduction
Claims are everywhere these days. They are checked by hand."""


def ask(question: str, *texts: str, name: str = "a.pdf") -> str:
    sources = [
        FencedSource(number=n, blob_name=name, page=n, text=text) for n, text in enumerate(texts, 1) if text
    ]
    return answer_from(question, sources)


def test_a_paper_is_about_its_title_and_its_abstract() -> None:
    later = "Claims\nJames Cameron was born in Canada. He directs films."
    assert ask(WHAT, PAPER, later) == (
        "Checking Complex Claims with Programs [S1]"
        " Checking claims often requires several pieces of evidence and many steps of reasoning, as is known."
        " [S1] In this paper, we present Program-Guided Checking, a model that decomposes complex claims into"
        " simpler tasks. [S1] It explains every step. [S1]"
    )


def test_the_authors_of_a_paper_are_between_its_title_and_its_abstract() -> None:
    assert ask(WHO, PAPER) == "Liang Pan1,2 Xiao Wu3 Xin Lu4 William Wang1 Min Kan4 [S1]"


@pytest.mark.parametrize(
    ("text", "author"),
    [
        (
            "Subject: Minutes\nFrom: Ann Lee <ann@quay.example>\nTo: all\nDate: 3 May 2024\n\nHi.",
            "From: Ann Lee",
        ),
        (
            "Quay report\nPrepared by: Harbour Office\nThe quays are safe. All of them.",
            "Prepared by: Harbour",
        ),
        (
            "Hill School\n\nDear parents,\n\nthe trip is on 3 May.\n\nKind regards,\nAnn Lee",
            "Kind regards, Ann Lee",
        ),
        (
            "Schule\n\nDie Fahrt ist am 3. Mai.\n\nMit freundlichen Grüßen\nUte Blum\nRektorin",
            "Mit freundlichen",
        ),
        ("The new museum\nLena Marchetti, project director\n12 May 2024", "Lena Marchetti, project director"),
        (
            "Gartenordnung\nVerfasst von: Ute Blum\nDie Hecke ist niedrig. Sie wird geschnitten.",
            "Verfasst von",
        ),
    ],
)
def test_an_author_has_a_label_or_a_function(text: str, author: str) -> None:
    assert ask(WHO, text).startswith(author)


@pytest.mark.parametrize("question", [WHO, "Wer hat das geschrieben?", WHEN])
def test_what_the_first_page_does_not_say_is_not_found(question: str) -> None:
    text = "Pump D6-45 and Pump D6-60\nModels D6-45 (45 cm) and D6-60 (60 cm).\nAnn Lee wrote off both."
    answer = ask(question, text)
    assert answer == NOT_FOUND_ANSWER or answer.startswith("Das habe ich")
    assert "[S1]" not in answer


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        (
            "Pump manual\nThe pump of 3 May 2019 is old.\nVersion 2, 4 June 2023\nIt works.",
            "Version 2, 4 June 2023 [S1]",
        ),
        (
            "Wells\nOrder received, report issued on 19 June 2024.\nThe wells are clean.",
            "Order received, report",
        ),
        (
            "Ordnung\nBeschlossen am 22. April 2022.\nDie Hecke ist niedrig.",
            "Beschlossen am 22. April 2022. [S1]",
        ),
        ("Mortgage guide\nJUNE 2023 | VERSION 1.0\nThe guide is long.", "JUNE 2023 | VERSION 1.0 [S1]"),
        (PAPER, "July 9-14, 2023 ©2023 Society"),
    ],
)
def test_a_document_is_dated_by_a_label_a_statement_or_a_line(text: str, dated: str) -> None:
    assert ask(WHEN, text).startswith(dated)


@pytest.mark.parametrize(
    "text", ["Wells\nFor the year ended 30 June 2023\n\nThe wells are clean.", "Wells 2024"]
)
def test_the_end_of_a_period_and_a_bare_year_date_no_document(text: str) -> None:
    assert ask(WHEN, text) == NOT_FOUND_ANSWER


def test_the_lines_of_a_cover_are_the_title() -> None:
    assert ask(WHAT, "Calder Electronics\nHealth\nBenefit Plan").startswith(
        "Calder Electronics Health Benefit Plan [S1]"
    )


def test_the_menu_of_a_web_page_is_no_title() -> None:
    menu, article = (
        "Skip to main content\nBlog\nGallery\nRecent posts",
        "Tuning of pumps\nPumps are tuned. Often.",
    )
    assert ask(WHAT, menu, article).startswith("Tuning of pumps [S2]")


def test_a_section_is_no_line_of_the_title() -> None:
    assert ask(WHAT, "# House rules\n\n## 1. Noise\n\nIt is quiet after ten.").startswith(
        "# House rules [S1]"
    )
