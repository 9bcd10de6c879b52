"""What proves an answer wrong."""

import pytest

from orc.graphs.critic import is_proven_wrong, is_worse
from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.models import Grounding
from orc_core.grounding.sources import Source

PAGE = "Annual leave is 25 days. The fee is 10."


def checked(answer: str) -> Grounding:
    given = Source(number=1, document_id="d", blob_name="a.txt", page=1, start=0, text=PAGE, page_text=PAGE)
    writer = CitationWriter([given])
    writer.feed(answer)
    writer.finish()
    return writer.grounding


@pytest.mark.parametrize(
    ("answer", "is_wrong"),
    [
        ("Annual leave is 25 days. [S1]", False),
        ("Everybody gets 25 days off. [S1]", False),
        ("Annual leave is 31 days. [S1]", True),
        ("Annual leave is 25 days. [S1] The fee is 9. [S1]", True),
        ("Dogs are welcome.", False),
        ("Annual leave is 25 days. [S1] Dogs are welcome.", False),
        ("Annual leave is 25 days. [S1, S7]", False),
    ],
)
def test_only_a_number_that_is_not_there_proves_an_answer_wrong(answer: str, is_wrong: bool) -> None:
    assert is_proven_wrong(checked(answer)) is is_wrong


def test_an_answer_with_fewer_wrong_citations_is_not_worse() -> None:
    wrong = checked("Annual leave is 31 days. [S1] The fee is 9. [S1]")
    better = checked("Annual leave is 25 days. [S1] The fee is 9. [S1]")
    assert (is_worse(better, wrong), is_worse(wrong, better)) == (False, True)
