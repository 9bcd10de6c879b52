"""Which questions may be tuned on: a split by document, fixed before any figure was looked at."""

from collections.abc import Sequence
from typing import Literal

from evals.corpus import Question

Half = Literal["tuning", "test"]

TUNING_DOCUMENTS = frozenset(
    {
        "Northwind_Standard_Benefits_Details.pdf",
        "role_library.pdf",
        "PerksPlus.pdf",
        "2023.acl-long.386.pdf",
        "tacl_a_00660.pdf",
        "xquad-de-open-1.pdf",
        # The vocabulary was written for this report, so its family cannot test anything.
        "MSFT_FY23Q4_10K.docx",
        "MSFT_FY22Q4_10K.docx",
        "MSFT_FY21Q4_10K.docx",
        "PressReleaseFY23Q4.docx",
        # Made documents: leases and reports; manuals and minutes test.
        *(f"scan-00{number}.txt" for number in (17, 18, 22, 31)),
        *(f"report-{number}.txt" for number in (1, 2, 3, 4)),
    }
)
"""Questions that need a page of one of these documents are for tuning; all others test."""


def half_of(question: Question) -> Half:
    """The half that a question belongs to."""
    return "tuning" if any(gold.file in TUNING_DOCUMENTS for gold in question.gold) else "test"


def select(questions: Sequence[Question], half: Half) -> list[Question]:
    """The questions of one half, in their order."""
    return [question for question in questions if half_of(question) == half]
