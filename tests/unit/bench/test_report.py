"""What the report says, in both of its forms."""

import json
import os

from rich.console import Console

from bench.report import Report, busy_warning
from bench.statistics import Figure, summary
from devkit.reports import Target


def report(*figures: Figure) -> Report:
    return Report(figures, [10.0, 12.0, 11.0], 0.5, 0.75, 42.0)


def printed(shown: Report) -> str:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(shown.as_table())
    return capture.get()


def test_the_table_shows_target_and_verdict_next_to_the_figure() -> None:
    good = summary("Turns", "chat turn, overhead", [5.0], target=Target(8))
    bad = summary("Turns", "document turn, overhead", [31.0], target=Target(30))
    lines = {line.split(",")[0].strip(): line.split() for line in printed(report(good, bad)).splitlines()}
    assert lines["chat turn"][-3:] == ["<=", "8", "ok"]
    assert lines["document turn"][-4:] == ["<=", "30", "not", "ok"]


def test_the_json_holds_figures_verdicts_and_the_machine() -> None:
    written = json.loads(report(summary("Turns", "chat", [5.0], target=Target(8))).as_json())
    assert written["machine"]["load_before"] == 0.5
    assert written["long_conversation_ms"] == [10, 12, 11]
    (figure,) = written["figures"]
    assert (figure["name"], figure["value"], figure["target"]["bound"], figure["ok"]) == ("chat", 5, 8, True)


def test_a_busy_machine_is_pointed_out() -> None:
    cores = os.cpu_count() or 1
    assert busy_warning(0.1 * cores) is None
    assert "pessimistic" in (busy_warning(2.0 * cores) or "")
