"""One whole run: part by part, each printed and written to disk as soon as it is measured."""

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.client import Advance, bare_model, prepare_conversations
from bench.contexts import measure_contexts
from bench.deployment import Stage, clean_surroundings, set_up
from bench.ingesting import measure_analysis, measure_ingestion
from bench.latency import measure_first_token, measure_growth
from bench.long_document import measure_long_document
from bench.pages import measure_pages
from bench.plan import EARLY_CONVERSATIONS, Plan
from bench.report import Report, as_table
from bench.startup import measure_import, start_and_stop, starts
from bench.statistics import Figure, summary
from bench.turns import measure_latency, measure_throughput
from devkit.errors import NotInstalled

LATENCY_KINDS = 4
OnProgress = Callable[[Report], None]

logger = logging.getLogger(__name__)


def measure(plan: Plan, console: Console, on_progress: OnProgress = lambda _: None) -> Report:
    """Start the product, measure it by the plan and stop it.

    A part that cannot be measured is named in the report; the others are measured all the same.
    `on_progress` gets the report so far after every part.
    """
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with (
        tempfile.TemporaryDirectory(prefix="orc-bench-") as name,
        clean_surroundings(Path(name)),
        Progress(*columns, console=console) as progress,
    ):
        run = Run(progress, on_progress)
        _measure(run, plan, Path(name))
        return run.report()


def _measure(run: "Run", plan: Plan, folder: Path) -> None:
    with run.part("Imports", 2 * plan.imports) as part:
        part.add(measure_import(plan, part.advance))
    with run.part("Running product", 0) as part, set_up(folder) as stage:
        part.add(_memory(stage, "idle"))
        asyncio.run(_measure_running(run, stage, plan, folder))
        with run.part("The page", 2) as pages:
            pages.add(measure_pages(stage.system, plan, pages.advance))
        part.add(_memory(stage, "after the run"))
    with run.part("Starts", plan.starts) as part:
        part.add([starts(start_and_stop(folder, plan.starts, part.advance))])
    with run.part("Page analysis", 1) as part:
        part.add([asyncio.run(measure_analysis(folder, plan, part.advance))])
    with run.part("Contexts", plan.context_documents) as part:
        part.add(asyncio.run(measure_contexts(folder, plan, part.advance)))


async def _measure_running(run: "Run", stage: Stage, plan: Plan, folder: Path) -> None:
    with run.part("Ingestion", 2 * plan.ingestion_rounds) as part:
        part.add(await measure_ingestion(stage, plan, part.advance))
    advance = run.steps("Preparing conversations", plan.conversations)
    prepared = iter(await prepare_conversations(stage.system.api_port, plan.conversations, advance))

    def take(count: int) -> list[str]:
        return list(islice(prepared, count))

    async with bare_model(stage, folder) as bare:
        with run.part("Turns one at a time", LATENCY_KINDS * plan.rounds) as part:
            part.add(await measure_latency(stage, bare, plan, take(plan.first_questions), part.advance))
        with run.part("Turns at the same time", plan.busy_rounds) as part:
            part.add(await measure_throughput(stage, bare, plan, take(plan.busy_questions), part.advance))
        with run.part("Streams", plan.streams) as part:
            part.add(await measure_first_token(stage, bare, take(plan.streams), part.advance))
        with run.part("A long document", plan.report_steps) as part:
            part.add(await measure_long_document(stage, bare, plan, part.advance))
    (long,), short = take(1), take(EARLY_CONVERSATIONS)
    with run.part("A long conversation", plan.growth_turns) as part:
        growth, run.turn_times = await measure_growth(stage, plan, long, short, part.advance)
        part.add(growth)


def _memory(stage: Stage, when: str) -> list[Figure]:
    return [
        summary("Memory (RSS)", f"{name}, {when}", [mib], "MiB") for name, mib in stage.resident_mib().items()
    ]


class Run:
    """The figures so far, a progress bar for each part, and the parts that were not measured.

    `turn_times` are those of the long conversation, in milliseconds.
    """

    def __init__(self, progress: Progress, on_progress: OnProgress) -> None:
        self.turn_times: list[float] = []
        self._figures: list[Figure] = []
        self._left_out: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        self._progress = progress
        self._on_progress = on_progress
        self._started, self._load_before = time.perf_counter(), os.getloadavg()[0]

    def steps(self, description: str, total: int) -> Advance:
        """A new progress bar; call what is returned for every step."""
        task = self._progress.add_task(description, total=total)
        return lambda: self._progress.advance(task)

    @contextmanager
    def part(self, name: str, total: int) -> Iterator["Part"]:
        """One part of the run. A failure, or a missing program, is recorded and ends this part only."""
        part = Part(self, self.steps(name, total) if total else lambda: None)
        try:
            yield part
        except NotInstalled as exc:
            self._record(self._left_out, name, str(exc))
        except Exception as exc:
            logger.exception("The part %s failed", name)
            self._record(self._failed, name, f"{type(exc).__name__}: {exc}")

    def add(self, figures: Sequence[Figure]) -> None:
        self._figures += figures
        self._progress.console.print(as_table(figures))
        self._on_progress(self.report())

    def report(self) -> Report:
        return Report(
            tuple(self._figures),
            tuple(self.turn_times),
            self._load_before,
            os.getloadavg()[0],
            time.perf_counter() - self._started,
            dict(self._left_out),
            dict(self._failed),
        )

    def _record(self, reasons: dict[str, str], name: str, reason: str) -> None:
        reasons[name] = reason
        self._progress.console.print(f"[yellow]{name}: not measured. {reason}[/]")
        self._on_progress(self.report())


class Part:
    """Takes the figures of one part of a run."""

    def __init__(self, run: Run, advance: Advance) -> None:
        self._run = run
        self.advance = advance

    def add(self, figures: Sequence[Figure]) -> None:
        self._run.add(figures)
