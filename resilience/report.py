"""How a campaign shows its progress, and its verdict: a table for people, an exit code for programs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

TABLE_WIDTH = 100
SHOWN_FINDINGS = 3
PASSED, FAILED = 0, 1

Advance = Callable[[], None]
StepsOf = Callable[[str, int], Advance]
"""A new progress bar, by its name and its total; call what it returns for every part that is done."""


@dataclass(frozen=True)
class Check:
    """Something that must never happen: how often it could have, and every time that it did."""

    name: str
    of: int
    findings: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """A check without a single case proves nothing."""
        return self.of > 0 and not self.findings


@dataclass(frozen=True)
class Verdict:
    """What a campaign found. `figures` say what was done; they decide nothing."""

    title: str
    checks: Sequence[Check]
    figures: Sequence[tuple[str, str]] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found, and everything was looked at."""
        return all(check.ok for check in self.checks)

    def check(self, name: str) -> Check:
        """The check of this name."""
        return next(check for check in self.checks if check.name == name)

    def as_table(self) -> Table:
        """The checks, with what was found."""
        table = Table(title=self.title, box=SIMPLE_HEAD, show_edge=False)
        table.add_column("")
        table.add_column("found", justify="right", no_wrap=True)
        table.add_column("of", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for check in self.checks:
            verdict = "[green]ok[/]" if check.ok else "[red]not ok[/]"
            table.add_row(check.name, str(len(check.findings)), str(check.of), verdict)
        return table

    def as_summary(self) -> Table:
        """The figures, one below the other."""
        grid = Table.grid(padding=(0, 2))
        for name, value in self.figures:
            grid.add_row(f" [dim]{name}[/]", value)
        return grid


def wide_console() -> Console:
    """The terminal or its replacement, wide enough for a verdict."""
    console = Console()
    console.width = max(console.width, TABLE_WIDTH)
    return console


@contextmanager
def steps(console: Console) -> Iterator[StepsOf]:
    """Progress bars, one for each step of a campaign."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:

        def of(description: str, total: int) -> Advance:
            task = progress.add_task(description, total=total)
            return lambda: progress.advance(task)

        yield of


def conclude(verdict: Verdict, console: Console) -> int:
    """Print the verdict with the first findings of every check; the exit code of the command."""
    console.print(verdict.as_table())
    console.print(verdict.as_summary())
    for check in verdict.checks:
        for finding in check.findings[:SHOWN_FINDINGS]:
            console.print(f"{check.name}: {finding}", style="red", markup=False, highlight=False)
        if (more := len(check.findings) - SHOWN_FINDINGS) > 0:
            console.print(f"{check.name}: and {more} more", style="red", markup=False, highlight=False)
    return PASSED if verdict.ok else FAILED
