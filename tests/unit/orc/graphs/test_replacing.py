"""Sentences replaced in place: what is around them stays, and every mark points at its marker."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc.graphs.rewriting import Rebuilt, Replacement, rebuilt, removal, rewritten, statements
from orc_core.grounding.citations import CUT_NOTE, CitationWriter
from orc_core.grounding.models import Citation, Grounding, WrittenMark, written_marks
from orc_core.grounding.sources import Source

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
MARKERS = st.sampled_from(
    [". [S1]", " [S2].", ". [S1][S2]", ". [S1] [S2]", ".", " [S1] per day.", ". [none]", " [talk]."]
)
ANSWERS = st.lists(st.tuples(SENTENCES, MARKERS, JOINTS), min_size=1, max_size=8).map(
    lambda parts: "🧭 " + "".join("".join(part) for part in parts)
)


def assert_marked(answer: str, citations: list[Citation]) -> None:
    for written in written_marks(citations):
        assert answer[written.mark.start : written.mark.end] == written.citation.marker


@pytest.mark.slow
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


MARK = r" ?\[Page [^\]]*\]"
"""A shown mark: its page, and what is not there."""


def replaced(text: str, *new: Replacement) -> Rebuilt:
    """A checked text with these replacements."""
    answer, citations, before = checked(text)
    return rebuilt(answer, citations, new, SOURCES, "", before)


@pytest.mark.slow
@given(ANSWERS)
def test_an_answer_without_replacements_is_the_same_again(text: str) -> None:
    answer, citations, grounding = checked(text)
    assert replaced(text) == Rebuilt(answer, citations, grounding)


@pytest.mark.slow
@given(
    ANSWERS,
    st.sampled_from(["The fee is 10. [S1]", "Cats 🐈 pay 3 [S2].", "x\u0301 is 15. [S1][S2]"]),
    st.data(),
)
def test_all_around_a_replaced_sentence_stays(text: str, said: str, data: st.DataObject) -> None:
    answer, citations, _ = checked(text)
    found = statements(answer, citations)
    if not found:
        return
    place = data.draw(st.sampled_from(found))
    new = rewritten(place, said, SOURCES, "")
    if new is None:
        assert said.startswith(place.text), "only the same sentence is no correction"
        return
    revised, cited, after = replaced(text, new)
    assert revised.startswith(answer[: place.start])
    # A mark that covered the replaced sentence too may name another page and other numbers now.
    assert re.sub(MARK, "", revised).endswith(re.sub(MARK, "", answer[place.end :]))
    assert_marked(revised, cited)
    others = [each for each in written_marks(citations) if each not in place.marks]
    assert of_model(written_marks(cited)) == of_model(others) + of_model(written_marks(new.citations))
    assert after.citations == len(cited)
    assert after.differs == sum(each.check == "differs" for each in cited)


def of_model(marks: Sequence[WrittenMark]) -> int:
    """How many marks the model has written: code may find the source of what is left."""
    return sum(not each.citation.by_code for each in marks)


@pytest.mark.slow
@given(ANSWERS, st.data())
def test_a_removal_takes_one_statement_and_its_bullet(text: str, data: st.DataObject) -> None:
    answer, citations, _ = checked(text)
    found = statements(answer, citations)
    if len(found) < 2:
        return
    place = data.draw(st.sampled_from(found))
    revised, cited, _ = replaced(text, removal(answer, place))
    assert_marked(revised, cited)
    assert revised == revised.strip()
    assert of_model(written_marks(cited)) == of_model(written_marks(citations)) - of_model(place.marks)


def test_removals_in_lists_tables_and_paragraphs() -> None:
    def without(text: str, *numbers: int) -> str:
        answer, citations, _ = checked(text)
        found = statements(answer, citations)
        revised = replaced(text, *(removal(answer, found[number]) for number in numbers)).answer
        return revised.replace(ONE, "[S1]")

    fee, families = "The fee is 10. [S1]", "Families pay 15. [S1]"
    assert without(f"{fee} {families}", 0) == families
    assert without(f"{fee} {families}", 1) == fee
    assert without(f"{fee}\n\n{families}", 0) == families
    assert without(f"All:\n\n- {fee}\n- {families}\n- {fee}", 1) == f"All:\n\n- {fee}\n- {fee}"
    assert without(f"All:\n\n- {fee}\n- {families}\n- {fee}", 1, 2) == f"All:\n\n- {fee}"
    assert without(f"- {fee}\n- {fee}\n  {families}", 1) == f"- {fee}\n- {families}"
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


def test_what_changes_the_markdown_around_it_is_made_safe_with_it() -> None:
    text = "The fee is 77. [S1] Call `a <img src=x> b` now.\n\nCats pay 88. [S2]"
    fee, cats = statements(*checked(text)[:2])
    new = [
        rewritten(fee, "The fee is ` 10. [S1]", SOURCES, ""),
        rewritten(cats, "Cats pay 3. [S2]", SOURCES, ""),
    ]
    revised, _, grounding = replaced(text, *filter(None, new))
    assert revised == f"The fee is ` 10. {ONE} Call `a < img src=x> b` now.\n\nCats pay 3. {TWO}"
    assert grounding.differs == 0


def test_other_objections_and_the_end_of_a_cut_answer_stay() -> None:
    text = "The fee is 77. [S1] It sleeps [S7].\n\n- Families pay 15 [S1]."
    writer = CitationWriter(SOURCES)
    answer = writer.feed(text) + writer.finish()
    citations = writer.citations
    writer.cut(100)
    new = rewritten(statements(answer, citations)[0], "The fee is 10. [S1]", SOURCES, "")
    assert new is not None
    revised, _, after = rebuilt(f"{answer}{CUT_NOTE}", citations, [new], SOURCES, "", writer.grounding)
    assert revised == f"{answer}{CUT_NOTE}".replace("77", "10").replace(": 10 is not there", "")
    assert [each.code for each in after.objections] == ["unknown_source", "cut", "uncited"]
    assert not after.grounded


def test_verdicts_of_a_judge_stay_with_their_sentences() -> None:
    text = "All pay ten in the end. [S1] The fee is 77. [S1] Dogs may come in. [S2]"
    answer, citations, before = checked(text)
    verdicts = {1: {"check": "supported"}, 2: {"check": "unsupported", "reason": "No."}}
    judged = [
        each.model_copy(update=verdicts[each.page]) if each.check == "reworded" else each
        for each in citations
    ]
    new = rewritten(statements(answer, citations)[1], "The fee is 10. [S1]", SOURCES, "")
    assert new is not None
    made = rebuilt(answer, judged, [new], SOURCES, "", before)
    assert [(each.check, each.reason) for each in made.citations] == [
        ("supported", ""),
        ("quoted", ""),
        ("unsupported", "No."),
    ]
    assert (made.grounding.supported, made.grounding.unsupported, made.grounding.grounded) == (1, 1, False)
