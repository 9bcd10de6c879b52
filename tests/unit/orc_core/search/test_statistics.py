"""Counts over the documents of a search."""

from orc_core.documents.passages import split_pages
from orc_core.models import Page
from orc_core.search.postings import collect_terms, index_passages
from orc_core.search.query import parse_question
from orc_core.search.statistics import ScopeStatistics


def scope(question: str, *documents: dict[int, str]) -> ScopeStatistics:
    """The counts for a question over documents, given by the text of each page."""
    split = [
        split_pages(str(at), [Page(number=number, text=text) for number, text in pages.items()])
        for at, pages in enumerate(documents)
    ]
    indexes = [index_passages("", passages) for passages in split]
    return ScopeStatistics(collect_terms(parse_question(question), indexes))


def test_a_page_is_as_long_as_its_passages() -> None:
    """Stop words do not count."""
    long = "\n\n".join(f"Crane {number} lifts heavy loads. " * 30 for number in range(3))
    found = scope("crane", {1: "The quay opens.", 2: long}, {1: "Two of 5 cranes lift 40 tons."})
    assert found.page_lengths == [2, sum(found.passage_lengths[1:-1]), 6]
    assert found.page_lengths[1] == 3 * 30 * 5
    assert found.page_digits == [0, 3 * 30, 2]


def test_the_first_offset_of_a_word_is_its_first_on_each_page() -> None:
    found = scope("crane", {1: "The quay has a crane, and that crane lifts.", 2: "Crane and crane."})
    assert found.first_offsets(("crane",), {0}) == {0: 1, 1: 0}
