"""`python -m evals.judge` measures the judge of the settings, and keeps what it found."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply, ToolCall, serving
from evals.judge import main
from orc.judges.measuring import read_measured

TEXTS = [f"The fee of club {number} is 10." for number in range(20)]
LINES = [
    {
        "id": f"{number}{label}",
        "text": text,
        "claim": f"It costs 10 there: {label}.",
        "supported": label == "yes",
    }
    for number, text in enumerate(TEXTS)
    for label in ("yes", "no")
]


def judge(asked: ChatRequest) -> Reply:
    """Right about all claims but those on the last text."""
    is_last = TEXTS[-1] in asked.prompt
    said = {"quote": "is 10", "reason": "."}
    verdicts = [{"sentence": n, "verdict": v, **said} for n, v in ((1, "supported"), (2, "unsupported"))]
    verdicts = [{**each, "verdict": "supported"} for each in verdicts] if is_last else verdicts
    form = {"sentences": verdicts, "coverage": 0.5, "action": "accept", "query": ""}
    return Reply(tool_calls=[ToolCall(name="CriticVerdict", arguments=form)])


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[OpenAIDouble]:
    double = OpenAIDouble(judge)
    with serving(double) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("ORC_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "claims.jsonl").write_text("\n".join(map(json.dumps, LINES)))
        yield double


def test_the_table_says_how_often_the_judge_is_right(
    double: OpenAIDouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims.jsonl", "--model", "own", "--keep"]) == 0
    assert len(double.requests) == len(TEXTS)
    assert {request.body["model"] for request in double.requests} == {"own"}
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    right = [row[2] for row in rows]
    assert sum(int(cell.split(" of ")[0]) for cell in right) == 20
    assert sum(int(row[5].split(" of ")[0]) for row in rows) == 1
    kept = read_measured(tmp_path / "data")["own"]
    assert kept.right == 1
    assert 0 < kept.claims < len(LINES)


def test_a_stopped_measurement_says_how_it_goes_on(
    double: OpenAIDouble, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_ADVANCED", '{"model_retries": 0}')
    failing = {"left": 3}

    def fails(asked: ChatRequest) -> Reply | Failure:
        failing["left"] -= 1
        return judge(asked) if failing["left"] >= 0 else Failure(status=503)

    double.responder = fails
    assert main(["claims.jsonl", "--sample", "10"]) == 1
    assert "goes on where it stopped" in capsys.readouterr().err.replace("\n", " ")
    double.responder = judge
    asked = len(double.requests)
    assert main(["claims.jsonl", "--sample", "10"]) == 0
    prompts = [request.body["messages"][1]["content"] for request in double.requests]
    assert asked == 4
    assert len(prompts) == len(set(prompts)) + 1, "only what failed was asked again"
