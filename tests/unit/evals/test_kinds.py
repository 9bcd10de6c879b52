"""The questions about invented documents: complete, and their quotes are tuned on one half only."""

import json
from pathlib import Path

from evals.corpus import find_documents, half_of, read_questions

KINDS = Path(__file__).resolve().parents[3] / "evals" / "kinds"


def test_every_question_names_a_document_and_answerable_ones_its_pages() -> None:
    answerable = read_questions(KINDS / "questions.jsonl")
    unanswerable = read_questions(KINDS / "unanswerable.jsonl")
    everything = [*answerable, *unanswerable]
    assert len({question.id for question in everything}) == len(everything)
    assert all(question.gold for question in answerable)
    assert not any(question.gold for question in unanswerable)
    assert set(find_documents(KINDS, everything)) == {path.name for path in (KINDS / "docs").iterdir()}


def test_each_half_has_several_kinds_of_documents_and_questions() -> None:
    lines = [
        json.loads(line) for line in (KINDS / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    questions = read_questions(KINDS / "questions.jsonl")
    halves = {"tuning": set[str](), "held out": set[str]()}
    for question, line in zip(questions, lines, strict=True):
        halves[half_of(question)] |= {line["kind"], line["lang"], Path(question.files[0]).suffix}
    assert all({"quote", "compute", "judge", "en", ".md"} < found for found in halves.values())
