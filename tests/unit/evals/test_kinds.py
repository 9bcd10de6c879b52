"""The questions about invented documents: complete, and their quotes are tuned on one half only."""

import json
from pathlib import Path

import pytest

from evals.corpus import find_documents, half_of, read_questions

EVALS = Path(__file__).resolve().parents[3] / "evals"
KINDS, UNSEEN = EVALS / "kinds", EVALS / "unseen"


@pytest.mark.parametrize("folder", [KINDS, UNSEEN / "tuning", UNSEEN / "test"], ids=lambda path: path.name)
def test_every_question_names_a_document_and_answerable_ones_its_pages(folder: Path) -> None:
    answerable = read_questions(folder / "questions.jsonl")
    unanswerable = read_questions(folder / "unanswerable.jsonl")
    everything = [*answerable, *unanswerable]
    assert len({question.id for question in everything}) == len(everything)
    assert all(question.gold for question in answerable)
    assert not any(question.gold for question in unanswerable)
    assert set(find_documents(folder, everything)) == {path.name for path in (folder / "docs").iterdir()}


@pytest.mark.parametrize("half", ["tuning", "test"])
def test_each_question_about_an_unseen_document_has_evidence(half: str) -> None:
    assert all(question.evidence_texts for question in read_questions(UNSEEN / half / "questions.jsonl"))


def test_each_half_has_several_kinds_of_documents_and_questions() -> None:
    lines = [
        json.loads(line) for line in (KINDS / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    questions = read_questions(KINDS / "questions.jsonl")
    halves = {"tuning": set[str](), "held out": set[str]()}
    for question, line in zip(questions, lines, strict=True):
        halves[half_of(question)] |= {line["kind"], line["lang"], Path(question.files[0]).suffix}
    assert all({"quote", "compute", "judge", "en", ".md"} < found for found in halves.values())
