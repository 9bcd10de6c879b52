"""The report: what each ingredient gives, in one format, also in the documentation."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core.search.ranking import Weights
from devkit.shared_data import ROOT
from evals import report
from evals.ablation import EVERYTHING, INGREDIENTS, Figures, additions, removals, score
from evals.corpus import Gold, Question
from evals.plot import line_plot
from evals.retrieval import RankedPage

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
    return report.SETS


def test_the_report_has_table_plot_and_figures(sets: dict[str, Path], tmp_path: Path) -> None:
    output = tmp_path / "report"
    assert report.main(["--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == ["figures.json", "retrieval.md", "retrieval.svg"]
    markdown = (output / "retrieval.md").read_text(encoding="utf-8")
    assert f"| {EVERYTHING} | 1.000 / 1.000 / 1.000 |" in markdown
    figures = json.loads((output / "figures.json").read_text(encoding="utf-8"))
    assert set(figures) == {variant.name for variant in additions()}
    ElementTree.fromstring((output / "retrieval.svg").read_text(encoding="utf-8"))


def test_a_missing_document_is_named(
    sets: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs" / "garage.txt").unlink()
    assert report.main(["--output", str(tmp_path / "report")]) == 2
    assert "garage.txt" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_the_documentations_tables_are_those_of_the_command() -> None:
    lines = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    names = [variant.name for variant in (*additions(), *removals())]
    cells = f"(?: {CELL} \\|){{{len(report.SETS)}}}"
    listed = [match[1] for row in rows if (match := re.fullmatch(rf"\| (.+?) \|{cells}", row))]
    assert listed == names
    assert rows[0] == report.table(list(report.SETS), {}).splitlines()[0]
    ElementTree.parse(ROOT / "docs" / "retrieval.svg")


def test_each_ingredient_is_added_once_until_the_ranking_is_the_products() -> None:
    added = additions()
    assert len(added) == len(INGREDIENTS) + 1
    assert added[-1].weights == Weights() == removals()[0].weights
    assert (
        len({variant.weights for variant in (*added, *removals()[1:])}) == len(added) + len(INGREDIENTS) - 1
    )


def test_every_weight_is_an_ingredient() -> None:
    assert set(INGREDIENTS) == set(Weights.__dataclass_fields__)


def test_every_page_that_is_needed_counts_and_alternatives_count_once() -> None:
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


def test_a_plot_has_a_point_for_every_step() -> None:
    svg = ElementTree.fromstring(
        line_plot("T & t", ["a", "b", "c"], {"one": [0.5, 0.7, 1], "two": [0, 0, 1]})
    )
    assert len(svg.findall(".//{http://www.w3.org/2000/svg}circle")) == 6
