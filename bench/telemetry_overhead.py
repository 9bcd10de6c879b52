"""What telling how turns go costs: the same product silent, keeping traces, and exporting spans too."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench.client import Advance, ask, prepare_conversations, timed
from bench.connection import connected
from bench.deployment import Stage, new_system
from bench.plan import Plan
from bench.statistics import Figure, flat, summary
from devkit.reports import Target
from orc.cli.ports import free_port

GROUP = "Telemetry"
SILENT, TRACES, SPANS = "neither traces nor spans", "traces kept", "traces kept, spans exported"
AT_MOST = Target(1.05)


async def measure_telemetry(stage: Stage, plan: Plan, folder: Path, advance: Advance) -> list[Figure]:
    """Document turns of three products that differ in nothing else, in turn."""
    with ExitStack() as stack:
        sink = stack.enter_context(_running_sink())
        exporting = {"ORC_TELEMETRY_EXPORTERS": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": sink}
        products = {SILENT: {"ORC_STORE_TURN_TRACES": "false"}, TRACES: {}, SPANS: exporting}
        ports = {}
        for at, (name, settings) in enumerate(products.items()):
            system = new_system(folder / f"telling-{at}", stage.double_port)
            system.environment.update(settings)
            stack.callback(system.stop)
            system.start()
            ports[name] = system.api_port
        times = await _measure_turns(ports, plan, advance)
    return _figures(times)


async def _measure_turns(ports: dict[str, int], plan: Plan, advance: Advance) -> dict[str, list[list[float]]]:
    times: dict[str, list[list[float]]] = defaultdict(list)
    count = plan.rounds * plan.telling_turns_per_round + len(ports)
    waiting = {name: iter(await prepare_conversations(port, count, advance)) for name, port in ports.items()}
    async with AsyncExitStack() as stack:
        open_to = {name: await stack.enter_async_context(connected(port)) for name, port in ports.items()}
        for name, connection in open_to.items():
            await ask(connection, next(waiting[name]))
        for _ in range(plan.rounds):
            for name, connection in open_to.items():
                turns = range(plan.telling_turns_per_round)
                times[name].append([await timed(ask(connection, next(waiting[name]))) for _ in turns])
            advance()
    return times


def _figures(times: dict[str, list[list[float]]]) -> list[Figure]:
    """Each product's turns; then what the telling ones take of the silent one's, round by round."""
    figures = [summary(GROUP, f"document turn, {name}", flat(times[name]), tail=True) for name in times]
    for name in (TRACES, SPANS):
        ratios = [
            median(traced) / median(silent) for traced, silent in zip(times[name], times[SILENT], strict=True)
        ]
        figures.append(summary(GROUP, f"{name}, to the silent turn", ratios, "x", target=AT_MOST))
    return figures


@contextmanager
def _running_sink() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.otlp_sink", str(port)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
