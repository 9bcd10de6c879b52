"""Which pages come closest to a question."""

from core.grounding.sources import FencedSource
from core.offline.closest import MOST_CLOSEST, best_of_pages
from core.offline.material import Material
from core.search.bm25 import TextRanking


def closest(question: str, *pages: tuple[int, str]) -> list[int]:
    """The numbers of the closest pages, from sources with a page number and a text each."""
    sources = [
        FencedSource(number=at, blob_name="a.pdf", page=page, text=text)
        for at, (page, text) in enumerate(pages, 1)
    ]
    material = Material.read(sources)
    best = best_of_pages(TextRanking(question, material.candidates), material)
    return [material.page_of(index)[1] for index in best]


def test_pages_in_reading_order_count_by_their_words() -> None:
    pages = [(1, "The harbour is old."), (2, "The fee for the berth is high."), (3, "A berth is free.")]
    assert closest("What is the fee for a berth?", *pages) == [2, 3]


def test_a_page_that_the_search_ranked_first_is_shown_without_a_common_word() -> None:
    found = [
        (9, "Inventories were 11,360."),
        (4, "The turnover of staff was low."),
        (2, "Leeds is in the north."),
    ]
    assert closest("What is the turnover?", *found)[:2] == [4, 9]


def test_a_page_is_shown_once_and_at_most_three_are() -> None:
    pages = [(n // 2 + 1, f"The berth {n} has a fee.") for n in range(10)]
    shown = closest("What is the fee of the berth?", *pages)
    assert len(shown) == len(set(shown)) == MOST_CLOSEST


def test_further_passages_of_a_page_follow_if_there_are_few_pages() -> None:
    page = "A berth is free. The fee for the berth is 9 euros. A fee for water is due."
    assert closest("What is the fee of the berth?", (1, page), (2, "The berth is wide.")) == [1, 2, 1]


def test_a_passage_that_begins_within_a_sentence_is_not_shown() -> None:
    pages = [(1, "the berth has a fee;"), (2, "Fee for the berth: 9 euros"), (3, "A berth is free.")]
    assert closest("What is the fee of the berth?", *pages) == [2, 3]


def test_pages_without_a_common_word_are_not_close() -> None:
    assert closest("Who wrote Hamlet?", (1, "The harbour is old."), (2, "A berth is free.")) == []
