"""What the report of the shown passages says of given ones, and how quotes are looked up."""

from pathlib import Path

import pytest

from devkit.shared_data import HANDBOOK
from evals.asking import Shown
from evals.corpus import Gold, Question, find_documents, read_questions
from evals.page_texts import PageTexts
from evals.passages import SETS, Checked, Results, main, markdown
from orc.events import AnswerKind
from orc_core.grounding.models import Citation

QUESTION = Question(id="q1", question="How long?", files=["a.pdf"], gold=[Gold(file="a.pdf", page=3)])
UNSEEN = [path for path in SETS if path.parent.parent.name == "unseen"]


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


def shown(*citations: Citation, kind: AnswerKind = "closest_passages", kept: bool = True) -> Shown:
    return Shown(QUESTION, "Ten days.", kind, list(citations), kept)


def results_of(*found: bool | None) -> Results:
    """Three questions: pages 9 and 3 are shown for the first, nothing and an answer for the others."""
    first = shown(citation(9), citation(9), citation(3, verified=False))
    checked = [Checked(first, c, f) for c, f in zip(first.citations[1:], found, strict=True)]
    return Results("mine", [first, shown(kind="not_found"), shown(kind="answer", kept=False)], checked)


def test_recall_counts_pages_and_not_citations() -> None:
    shares = {share.name: (share.count, share.total, share.ok) for share in results_of(True, False).shares()}
    assert shares == {
        "recall@1": (0, 3, None),
        "recall@3": (1, 3, None),
        "recall@5": (1, 3, None),
        "evidence shown": (0, 0, None),
        "nothing shown": (2, 3, None),
        "given as answers": (1, 3, False),
        "citations verified": (1, 2, False),
        "quotes on the page": (1, 2, False),
        "kept after reload": (2, 3, False),
    }
    assert [shown(citation(9), citation(3)).has_page(depth) for depth in (1, 2)] == [False, True]


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        (["ten DAYS"], True),
        (["Ten | days"], True),
        (["Ten days", "of leave"], False),
        (["Ten | weeks"], False),
    ],
)
def test_evidence_is_shown_if_the_quotes_have_each_text(evidence: list[str], found: bool) -> None:
    asked = QUESTION.model_copy(update={"evidence_texts": evidence})
    given = Shown(asked, "Ten days.", "closest_passages", [citation(3)], True)
    assert given.has_evidence == found


def test_a_quote_that_cannot_be_looked_up_does_not_count() -> None:
    shares = {share.name: share for share in results_of(True, None).shares()}
    assert (shares["quotes on the page"].count, shares["quotes on the page"].total) == (1, 1)


def test_the_report_lists_failures() -> None:
    text = markdown([results_of(True, False)])
    assert "| mine | 0.0 % | 33.3 % | 33.3 % |  | 66.7 % | 33.3 % |" in text
    assert "## Not found on the page\n\n- `q1` a.pdf, page 3: `Ten days.`" in text


def test_a_missing_question_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.jsonl"), "--output", str(tmp_path / "out")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", UNSEEN, ids=lambda path: path.parent.name)
def test_every_question_about_an_unseen_document_names_it_its_pages_and_evidence(path: Path) -> None:
    questions = read_questions(path)
    assert len({question.id for question in questions}) == len(questions) >= 150
    assert all(question.gold and question.evidence_texts for question in questions)
    assert set(find_documents(path.parent, questions)) == {
        each.name for each in (path.parent / "docs").iterdir()
    }


@pytest.mark.slow
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
