"""The embedder that rankings by vectors are measured with."""

from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from devkit.doubles.bag_of_words import bag_of_words
from devkit.shared_data import ROOT
from evals.cached_vectors import CachedEmbedder
from evals.corpus import UnusableInput, read_questions
from evals.minilm import _erf, packaged_model
from evals.retrieval import main

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
    questions = ROOT / "evals" / "unseen" / "tuning" / "questions.jsonl"
    assert main([str(questions), "--hybrid", "--output", "ranked.jsonl"]) == 2
    assert "no_such_package_of_a_model" in capsys.readouterr().err


def test_plain_questions_need_pages_of_their_files() -> None:
    for question in read_questions(ROOT / "evals" / "plain_questions.jsonl"):
        assert question.gold
        assert {gold.file for gold in question.gold} <= set(question.files)
