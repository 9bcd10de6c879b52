"""How long it takes to import the Functions app, and to serve."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from bench.client import Advance
from bench.deployment import set_up
from bench.plan import Plan
from bench.statistics import Figure, summary
from devkit.reports import Target

IMPORT_SECONDS = Target(1.5)
SERVING_SECONDS = Target(3)


def measure_import(plan: Plan, advance: Advance) -> list[Figure]:
    """Seconds of the imports beyond those of a bare Python, with warm .pyc files.

    Measures what Azure's host imports, and the API, which the first request imports at the latest.
    """
    figures = []
    for module, target in (("function_app", IMPORT_SECONDS), ("orc.api.app", None)):
        seconds, processor = _import_seconds(module, plan.imports, advance)
        figures += [
            summary("Start", f"import {module}", seconds, "s", target=target),
            summary("Start", f"import {module}, CPU", processor, "s"),
        ]
    return figures


def _import_seconds(module: str, times: int, advance: Advance) -> tuple[list[float], list[float]]:
    """On the clock and on the processor."""
    _run_python(f"import {module}")
    seconds, processor = [], []
    for _ in range(times):
        bare_seconds, bare_processor = _run_python("pass")
        import_seconds, import_processor = _run_python(f"import {module}")
        seconds.append(import_seconds - bare_seconds)
        processor.append(import_processor - bare_processor)
        advance()
    return seconds, processor


def start_and_stop(folder: Path, times: int, advance: Advance) -> list[float]:
    """Seconds from `orc serve` to the first 200 of /api/ready, in a data folder that is new each time."""
    seconds = []
    for number in range(times):
        with set_up(folder / f"start-{number}") as stage:
            seconds.append(stage.start_seconds)
        advance()
    return seconds


def starts(seconds: Sequence[float]) -> Figure:
    """The figure of these starts."""
    return summary("Start", "orc serve to ready", seconds, "s", target=SERVING_SECONDS)


def _run_python(code: str) -> tuple[float, float]:
    """Seconds on the clock and on the processor."""
    started, used = time.perf_counter(), _children_seconds()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started, _children_seconds() - used


def _children_seconds() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
