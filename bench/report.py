"""The report: a table for people, and JSON for programs."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.statistics import Figure

BUSY_LOAD_PER_CORE = 0.5


@dataclass(frozen=True)
class Report:
    """All figures of one run, and the machine that they hold for."""

    figures: Sequence[Figure]
    turn_times: Sequence[float]
    load_before: float
    load_after: float
    seconds: float
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> str:
        """The report with its raw turn times."""
        figures = [{**asdict(figure), "ok": figure.ok} for figure in self.figures]
        content = {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {
                "python": platform.python_version(),
                "system": platform.platform(),
                "cores": os.cpu_count(),
                "load_before": self.load_before,
                "load_after": self.load_after,
            },
            "seconds": round(self.seconds, 1),
            "figures": figures,
            "left_out": dict(self.left_out),
            "failed": dict(self.failed),
            "long_conversation_ms": self.turn_times,
        }
        return json.dumps(content, indent=2) + "\n"

    def as_table(self) -> Table:
        """The figures by group, with targets and whether they are met."""
        title = f"Orc on Python {platform.python_version()}, {os.cpu_count()} cores"
        return as_table(sorted(self.figures, key=lambda figure: self._groups.index(figure.group)), title)

    @property
    def _groups(self) -> list[str]:
        return list(dict.fromkeys(figure.group for figure in self.figures))


def as_table(figures: Sequence[Figure], title: str | None = None) -> Table:
    """The figures by group, with targets and whether they are met."""
    table = Table(title=title, box=SIMPLE_HEAD, show_edge=False)
    table.add_column("", no_wrap=True)
    for heading in ("median", "p95", "x bare", "samples", "target", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for group, members in groupby(figures, key=lambda figure: figure.group):
        table.add_row(f"[bold]{group}[/]")
        for figure in members:
            table.add_row(*_cells(figure))
        table.add_section()
    return table


def busy_warning(load: float) -> str | None:
    """A warning if others use the machine, since figures are then worse than on a quiet one."""
    cores = os.cpu_count() or 1
    if load <= BUSY_LOAD_PER_CORE * cores:
        return None
    return f"This machine is busy (load average {load:.1f} on {cores} cores): the figures are pessimistic."


def write(report: Report, path: Path) -> None:
    """Write the JSON to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report.as_json(), encoding="utf-8")


def _cells(figure: Figure) -> tuple[str, ...]:
    def shown(value: float) -> str:
        return f"{value:.{2 if figure.unit in ('s', 'x') else 1}f}"

    target = figure.target
    return (
        f"  {figure.name}",
        f"{shown(figure.value)} {figure.unit}",
        "" if figure.p95 is None else shown(figure.p95),
        "" if figure.versus_bare is None else f"{figure.versus_bare:.2f}",
        str(figure.samples),
        "" if target is None else f"{target.sign} {target.bound:g}",
        {None: "", True: "[green]ok[/]", False: "[red]not ok[/]"}[figure.ok],
    )
