"""What proves an answer wrong."""

import pytest

from core.grounding.citations import CitationWriter
from core.grounding.models import Grounding
from core.grounding.sources import Source
from orc.graphs.revision import is_proven_wrong

PAGE = "Annual leave is 25 days. The fee is 10."
ENDLESS = f"Leave is {' '.join(map(str, range(1, 3001)))} days [S1]."


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
        ("Annual leave is 30 days. [S1]", True),
        ("Dogs are welcome.", True),
        (ENDLESS, False),
        (f"Annual leave is 25 days. [S1] {ENDLESS}", False),
        (f"Dogs are welcome. {ENDLESS}", True),
    ],
)
def test_only_a_checked_sentence_proves_an_answer_wrong(answer: str, is_wrong: bool) -> None:
    assert is_proven_wrong(checked(answer)) is is_wrong
