"""The inverted index of a document."""

from orc_core.models import Passage
from orc_core.search.postings import index_passages


def passage(page: int, text: str, heading: str = "") -> Passage:
    return Passage(document_id="d", page=page, start=0, end=len(text), text=text, heading=heading)


def test_a_passage_is_found_by_its_heading() -> None:
    index = index_passages("report.pdf", [passage(1, "The annual report names 4.", "Piers"), passage(2, "")])
    assert dict(index.find(["pier"]))["pier"].headings.tolist() == [0]


def test_a_document_without_text_has_an_index() -> None:
    assert not index_passages("empty.pdf", [passage(1, "")]).postings
