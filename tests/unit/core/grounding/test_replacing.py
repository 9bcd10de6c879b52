"""Sentences replaced in place: what is around them stays, and every mark points at its marker."""

from hypothesis import given
from hypothesis import strategies as st

from core.grounding.citations import CUT_NOTE, CitationWriter, mark_truncated, marker_text
from core.grounding.models import Citation, Grounding, written_marks
from core.grounding.replacing import (
    Replacement,
    checked_again,
    is_safe,
    removal,
    replace,
    rewritten,
    statements,
)
from core.grounding.sources import Source

PAGES = ["The fee is 10. Families pay 15.", "Dogs are welcome. Cats pay 3."]
SOURCES = [
    Source(number=n, document_id="d", blob_name="a.pdf", page=n, start=0, text=text, page_text=text)
    for n, text in enumerate(PAGES, 1)
]
ONE, TWO = '[Page 1 of Document "a.pdf"]', '[Page 2 of Document "a.pdf"]'


def checked(text: str) -> tuple[str, list[Citation], Grounding]:
    writer = CitationWriter(SOURCES)
    return (writer.feed(text) + writer.finish()).strip(), writer.citations, writer.grounding


def shown(text: str) -> str:
    return checked(text)[0]


SENTENCES = st.sampled_from(
    ["The fee is 10", "Families pay 15", "Dogs are welcome", "Cats pay 3", "The fee is 77", "Cats pay 88"]
)
JOINTS = st.sampled_from([" ", "\n\n", "\n- ", " 🚢 ", " e\u0301x ", "\n1. ", "\n\n## Fees\n\n", ", and "])
MARKERS = st.sampled_from([". [S1]", " [S2].", ". [S1][S2]", ". [S1] [S2]", ".", " [S1] per day."])
ANSWERS = st.lists(st.tuples(SENTENCES, MARKERS, JOINTS), min_size=1, max_size=8).map(
    lambda parts: "🧭 " + "".join("".join(part) for part in parts)
)


def assert_marked(answer: str, citations: list[Citation]) -> None:
    for written in written_marks(citations):
        assert answer[written.mark.start : written.mark.end] == marker_text(written.citation)


@given(ANSWERS)
def test_statements_are_apart_and_each_marker_is_in_one(text: str) -> None:
    answer, citations, _ = checked(text)
    found = statements(answer, citations)
    assert [mark for each in found for mark in each.marks] == written_marks(citations)
    end = 0
    for each in found:
        assert end <= each.start < each.end <= len(answer)
        assert all(each.start <= written.mark.start < written.mark.end <= each.end for written in each.marks)
        end = each.end


@given(
    ANSWERS,
    st.sampled_from(["The fee is 10. [S1]", "Cats 🐈 pay 3 [S2].", "x\u0301 is 15 [S1][S2]"]),
    st.data(),
)
def test_all_around_a_replaced_sentence_stays(text: str, said: str, data: st.DataObject) -> None:
    answer, citations, before = checked(text)
    found = statements(answer, citations)
    if not found:
        return
    place = data.draw(st.sampled_from(found))
    new = rewritten(place, said, SOURCES, "")
    if new is None:
        assert said.startswith(place.text), "only the same sentence is no correction"
        return
    replaced = replace(answer, citations, new)
    assert replaced is not None
    revised, cited = replaced
    assert revised == answer[: place.start] + new.text + answer[place.end :]
    assert_marked(revised, cited)
    others = [each for each in written_marks(citations) if each not in place.marks]
    assert len(written_marks(cited)) == len(others) + len(written_marks(new.citations))
    first = [each.marks[0].start for each in cited]
    assert first == sorted(first)
    after = checked_again(revised, cited, before)
    assert after.citations == len(cited)
    assert after.differs == sum(each.check == "differs" for each in cited)


@given(ANSWERS, st.data())
def test_a_removal_takes_one_statement_and_its_bullet(text: str, data: st.DataObject) -> None:
    answer, citations, _ = checked(text)
    found = statements(answer, citations)
    if len(found) < 2:
        return
    place = data.draw(st.sampled_from(found))
    replaced = replace(answer, citations, removal(answer, place))
    assert replaced is not None
    revised, cited = replaced
    assert_marked(revised, cited)
    rest = f"{answer[: place.start]}{answer[place.end :]}"
    assert [c for c in revised if c.isalpha()] == [c for c in rest if c.isalpha()]
    assert revised == revised.strip()
    assert len(written_marks(cited)) == len(written_marks(citations)) - len(place.marks)


def test_removals_in_lists_tables_and_paragraphs() -> None:
    def without(text: str, number: int) -> str:
        answer, citations, _ = checked(text)
        replaced = replace(answer, citations, removal(answer, statements(answer, citations)[number]))
        assert replaced is not None
        return replaced[0].replace(ONE, "[S1]")

    fee, families = "The fee is 10. [S1]", "Families pay 15. [S1]"
    assert without(f"{fee} {families}", 0) == families
    assert without(f"{fee} {families}", 1) == fee
    assert without(f"{fee}\n\n{families}", 0) == families
    assert without(f"All:\n\n- {fee}\n- {families}\n- {fee}", 1) == f"All:\n\n- {fee}\n- {fee}"
    table = "| who | pays |\n|---|---|\n| all | 10 [S1] |\n| families | 15 [S1] |"
    assert without(table, 0) == table.replace("| all | 10 [S1] |\n", "")
    assert without(f"{fee}\n\n{families} Then {fee}", 1) == f"{fee}\n\nThen {fee}"


def test_a_row_of_a_table_is_replaced_by_a_row_with_as_many_cells() -> None:
    answer, citations, _ = checked("| who | pays |\n|---|---|\n| fee | 12 [S1] |\n| cats | 3 [S2] |")
    row = statements(answer, citations)[0]
    new = rewritten(row, "| fee | 10 [S1] |", SOURCES, "")
    assert new is not None
    assert new.text == f"| fee | 10 {ONE} |"
    assert rewritten(row, "| fee | 10 [S1] | day |", SOURCES, "") is None
    assert rewritten(row, "The fee is 10. [S1]", SOURCES, "") is None


def test_what_would_change_the_markdown_around_it_is_not_put_in_place() -> None:
    answer, citations, _ = checked("The fee is 77. [S1] Call `a <img src=x> b` now.")
    [fee] = statements(answer, citations)
    new = rewritten(fee, "The fee is ` 10. [S1]", SOURCES, "")
    assert new is not None
    changed = replace(answer, citations, new)
    assert changed is not None
    assert is_safe(answer, citations)
    assert not is_safe(*changed)
    assert replace(answer, citations, Replacement(fee.start, fee.end)) is None


def test_a_marker_before_brackets_does_not_become_a_link() -> None:
    answer, citations, _ = checked("The fee is 77 [S1]\n(Cats pay 3. [S2])")
    place = statements(answer, citations)[0]
    new = Replacement(place.start, answer.index("("), shown("The fee is 10. [S1]"), place.citations[:0])
    replaced = replace(answer, citations, new)
    assert replaced is not None
    assert f"{ONE} (Cats" in replaced[0]


def test_the_checks_of_what_has_stayed_are_those_from_before() -> None:
    wrong = "Fees\n\nThe fee is 77. [S1] Cats pay 3. [S2] Cats pay 88. [S2]"
    text = f"{wrong} They sleep.\n\n- Families pay 15 [S1]."
    answer, citations, before = checked(text)
    assert checked_again(answer, citations, before) == before
    cut = mark_truncated(before, 100)
    assert checked_again(f"{answer}{CUT_NOTE}", citations, cut).objections[-1].code == "uncited"
    fee = statements(answer, citations)[0]
    new = rewritten(fee, "The fee is 10. [S1]", SOURCES, "")
    assert new is not None
    replaced = replace(answer, citations, new)
    assert replaced is not None
    assert checked_again(*replaced, before) == checked(text.replace("77", "10"))[2]
    assert not checked_again(*replaced, cut).grounded


def test_a_link_to_a_cited_web_page_is_as_safe_as_before() -> None:
    page = Source(
        number=3,
        document_id="w",
        blob_name="Fees",
        page=1,
        start=0,
        text=PAGES[0],
        page_text=PAGES[0],
        url="https://example.org/fees",
    )
    writer = CitationWriter([*SOURCES, page])
    text = "The fee is 10. [S3] See [the fees](https://example.org/fees). Cats pay 88. [S2]"
    answer = (writer.feed(text) + writer.finish()).strip()
    assert "](https://example.org/fees)" in answer
    assert is_safe(answer, writer.citations)
    assert not is_safe(answer.replace("example.org", "evil.example"), writer.citations)
