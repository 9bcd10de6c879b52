"""The questions, outcomes, figures and the report of a trial."""

import re
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from orc.trial.outcomes import (
    ExpectedPage,
    Outcome,
    Question,
    append,
    by_label,
    figures,
    latest,
    read_outcomes,
    read_questions,
    to_ask,
)
from orc.trial.report import as_html, as_json
from orc_core.errors import InvalidInput
from orc_core.grounding.citations import NO_SUCH_SOURCE
from orc_core.grounding.models import Citation, CitationCheck, Mark, Rectangle
from orc_core.models import Usage

LEAVE = Question(
    id="leave",
    question="How much <b>leave</b>?",
    gold=[ExpectedPage(file="a.pdf", page=5)],
    evidence_texts=["28 working days|every year"],
)
OTHER = Question(id="other", question="What else?")


def citation(quote: str, page: int = 5, check: CitationCheck = "quoted", start: int = 11) -> Citation:
    mark = Mark(start=start, end=start + 4)
    rectangle = Rectangle(left=0.1, top=0.2, right=0.6, bottom=0.25)
    return Citation(
        document_id="d",
        blob_name="a.pdf",
        page=page,
        page_id="d.p5",
        quote=quote,
        start=0,
        end=len(quote),
        check=check,
        marks=[mark],
        rectangles=[rectangle],
    )


def outcome(answer: str = "You get 28 [p5].", **fields: object) -> Outcome:
    cited = [citation("28 working days, every year.")]
    return Outcome.model_validate(
        {"label": "a model", "asked": LEAVE, "answer": answer, "citations": cited, "standing": 1} | fields
    )


def figure_of(outcomes: list[Outcome], name: str) -> str:
    return next(each.shown for each in figures(outcomes) if each.name.startswith(name))


def test_the_shipped_questions_name_a_page_and_a_fact() -> None:
    questions = read_questions(ROOT / "examples" / "trial.jsonl")
    assert len(questions) >= 8
    assert all(each.gold and each.evidence_texts and each.files for each in questions)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id": "1", "question": "Why?"}\n{"id": "2"}', "line 2 is no question. One is written: {"),
        ('{"id": "1", "question": "Why?"}\nWhy?', "line 2 is no question"),
        ('{"id": "1", "question": "Why?"}\n\n{"id": "1", "question": "How?"}', "the id 1 is used twice"),
        ("\n", "has no questions"),
    ],
)
def test_what_is_wrong_with_a_file_of_questions_is_said(tmp_path: Path, text: str, problem: str) -> None:
    (file := tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(InvalidInput, match=re.escape(problem)):
        read_questions(file)


def test_an_expected_fact_is_in_one_of_the_cited_places() -> None:
    apart = [citation("28 working days"), citation("every year")]
    assert outcome().in_place
    assert not outcome(citations=apart).in_place
    assert outcome(asked=OTHER).in_place is None


def test_the_expected_page_counts_in_its_own_file_only() -> None:
    assert outcome().on_page
    assert not outcome(citations=[citation("28", page=4)]).on_page
    assert outcome(asked=OTHER).on_page is None


@pytest.mark.parametrize(
    "bracket", ["[1]", "[Source 2]", "【3】", "(Source 1)", "(S1)", "[Page 5]", '[S1: "28 days"]', "[3.1]"]
)
def test_a_bracket_that_looks_like_a_citation_is_not_read(bracket: str) -> None:
    assert len(outcome(f"You get 28 {bracket}.", citations=[]).unread) == 1


@pytest.mark.parametrize("text", ["(2 of them)", "[sic]", "[28 days](#leave)", "(see page 5)"])
def test_other_brackets_are_no_citations(text: str) -> None:
    assert outcome(f"You get 28 {text}.", citations=[]).unread == []


def test_a_source_that_was_not_shown_is_not_read_and_a_marker_is() -> None:
    found = outcome(f"You get 28 [p5]. Or 30 {NO_SUCH_SOURCE}.")
    assert (found.markers, found.unread) == (1, [NO_SUCH_SOURCE])
    assert figure_of([found], "format kept") == "1 of 2 (50%)"


def test_figures_leave_out_what_was_not_expected_or_not_answered() -> None:
    failed = outcome(error="No answer.", answer="", citations=[], standing=0)
    asked = [outcome(), outcome(asked=OTHER, citations=[]), failed]
    assert figure_of(asked, "turns with an answer") == "2 of 3 (67%)"
    assert figure_of(asked, "the expected page") == "1 of 1 (100%)"
    assert figure_of(asked, "answers with a citation") == "1 of 2 (50%)"
    assert figure_of(asked, "citations: quoted") == "1 of 1 (100%)"


def test_costs_are_shown_only_if_all_are_known() -> None:
    used = outcome(cost_usd=0.25, usage=Usage(model_calls=2, input_tokens=1500))
    assert figure_of([used, used], "cost") == "0.5 USD"
    assert figure_of([used, outcome()], "cost") == "-"
    assert figure_of([used, used], "tokens read") == "1,500"


def test_a_second_run_asks_what_failed_what_is_new_and_what_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    append(path, outcome())
    append(path, outcome(asked=OTHER, error="No answer."))
    done = latest(read_outcomes(path))
    assert to_ask([LEAVE, OTHER], done, "a model") == [OTHER]
    assert to_ask([LEAVE], done, "another model") == [LEAVE]
    changed = LEAVE.model_copy(update={"question": "And now?"})
    assert to_ask([changed], done, "a model") == [changed]


def test_a_line_that_was_not_written_whole_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    append(path, outcome())
    path.write_text(path.read_text() + outcome(asked=OTHER).model_dump_json()[:40])
    append(path, outcome(label="b"))
    assert [(each.label, each.asked.id) for each in read_outcomes(path)] == [
        ("a model", "leave"),
        ("b", "leave"),
    ]


def test_the_report_is_one_file_with_marks_pages_and_no_markup_of_others() -> None:
    found = [outcome(), outcome(label="<i>b</i>")]
    rows = {label: figures(each) for label, each in by_label(found).items()}
    html = as_html(found, rows, lambda name, page: b"RIFF" if page == 5 else None)
    assert 'You get 28 <mark class="quoted"> [p5' not in html
    assert '<mark class="quoted">[p5]</mark>' in html
    assert html.count('src="data:image/webp;base64,UklGRg=="') == 2
    assert 'style="left:10.00%;top:20.00%;width:50.00%;height:5.00%"' in html
    assert "<b>leave" not in html
    assert "<i>b" not in html
    assert not re.search(r"https?://|<script|<link", html)


def test_the_json_has_the_figures_of_each_label() -> None:
    row = figures([outcome()])
    shown = as_json({"a": row})
    assert '"name": "the expected page is cited",\n      "value": 1,\n      "of": 1' in shown


def test_an_answer_with_other_ends_of_lines_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    append(path, Outcome(label="m", asked=LEAVE, answer="one\u2028two\u0085three"))
    append(path, Outcome(label="m", asked=OTHER, answer="four"))
    assert [each.answer for each in read_outcomes(path)] == ["one\u2028two\u0085three", "four"]
