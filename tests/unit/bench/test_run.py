"""A run of the bench with next to no samples: that it measures, not what."""

import os
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from bench.deployment import clean_surroundings
from bench.plan import EARLY_TURN, Plan
from bench.report import Report
from bench.run import Run, measure
from bench.statistics import Figure
from devkit.errors import NotInstalled

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
    drawn_documents=1,
    opened_turns=3,
    context_documents=250,
    grants=11_000,
    context_searches=1,
    context_searches_for_memory=1,
    context_calls=1,
    report_pages=5,
    report_uploads=1,
    report_turns_per_round=1,
    report_searches=1,
    imports=1,
    starts=1,
)
WITH_TARGETS = {
    "chat turn, overhead",
    "document turn, overhead",
    "document turns",
    "turn 11 to turn 10",
    "page of 1200 px, first byte, p95",
    "the same page again, first byte, p95",
    "conversation of 3 turns opens",
    "semantic_search, 1 organization, p95",
    "semantic_search, 50 contexts, p95",
    "memory after 1 more searches",
    "documents_list, first page, 1 organization, p95",
    "documents_list, first page, 50 contexts, p95",
    "documents_list, later page, 1 organization, p95",
    "documents_list, later page, 50 contexts, p95",
    "rights of a turn, 1 context, median",
    "rights of a turn, 50 contexts, median",
    "what a turn adds, 1 context, median",
    "what a turn adds, 50 contexts, median",
    "import function_app",
    "orc serve to ready",
}


@pytest.mark.campaign
def test_a_tiny_run_gives_every_figure_with_its_target() -> None:
    report = measure(TINY, Console(quiet=True))
    assert report.failed == {}
    assert report.left_out == {}
    names = [figure.name for figure in report.figures]
    targets = {figure.name for figure in report.figures if figure.target}
    assert len(set(names)) == len(names)
    assert {name for name in targets if "PDFs" not in name and "copies" not in name} == WITH_TARGETS
    assert len(targets) == len(WITH_TARGETS) + 2
    assert all(figure.value > 0 for figure in report.figures if figure.unit not in ("ms", "", "MiB more"))
    assert len(report.turn_times) == TINY.late_turn - TINY.growth_window + 4


@pytest.fixture
def reports() -> list[Report]:
    """What was on disk after each part."""
    return []


@pytest.fixture
def run(reports: list[Report]) -> Run:
    return Run(Progress(console=Console(quiet=True)), reports.append)


def figure(name: str) -> Figure:
    return Figure("Group", name, 1.0, "ms", 1)


def test_a_part_without_its_program_is_left_out_and_the_others_are_measured(
    run: Run, reports: list[Report]
) -> None:
    with run.part("first", 1) as part:
        part.add([figure("a")])
    with run.part("second", 1):
        raise NotInstalled("It needs Node.")
    with run.part("third", 1) as part:
        part.add([figure("b")])
    assert [[each.name for each in report.figures] for report in reports] == [["a"], ["a"], ["a", "b"]]
    assert run.report().left_out == {"second": "It needs Node."}
    assert run.report().failed == {}


def test_a_part_that_fails_keeps_what_it_had_measured(run: Run, reports: list[Report]) -> None:
    with run.part("first", 1) as part:
        part.add([figure("a")])
        raise ValueError("No such figure.")
    assert [each.name for each in reports[-1].figures] == ["a"]
    assert reports[-1].failed == {"first": "ValueError: No such figure."}


def test_settings_of_the_machine_stay_out_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_CRITIC", "always")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    before = dict(os.environ)
    with clean_surroundings(tmp_path):
        assert "ORC_CRITIC" not in os.environ
        assert "PYTHONDONTWRITEBYTECODE" not in os.environ
        assert Path.cwd() == tmp_path
    assert dict(os.environ) == before
