"""A run of the bench with next to no samples: that it measures, not what."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from bench.deployment import clean_surroundings
from bench.plan import EARLY_TURN, Plan
from bench.run import measure

TINY = Plan(
    rounds=1,
    turns_per_round=1,
    busy_rounds=1,
    busy_turns=2,
    streams=1,
    late_turn=EARLY_TURN + 1,
    growth_window=1,
    ingestion_rounds=1,
    ingested_files=1,
    crowd_rounds=1,
    crowd_turns=1,
    crowd_uploads=2,
    searched_documents=8,
    searches=3,
    azure_turns_per_round=1,
    telling_turns_per_round=1,
    costed_turns=EARLY_TURN + 2,
    imports=1,
    starts=1,
)
WITH_TARGETS = {
    "chat turn, overhead",
    "document turn, overhead",
    "document turns",
    "turn 11 to turn 10",
    "import function_app",
    "orc serve to ready",
    "the latter to the former",
    "traces kept, to the silent turn",
    "traces kept, spans exported, to the silent turn",
    "errors",
    "cost of turn 12 to turn 10",
    "largest item",
    "queries over several partitions",
    "400 passages, p95",
}


def test_a_tiny_run_gives_every_figure_with_its_target() -> None:
    report = measure(TINY, Console(quiet=True))
    names = [figure.name for figure in report.figures]
    targets = {figure.name for figure in report.figures if figure.target}
    assert len(set(names)) == len(names)
    assert {name for name in targets if "PDFs" not in name and "copies" not in name} == WITH_TARGETS
    assert len(targets) == len(WITH_TARGETS) + 2
    assert all(figure.value > 0 for figure in report.figures if figure.unit not in ("ms", ""))
    assert [figure.value for figure in report.figures if figure.name == "errors"] == [0]
    assert len(report.turn_times) == TINY.late_turn - TINY.growth_window + 4


def test_settings_of_the_machine_stay_out_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_HISTORY_TURNS", "0")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    before = dict(os.environ)
    with clean_surroundings(tmp_path):
        assert "ORC_HISTORY_TURNS" not in os.environ
        assert "PYTHONDONTWRITEBYTECODE" not in os.environ
        assert Path.cwd() == tmp_path
    assert dict(os.environ) == before
