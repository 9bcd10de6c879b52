"""How a document is cut into parts: nothing lost, nothing twice, and never more calls than allowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.tools.parts import (
    BEST_OF_PART,
    BestMatches,
    PageBlock,
    Part,
    PartsPlan,
    cut,
    join,
    pack,
    plan_parts,
    thin_out,
    total,
)
from orc_core.grounding.sources import Source
from orc_core.llm.chat_model import CallBudget
from orc_core.models import Hit, Page, Passage
from tests.unit.mcp_server.stand_ins import FakeLibrary

pytestmark = pytest.mark.slow

SENTENCE = "The quay opens at seven and the harbour master keeps the key of it all day long. "
TEXTS = st.lists(st.integers(0, 60).map(lambda times: (SENTENCE * times).strip()), min_size=1, max_size=30)


def blocks_of(texts: list[str], part_tokens: int = 400) -> list[PageBlock]:
    document = FakeLibrary().add("a.pdf", *texts)
    pages = [Page(number=number, text=text) for number, text in enumerate(texts, 1)]
    return cut(document, pages, part_tokens, lambda text: len(text.split()))


def numbers(parts: list[Part]) -> list[int]:
    return [sized.source.number for part in parts for block in part for sized in block.sources]


def plan_for(blocks: list[PageBlock], calls: int, best: list[Hit] | None = None) -> PartsPlan:
    return plan_parts(blocks, best or [], calls=calls, usual=400, largest=800)


@given(TEXTS)
def test_all_of_the_text_is_cut_in_order_into_sources_of_one_page(texts: list[str]) -> None:
    blocks = blocks_of(texts)
    found = [
        "".join(s.source.text for t in blocks if t.page == n for s in t.sources)
        for n in range(1, len(texts) + 1)
    ]
    assert ["".join(text.split()) for text in found] == ["".join(text.split()) for text in texts]
    assert numbers([blocks]) == list(range(1, len(numbers([blocks])) + 1))
    for block in blocks:
        assert len(block.sources) == 1 or block.tokens <= 100
        for sized in block.sources:
            source = sized.source
            assert source.page_text[source.start : source.start + len(source.text)] == source.text


@given(TEXTS.filter(any), st.integers(1, 12))
def test_parts_keep_to_the_calls_and_to_the_size_of_a_part(texts: list[str], calls: int) -> None:
    blocks = blocks_of(texts)
    plan = plan_for(blocks, calls)
    assert len(plan.parts) <= calls
    assert all(total(part) <= 800 or len(part) == 1 for part in plan.parts)
    kept = numbers(plan.parts)
    assert kept == sorted(set(kept))
    assert plan.is_whole == (kept == numbers([blocks]))


def test_parts_are_no_larger_than_usual_where_the_calls_suffice() -> None:
    blocks = blocks_of([SENTENCE * 20] * 10)
    assert max(map(total, plan_for(blocks, 40).parts)) <= 400 < max(map(total, plan_for(blocks, 6).parts))


def test_long_document_is_read_at_its_best_matches_and_throughout() -> None:
    blocks = blocks_of([SENTENCE * 20] * 100)
    hit = Passage(document_id="d", page=57, start=0, end=10, text="The quay o")
    plan = plan_for(blocks, 4, [Hit(passage=hit, score=1.0)])
    pages = [block.page for part in plan.parts for block in part]
    assert not plan.is_whole
    assert 57 in pages
    assert min(pages) < 20
    assert max(pages) > 80


@given(TEXTS, st.integers(0, 4000))
def test_thinning_out_stays_within_the_budget_and_keeps_all_that_fits(texts: list[str], budget: int) -> None:
    blocks = blocks_of(texts)
    kept = thin_out(blocks, budget)
    assert total(kept) <= budget
    assert kept == [block for block in blocks if block in kept]
    if total(blocks) <= budget:
        assert kept == blocks


def test_sources_of_different_pages_are_not_joined() -> None:
    sized = [each for block in blocks_of(["One.", "Two."]) for each in block.sources]
    assert [block.page for block in join(sized, 100)] == [1, 2]
    assert len(pack(join(sized, 100), 100)) == 1


def sources(*texts: str) -> list[Source]:
    return [
        Source(number=number, document_id="d", blob_name="a.pdf", page=1, start=0, text=text, page_text=text)
        for number, text in enumerate(texts, 7)
    ]


async def relevant(question: str, *texts: str) -> set[int]:
    return await BestMatches().relevant(question, sources(*texts), CallBudget(0))


async def test_without_a_model_the_passages_that_share_words_are_taken() -> None:
    texts = ("Gulls are loud.", "The quay opens at seven.", "Fees are due in May.")
    assert await relevant("When does the quay open?", *texts) == {8}


async def test_no_more_passages_are_taken_than_a_part_may_give() -> None:
    texts = [f"The quay was repaired in {year}." for year in range(1900, 1920)]
    assert len(await relevant("When was the quay repaired?", *texts)) == BEST_OF_PART


async def test_a_part_that_shares_no_word_gives_its_beginning() -> None:
    assert await relevant("Who invented the telescope?", "Gulls are loud.", "The quay opens at seven.") == {7}
