"""The ranking command: what it writes, and what it refuses to start on."""

import json
from pathlib import Path
from typing import Any

import pytest

from devkit.shared_data import SHARED, needs_shared
from evals.corpus import Gold, Question, read_questions
from evals.retrieval import Figures, RankedPage, main, score

pytestmark = pytest.mark.slow

QUESTIONS = [
    {"id": "q1", "question": "What is the deductible?", "files": ["plan.txt", "garage.txt"], "gold": []},
    {"id": "q2", "question": "Where is the garage?", "files": ["garage.txt"], "gold": []},
]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    for folder, name, text in (
        ("docs", "plan.txt", "The deductible is 500 dollars a year, says the plan."),
        ("docs_more", "garage.txt", "The garage is behind the house and has a gate."),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n", encoding="utf-8")
    return path


def test_a_question_gets_pages_of_its_files_only(questions: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "ranked.jsonl"
    assert main([str(questions), "--output", str(output)]) == 0
    assert read_lines(output) == [
        {"id": "q1", "ranked": [{"file": "plan.txt", "page": 1}]},
        {"id": "q2", "ranked": [{"file": "garage.txt", "page": 1}]},
    ]


def test_no_ranking_is_longer_than_the_depth(questions: Path, tmp_path: Path) -> None:
    output = tmp_path / "ranked.jsonl"
    question = {"id": "q", "question": "garage deductible", "files": ["plan.txt", "garage.txt"]}
    questions.write_text(json.dumps(question), encoding="utf-8")
    assert main([str(questions), "--output", str(output), "--depth", "1"]) == 0
    assert len(json.loads(output.read_text(encoding="utf-8"))["ranked"]) == 1


def test_a_missing_document_is_named_and_nothing_is_written(
    questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "ranked.jsonl"
    output.write_text("from before", encoding="utf-8")
    (tmp_path / "docs_more" / "garage.txt").unlink()
    assert main([str(questions), "--output", str(output)]) == 2
    assert "garage.txt" in capsys.readouterr().err
    assert output.read_text(encoding="utf-8") == "from before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "docs",
        "docs_more",
        "questions.jsonl",
        "ranked.jsonl",
    ]


def test_an_unreadable_document_is_named_and_nothing_is_written(
    questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "plan.pdf").write_bytes(b"%PDF-1.7 and no more")
    questions.write_text('{"id": "q", "question": "?", "files": ["plan.pdf"]}', encoding="utf-8")
    assert main([str(questions), "--output", str(tmp_path / "ranked.jsonl")]) == 2
    assert "plan.pdf" in capsys.readouterr().err
    assert not (tmp_path / "ranked.jsonl").exists()


@pytest.mark.parametrize("line", ["not json", '{"id": "q"}', '{"id": "q", "question": 3, "files": []}'])
def test_a_bad_line_is_reported_by_its_number(
    questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    questions.write_text(json.dumps(QUESTIONS[0]) + "\n" + line + "\n", encoding="utf-8")
    assert main([str(questions), "--output", str(tmp_path / "ranked.jsonl")]) == 2
    assert "line 2" in capsys.readouterr().err


def test_a_missing_question_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.jsonl"), "--output", str(tmp_path / "ranked.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(
    ("name", "first", "among_five", "reciprocal_rank"),
    [("questions.jsonl", 0.78, 0.95, 0.86), ("questions_multilingual.jsonl", 0.86, 1.0, 0.9)],
)
def test_the_open_set_is_ranked_well_and_in_scope(
    tmp_path: Path, name: str, first: float, among_five: float, reciprocal_rank: float
) -> None:
    source = SHARED / "data" / "open" / name
    assert main([str(source), "--output", str(tmp_path / "ranked.jsonl")]) == 0
    ranked = [line["ranked"] for line in read_lines(tmp_path / "ranked.jsonl")]
    questions = read_questions(source)
    for question, pages in zip(questions, ranked, strict=True):
        assert {page["file"] for page in pages} <= set(question.files)
    figures = score(questions, ranked)
    assert figures.first >= first
    assert figures.among_five >= among_five
    assert figures.reciprocal_rank >= reciprocal_rank


def test_every_needed_page_counts_and_alternatives_count_once() -> None:
    gold = [Gold(file="a", page=page, group=group) for page, group in ((1, 1), (9, 1), (2, 2))]
    question = Question(id="q", question="?", files=["a"], gold=gold)
    pages = [RankedPage(file="a", page=page) for page in (1, 7, 8, 5, 6, 2)]
    assert score([question], [pages]) == Figures(0.5, 0.5, 1.0)


def test_scores_count_the_first_right_page() -> None:
    questions = [
        Question(id=str(n), question="?", files=["a"], gold=[Gold(file="a", page=page)])
        for n, page in enumerate((1, 2, 9))
    ]
    pages: list[RankedPage] = [{"file": "a", "page": page} for page in (1, 2, 3)]
    assert score(questions, [pages] * 3) == Figures(1 / 3, 2 / 3, 0.5)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
