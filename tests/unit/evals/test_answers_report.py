"""What the report of the answers says of given answers, and how quotes are looked up."""

import json
from pathlib import Path

import pytest

from core.grounding.models import Citation
from devkit.shared_data import HANDBOOK
from evals.answering import Answered
from evals.answers import Checked, Results, main, markdown, read_certain
from evals.corpus import Gold, Question
from evals.page_texts import PageTexts

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
        verified=verified,
    )


def answered(*citations: Citation, refused: bool = False, kept: bool = True) -> Answered:
    return Answered(QUESTION, "Ten days.", refused, list(citations), kept)


def results_of(*found: bool | None) -> Results:
    """Three questions with an answer and two without; the first answer cites pages 3 and 4."""
    first = answered(citation(3), citation(4, verified=False))
    checked = [Checked(first, c, f) for c, f in zip(first.citations, found, strict=True)]
    without = [answered(refused=True), answered(kept=False)]
    return Results([first, answered(refused=True), answered()], without, checked)


def test_shares_count_answers_and_citations() -> None:
    shares = {share.name: (share.count, share.total, share.ok) for share in results_of(True, False).shares()}
    assert shares == {
        "answerable, but refused": (1, 3, False),
        "unanswerable, and refused": (1, 2, False),
        "citations verified": (1, 2, False),
        "quotes on the cited page": (1, 2, False),
        "cited page is a gold page": (1, 2, None),
        "citations kept after reload": (4, 5, False),
    }


def test_a_quote_that_cannot_be_looked_up_does_not_count() -> None:
    shares = {share.name: share for share in results_of(True, None).shares()}
    assert (shares["quotes on the cited page"].count, shares["quotes on the cited page"].total) == (1, 1)


def test_the_report_lists_failures() -> None:
    results = results_of(True, False)
    text = markdown(results, results.shares())
    assert "| answerable, but refused | 1 of 3 | 33.3 % | <= 10 % | not ok |" in text
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
