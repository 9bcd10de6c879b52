"""What the report of the answers says of given answers, and how quotes are looked up."""

import json
from pathlib import Path

import pytest

from core.grounding.models import Citation
from devkit.shared_data import HANDBOOK
from evals.answering import Answered
from evals.answers import Checked, Results, main, markdown, read_certain
from evals.corpus import Gold, Question, half_of
from evals.page_texts import PageTexts
from orc.events import AnswerKind

QUESTION = Question(id="q1", question="How long?", files=["a.pdf"], gold=[Gold(file="a.pdf", page=3)])


def citation(page: int, *, verified: bool = True) -> Citation:
    return Citation(
        document_id="d",
        blob_name="a.pdf",
        page=page,
        page_id=f"d.p{page}",
        quote="Ten\ndays.",
        start=0,
        end=9,
        check="quoted" if verified else "reworded",
    )


def answered(*citations: Citation, kind: AnswerKind = "answer", kept: bool = True) -> Answered:
    return Answered(QUESTION, "Ten days.", kind, list(citations), kept)


def results_of(*found: bool | None) -> Results:
    """Three questions with an answer and two without; the first answer cites pages 3 and 4."""
    first = answered(citation(3), citation(4, verified=False))
    checked = [Checked(first, c, f) for c, f in zip(first.citations, found, strict=True)]
    without = [answered(kind="not_found"), answered(kept=False)]
    return Results([first, answered(kind="not_found"), answered()], without, checked)


def test_shares_count_answers_and_citations() -> None:
    shares = {share.name: (share.count, share.total, share.ok) for share in results_of(True, False).shares()}
    assert shares == {
        "no quote and no passage of a right page": (2, 3, False),
        "answerable, not answered directly": (1, 3, None),
        "unanswerable, not answered directly": (1, 2, False),
        "direct answers with the evidence": (0, 0, None),
        "answerable, evidence shown": (0, 0, None),
        "citations verified": (1, 2, False),
        "quotes on the cited page": (1, 2, False),
        "cited page is a gold page": (1, 2, None),
        "citations kept after reload": (4, 5, False),
    }


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        (["ten DAYS"], True),
        (["Ten | days"], True),
        (["Ten days", "of leave"], False),
        (["Ten | weeks"], False),
    ],
)
def test_an_answer_has_the_evidence_if_its_quotes_have_each_text(evidence: list[str], found: bool) -> None:
    asked = QUESTION.model_copy(update={"evidence_texts": evidence})
    given = Answered(asked, "Ten days.", "answer", [citation(3)], True)
    assert given.has_evidence == found
    shares = {share.name: (share.count, share.total) for share in Results([given], [], []).shares()}
    assert shares["direct answers with the evidence"] == (int(found), 1)


def test_each_question_ends_in_one_way_in_the_half_of_its_document() -> None:
    closest = [answered(citation(page), kind="closest_passages") for page in (3, 9)]
    given = [answered(citation(3)), answered(citation(9)), *closest, answered(kind="not_found")]
    outcomes = Results(given, [answered(), *closest], []).outcomes()
    assert half_of(QUESTION) == "tuning"
    assert {name: (count["tuning"], count["held out"]) for name, count in outcomes.items()} == {
        "answered, right page": (1, 0),
        "answered, other page": (1, 0),
        "closest passages with a right page": (1, 0),
        "closest passages without one": (1, 0),
        "refused": (1, 0),
        "unanswerable: answered": (1, 0),
        "unanswerable: closest passages": (2, 0),
        "unanswerable: refused": (0, 0),
    }


def test_a_question_belongs_to_the_half_of_its_document() -> None:
    halves = {
        half_of(QUESTION.model_copy(update={"gold": [Gold(file=f"{n}.pdf", page=1)]})) for n in range(9)
    }
    assert halves == {"tuning", "held out"}
    without = [Question(id=f"q{n}", question="?", files=["a.pdf", "b.pdf"]) for n in range(9)]
    assert {half_of(question) for question in without} == halves


def test_a_quote_that_cannot_be_looked_up_does_not_count() -> None:
    shares = {share.name: share for share in results_of(True, None).shares()}
    assert (shares["quotes on the cited page"].count, shares["quotes on the cited page"].total) == (1, 1)


def test_the_report_lists_failures() -> None:
    results = results_of(True, False)
    text = markdown(results, results.shares())
    assert "| no quote and no passage of a right page | 2 of 3 | 66.7 % | <= 15 % | not ok |" in text
    assert "## Not found on the page\n\n- `q1` a.pdf, page 4: `Ten days.`" in text


def test_uncertain_questions_are_left_out(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"id": str(c), "question": "?", "files": [], "certain": c} for c in (True, False)
    ]
    path = tmp_path / "unanswerable.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert [question.id for question in read_certain(path)] == ["True"]


def test_a_missing_question_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.jsonl"), "--output", str(tmp_path / "out")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Helmet, safety\nshoes and a high-visibility vest", True),
        ("Helmet, safe-\nty shoes", True),
        ("Helmet, safety boots", False),
    ],
)
def test_quotes_are_looked_up_on_their_own_page(quote: str, found: bool) -> None:
    pages = PageTexts({"handbook.pdf": HANDBOOK})
    holding = [page for page in range(1, 17) if pages.has("handbook.pdf", page, quote)]
    assert holding == ([11] if found else [])


def test_only_pdf_files_are_looked_up() -> None:
    assert PageTexts({"a.txt": Path("a.txt")}).has("a.txt", 1, "anything") is None
