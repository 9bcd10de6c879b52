"""The report: what each ingredient gives, in one format, also in the documentation."""

import json
import re
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from evals import report
from evals.ablation import EVERYTHING, INGREDIENTS, Figures, additions, removals, score
from evals.corpus import Gold, Question
from evals.retrieval import RankedPage
from orc_core.search.ranking import Weights

CELL = r"[01]\.\d{3} / [01]\.\d{3} / [01]\.\d{3}"


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    (tmp_path / "docs").mkdir()
    for name, text in (("plan.txt", "The deductible is 500 dollars."), ("garage.txt", "A garage.")):
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    question = {"id": "q", "question": "deductible?", "files": ["plan.txt", "garage.txt"]}
    gold = [{"file": "plan.txt", "page": 1, "group": 0}]
    (tmp_path / "questions.jsonl").write_text(json.dumps({**question, "gold": gold}), encoding="utf-8")
    monkeypatch.setattr(report, "SETS", {"small": tmp_path / "questions.jsonl"})
    monkeypatch.setattr(report, "FOLDERS", (tmp_path / "docs",))
    monkeypatch.setattr(report, "MADE", dict)
    return report.SETS


@pytest.mark.slow
def test_the_report_has_tables_and_figures(sets: dict[str, Path], tmp_path: Path) -> None:
    output = tmp_path / "report"
    assert report.main(["--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == ["figures.json", "retrieval.md"]
    markdown = (output / "retrieval.md").read_text(encoding="utf-8")
    assert f"| {EVERYTHING} | 1.000 / 1.000 / 1.000 |" in markdown
    assert "| ranking | misspelled R@1 / R@5 / MRR | instructed R@1 / R@5 / MRR |" in markdown
    figures = json.loads((output / "figures.json").read_text(encoding="utf-8"))
    assert set(figures) == {variant.name for variant in additions()}


def test_a_missing_document_is_named(
    sets: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "garage.txt").unlink()
    assert report.main(["--output", str(tmp_path / "report")]) == 2
    assert "garage.txt" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_the_documented_tables_have_the_rows_of_the_command() -> None:
    lines = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    names = [variant.name for variant in (*additions(), *removals())]
    listed = [match[1] for row in rows if (match := re.fullmatch(rf"\| (.+?) \|(?: {CELL} \|)+", row))]
    assert listed == [*names, *(variant.name for variant in removals())]
    assert rows[0] == report.table([*report.SETS, *report.MADE()], {}).splitlines()[0]


def test_the_last_addition_is_the_ranking_of_the_product() -> None:
    added = additions()
    assert len(added) == len(INGREDIENTS) + 1
    assert added[-1].weights == Weights() == removals()[0].weights
    assert (
        len({variant.weights for variant in (*added, *removals()[1:])}) == len(added) + len(INGREDIENTS) - 1
    )


def test_every_weight_is_an_ingredient() -> None:
    assert set(INGREDIENTS) == set(Weights.__dataclass_fields__)


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
