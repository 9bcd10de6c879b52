"""`orc trial`, with a model that is a double."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply, ToolCall, serving
from orc.cli.app import app
from orc.judges.measuring import read_measured
from orc.trial.outcomes import read_outcomes

QUESTIONS = """\
{"id": "leave", "question": "How many days of annual leave?", "files": ["harbour-handbook.pdf"],\
 "gold": [{"file": "harbour-handbook.pdf", "page": 5}], "evidence_texts": ["28 working days"]}
{"id": "dogs", "question": "What do dogs cost on the ferry?", "files": ["ferry.txt"]}
"""


def writes(request: ChatRequest) -> Reply | Failure | None:
    """A model that knows one fact, and breaks at the other question."""
    if "dogs" in request.question:
        return Failure(status=400, message="no dogs")
    number = next(each.number for each in request.sources if "28 working days" in each.text)
    return Reply(text=f"You get 28 working days a year [S{number}]. See [ref 1].")


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[OpenAIDouble]:
    double = OpenAIDouble(writes)
    with serving(double) as base_url:
        for name, value in {
            "ORC_DATA_DIR": str(tmp_path / "data"),
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "key",
            "ORC_PAGE_ANALYSIS": "off",
            "COLUMNS": "200",
        }.items():
            monkeypatch.setenv(name, value)
        yield double


@pytest.fixture
def folder(tmp_path: Path, handbook: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "harbour-handbook.pdf").write_bytes(handbook.read_bytes())
    (folder / "ferry.txt").write_text("Dogs travel for free on the ferry.")
    (folder / "questions.jsonl").write_text(QUESTIONS)
    return folder


def trial(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["trial", *map(str, words)])


@pytest.mark.slow
def test_a_trial_reports_what_the_model_made_of_each_question_and_goes_on(
    double: OpenAIDouble, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "results"
    first = trial(folder / "questions.jsonl", "--output", output, "--label", "first")
    assert first.exit_code == 0, first.stderr
    leave, dogs = read_outcomes(output / "results.jsonl")
    assert (leave.on_page, leave.in_place, leave.standing, leave.markers) == (True, True, 1, 1)
    assert len(leave.unread) == 1
    assert leave.usage.model_calls == 1
    assert leave.usage.input_tokens > 100
    assert leave.first_token_seconds is not None
    assert "no dogs" not in dogs.answer
    assert dogs.error
    assert "1 of 2 (50%)" in first.stdout
    assert "data:image/webp;base64" in (output / "report.html").read_text()
    asked = len(double.requests)

    double.responder = lambda _: Reply(text="Dogs travel for free on the ferry [S1].")
    second = trial(folder / "questions.jsonl", "--output", output, "--label", "first")
    assert second.exit_code == 0, second.stderr
    assert "1 of 2 questions to ask" in second.stdout
    assert len(double.requests) == asked + 1
    assert "2 of 2 (100%)" in second.stdout


@pytest.mark.slow
def test_the_judge_of_a_trial_is_measured_once_and_may_then_read_answers(
    double: OpenAIDouble, folder: Path, tmp_path: Path
) -> None:
    said = {"quote": "is 10", "reason": "."}
    verdicts = [{"sentence": n, "verdict": v, **said} for n, v in ((1, "supported"), (2, "unsupported"))]
    form = {"sentences": verdicts, "action": "accept", "query": ""}
    judged = Reply(tool_calls=[ToolCall(name="CriticVerdict", arguments=form)])
    double.responder = lambda asked: judged if "The fee of club" in asked.prompt else Reply(text="No. [S1]")
    lines = [
        {"id": f"{n}{right}", "text": f"The fee of club {n} is 10.", "claim": "It is 10.", "supported": right}
        for n in range(8)
        for right in (True, False)
    ]
    claims = tmp_path / "claims.jsonl"
    claims.write_text("\n".join(map(json.dumps, lines)))
    words = folder / "questions.jsonl", "--output", tmp_path / "results", "--judge", claims
    first = trial(*words)
    assert first.exit_code == 0, first.stderr
    table = " ".join(first.stdout.split())
    assert re.search(r"judge: share of the wrong ones that it calls supported [^\w]* 0 ", table)
    assert re.search(r"judge: balanced accuracy, of which 0\.70 are needed [^\w]* 1 ", table)
    [kept] = read_measured(tmp_path / "data").values()
    assert kept.balanced == 1
    asked = len(double.requests)
    assert trial(*words).exit_code == 0
    assert len(double.requests) == asked


@pytest.mark.slow
def test_a_file_without_labelled_claims_is_named(double: OpenAIDouble, folder: Path, tmp_path: Path) -> None:
    double.responder = lambda _: Reply(text="No. [S1]")
    file = folder / "questions.jsonl"
    result = trial(file, "--output", tmp_path / "results", "--judge", folder / "ferry.txt")
    assert result.exit_code == 2
    assert "ferry.txt has no labelled claims" in " ".join(result.stderr.split())
    assert (tmp_path / "results" / "report.html").exists()


def test_a_trial_without_a_model_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ORC_DATA_DIR", str(tmp_path))
    result = trial("--output", tmp_path / "results")
    assert result.exit_code == 2
    assert "orc trial needs a language model: set ORC_MODEL" in " ".join(result.stderr.split())
    assert not (tmp_path / "results").exists()


def test_a_document_that_is_not_there_is_named_before_anything_is_asked(
    double: OpenAIDouble, folder: Path, tmp_path: Path
) -> None:
    (folder / "ferry.txt").unlink()
    result = trial(folder / "questions.jsonl", "--output", tmp_path / "results")
    assert result.exit_code == 2
    assert "has no ferry.txt, which dogs needs" in " ".join(result.stderr.split())
    assert double.requests == []
