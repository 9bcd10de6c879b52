"""`python -m bench [--quick]`: measure the product, print a table and write it as JSON."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.deployment import ROOT
from bench.plan import FULL, QUICK
from bench.report import busy_warning, write
from bench.run import measure
from devkit.system import interrupted_by_sigterm

TABLE_WIDTH = 100
LATEST = ROOT / "bench" / "results" / "latest.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. The exit code is 1 if a part failed; targets that are not met do not change it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, in a quarter of the time")
    parser.add_argument("--output", type=Path, default=LATEST, help="where the JSON goes")
    options = parser.parse_args(arguments)
    output = options.output.resolve()
    console = Console()
    console.width = max(console.width, TABLE_WIDTH)
    with interrupted_by_sigterm():
        report = measure(QUICK if options.quick else FULL, console, lambda so_far: write(so_far, output))
    console.print(report.as_table())
    if warning := busy_warning(max(report.load_before, report.load_after)):
        console.print(f"[yellow]{warning}[/]")
    console.print(f"{report.seconds:.0f} s; written to {output}")
    for name, reason in {**report.left_out, **report.failed}.items():
        console.print(f"[yellow]Not measured: {name}. {reason}[/]")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
