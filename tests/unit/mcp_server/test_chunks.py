"""How a document is cut into parts: nothing lost, nothing twice, and never more calls than allowed."""

from hypothesis import given
from hypothesis import strategies as st

from core.models import Hit, Page, Passage
from mcp_server.tools.chunks import Part, Plan, Stretch, cut, join, pack, plan_parts, thin_out, total
from tests.unit.mcp_server.stand_ins import FakeLibrary

SENTENCE = "The quay opens at seven and the harbour master keeps the key of it all day long. "
TEXTS = st.lists(st.integers(0, 60).map(lambda times: (SENTENCE * times).strip()), min_size=1, max_size=30)


def stretches_of(texts: list[str], part_tokens: int = 400) -> list[Stretch]:
    document = FakeLibrary().add("a.pdf", *texts)
    pages = [Page(number=number, text=text) for number, text in enumerate(texts, 1)]
    return cut(document, pages, part_tokens, lambda text: len(text.split()))


def numbers(parts: list[Part]) -> list[int]:
    return [sized.source.number for part in parts for stretch in part for sized in stretch.sources]


def plan_for(stretches: list[Stretch], calls: int, best: list[Hit] | None = None) -> Plan:
    return plan_parts(stretches, best or [], calls=calls, usual=400, largest=800)


@given(TEXTS)
def test_all_of_the_text_is_cut_in_order_into_sources_of_one_page(texts: list[str]) -> None:
    stretches = stretches_of(texts)
    found = [
        "".join(s.source.text for t in stretches if t.page == n for s in t.sources)
        for n in range(1, len(texts) + 1)
    ]
    assert ["".join(text.split()) for text in found] == ["".join(text.split()) for text in texts]
    assert numbers([stretches]) == list(range(1, len(numbers([stretches])) + 1))
    for stretch in stretches:
        assert len(stretch.sources) == 1 or stretch.tokens <= 100
        for sized in stretch.sources:
            source = sized.source
            assert source.page_text[source.start : source.start + len(source.text)] == source.text


@given(TEXTS.filter(any), st.integers(1, 12))
def test_parts_keep_to_the_calls_and_to_the_size_of_a_part(texts: list[str], calls: int) -> None:
    stretches = stretches_of(texts)
    plan = plan_for(stretches, calls)
    assert len(plan.parts) <= calls
    assert all(total(part) <= 800 or len(part) == 1 for part in plan.parts)
    kept = numbers(plan.parts)
    assert kept == sorted(set(kept))
    assert plan.is_whole == (kept == numbers([stretches]))


def test_parts_are_no_larger_than_usual_where_the_calls_suffice() -> None:
    stretches = stretches_of([SENTENCE * 20] * 10)
    assert (
        max(map(total, plan_for(stretches, 40).parts)) <= 400 < max(map(total, plan_for(stretches, 6).parts))
    )


def test_where_not_all_can_be_read_the_best_matches_are_and_the_rest_from_all_over() -> None:
    stretches = stretches_of([SENTENCE * 20] * 100)
    hit = Passage(document_id="d", page=57, start=0, end=10, text="The quay o")
    plan = plan_for(stretches, 4, [Hit(passage=hit, score=1.0)])
    pages = [stretch.page for part in plan.parts for stretch in part]
    assert not plan.is_whole
    assert 57 in pages
    assert min(pages) < 20
    assert max(pages) > 80


@given(TEXTS, st.integers(0, 4000))
def test_thinning_out_stays_within_the_budget_and_keeps_all_that_fits(texts: list[str], budget: int) -> None:
    stretches = stretches_of(texts)
    kept = thin_out(stretches, budget)
    assert total(kept) <= budget
    assert kept == [stretch for stretch in stretches if stretch in kept]
    if total(stretches) <= budget:
        assert kept == stretches


def test_sources_of_different_pages_are_not_joined() -> None:
    sized = [each for stretch in stretches_of(["One.", "Two."]) for each in stretch.sources]
    assert [stretch.page for stretch in join(sized, 100)] == [1, 2]
    assert len(pack(join(sized, 100), 100)) == 1
