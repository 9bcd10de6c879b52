"""One whole run: everything in turn, with its progress shown."""

import asyncio
import os
import tempfile
import time
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.azure import measure_azure
from bench.client import Advance, bare_model, prepare_conversations
from bench.contention import measure_crowd
from bench.deployment import Stage, clean_surroundings, set_up
from bench.ingesting import measure_analysis, measure_ingestion
from bench.latency import measure_first_token, measure_growth
from bench.plan import CLIENTS, EARLY_CONVERSATIONS, Plan
from bench.report import Report
from bench.searching import measure_search
from bench.startup import measure_import, start_and_stop, starts
from bench.statistics import Figure, summary
from bench.telemetry_overhead import measure_telemetry
from bench.turns import measure_latency, measure_throughput

LATENCY_KINDS = 4


def measure(plan: Plan, console: Console) -> Report:
    """Start the product, measure it by the plan and stop it."""
    started, load = time.perf_counter(), os.getloadavg()[0]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with (
        tempfile.TemporaryDirectory(prefix="orc-bench-") as name,
        clean_surroundings(Path(name)),
        Progress(*columns, console=console) as progress,
    ):
        steps = _Steps(progress)
        imports = measure_import(plan, steps.of("Importing", 2 * plan.imports))
        seconds = start_and_stop(Path(name), plan.starts - 1, steps.of("Starting", plan.starts - 1))
        with set_up(Path(name)) as stage:
            idle = _memory(stage, "idle")
            figures, times = asyncio.run(_measure_running(stage, plan, Path(name), steps))
            memory = idle + _memory(stage, "after the run")
            seconds.append(stage.start_seconds)
        apart = asyncio.run(_measure_apart(plan, Path(name), steps))
    figures += [*apart, *imports, starts(seconds), *memory]
    return Report(figures, times, load, os.getloadavg()[0], time.perf_counter() - started)


async def _measure_running(
    stage: Stage, plan: Plan, folder: Path, steps: "_Steps"
) -> tuple[list[Figure], list[float]]:
    ingested = await measure_ingestion(stage, plan, steps.of("Ingesting", 2 * plan.ingestion_rounds))
    advance = steps.of("Preparing conversations", plan.conversations)
    prepared = iter(await prepare_conversations(stage.system.api_port, plan.conversations, advance))

    def take(count: int) -> list[str]:
        return list(islice(prepared, count))

    async with bare_model(stage, folder) as bare:
        advance = steps.of("Turns one at a time", LATENCY_KINDS * plan.rounds)
        figures = await measure_latency(stage, bare, plan, take(plan.first_questions), advance)
        advance = steps.of("Turns at the same time", plan.busy_rounds)
        figures += await measure_throughput(stage, bare, plan, take(plan.busy_questions), advance)
        advance = steps.of("Streams", plan.streams)
        figures += await measure_first_token(stage, bare, take(plan.streams), advance)
        advance = steps.of("Turns on Azure's emulators", plan.azure_steps)
        figures += await measure_azure(stage, bare, plan, folder, take(plan.azure_questions), advance)
        advance = steps.of("Turns with telemetry", plan.telling_steps)
        figures += await measure_telemetry(stage, plan, folder, advance)
    (long,), short = take(1), take(EARLY_CONVERSATIONS)
    advance = steps.of("A long conversation", plan.growth_turns)
    growth, times = await measure_growth(stage, plan, long, short, advance)
    advance = steps.of("Turns during uploads", 2 * plan.crowd_rounds)
    crowd = await measure_crowd(stage, plan, take(CLIENTS), advance)
    return [*figures, *growth, *ingested, *crowd], times


async def _measure_apart(plan: Plan, folder: Path, steps: "_Steps") -> list[Figure]:
    """What is measured in this process, after the product has gone."""
    analysis = await measure_analysis(folder, plan, steps.of("Analysing pages", 1))
    advance = steps.of("Filling an index", plan.searched_documents)
    return [analysis, *await measure_search(folder, plan, advance)]


def _memory(stage: Stage, when: str) -> list[Figure]:
    return [
        summary("Memory (RSS)", f"{name}, {when}", [mib], "MiB") for name, mib in stage.resident_mib().items()
    ]


class _Steps:
    """Progress bars, one for each step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def of(self, description: str, total: int) -> Advance:
        """A new bar; call what is returned for every part that is done."""
        task = self._progress.add_task(description, total=total)
        return lambda: self._progress.advance(task)
