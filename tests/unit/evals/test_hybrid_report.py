"""The report on words, vectors and both: who ranks, on which half, and how sure the difference is."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from devkit.doubles.bag_of_words import bag_of_words
from devkit.shared_data import ROOT
from evals import hybrid, report, splits
from evals.cached_vectors import CachedEmbedder
from evals.corpus import Gold, Question, UnusableInput, read_questions
from evals.hybrid import EQUAL, PRODUCT, VECTORS, WORDS, interval, markdown
from evals.minilm import _erf, packaged_model
from evals.splits import half_of, select

pytestmark = pytest.mark.slow


class WordEmbedder:
    """Counts what it is asked."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [bag_of_words(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return (await self.embed_passages([text]))[0]


async def test_a_text_is_embedded_once(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    first = await CachedEmbedder(embedder, tmp_path).embed_passages(["a b", "c", "a b"])
    again = await CachedEmbedder(embedder, tmp_path).embed_passages(["c", "a b", "d"])
    assert embedder.asked == ["a b", "c", "d"]
    assert again[:2] == first[1::-1]
    assert first[0] == pytest.approx(bag_of_words("a b"))


async def test_all_ways_rank_both_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    for name, text in (("plan.txt", "The deductible is 500 dollars."), ("garage.txt", "A garage.")):
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    questions = [
        {
            "id": name,
            "question": asked,
            "files": ["plan.txt", "garage.txt"],
            "gold": [{"file": name, "page": 1}],
        }
        for name, asked in (("plan.txt", "deductible?"), ("garage.txt", "garage?"))
    ]
    (tmp_path / "small.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    monkeypatch.setattr(report, "FOLDERS", (tmp_path / "docs",))
    monkeypatch.setattr(splits, "TUNING_DOCUMENTS", frozenset({"plan.txt"}))
    sets = {"small": read_questions(tmp_path / "small.jsonl")}
    results = await hybrid.run(sets, CachedEmbedder(WordEmbedder(), tmp_path / "vectors"))
    assert {half: by_set["small"].questions for half, by_set in results.items()} == {"tuning": 1, "test": 1}
    for by_set in results.values():
        assert set(by_set["small"].figures) == {WORDS, VECTORS, EQUAL, PRODUCT}
    cell = "1.000 / 1.000"
    assert f"| small | 1 | {cell} | {cell} | {cell} | {cell} | +0.000 [+0.000, +0.000] |" in markdown(results)


def test_a_question_belongs_to_the_half_of_its_document() -> None:
    files = ["role_library.pdf", "employee_handbook.pdf", "role_library.pdf"]
    questions = [
        Question(id=str(n), question="?", files=files, gold=[Gold(file=file, page=1)])
        for n, file in enumerate(files)
    ]
    assert [half_of(question) for question in questions] == ["tuning", "test", "tuning"]
    assert select(questions, "test") == [questions[1]]


def test_the_interval_contains_the_mean_and_narrows_with_more_questions() -> None:
    few, many = ([0.0, 1.0] * count for count in (10, 1000))
    (low, high), (lower, upper) = interval(few), interval(many)
    assert low < lower < 0.5 < upper < high
    assert interval(few) == (low, high)


def test_the_error_function_is_the_usual_one() -> None:
    from math import erf

    values = numpy.linspace(-4, 4, 81)
    assert _erf(values) == pytest.approx([erf(value) for value in values], abs=2e-7)


def test_a_missing_model_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evals.minilm.PACKAGE", "no_such_package_of_a_model")
    with pytest.raises(UnusableInput, match="no_such_package_of_a_model"):
        packaged_model()
    monkeypatch.setattr(report, "SETS", {})
    assert hybrid.main([]) == 2
    assert "no_such_package_of_a_model" in capsys.readouterr().err


def test_plain_questions_need_pages_of_their_files() -> None:
    for question in read_questions(ROOT / "evals" / "plain_questions.jsonl"):
        assert question.gold
        assert {gold.file for gold in question.gold} <= set(question.files)
