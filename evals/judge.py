"""How often a judge is right about claims that people have labelled.

`python -m evals.judge FILE.jsonl... [--model NAME] [--sample N]` asks the judge of the settings (ORC_JUDGE,
the critic model) about the claims of the files, in the format of `python -m evals.claims`, and prints how
many right and wrong claims it calls what. Halves are by a hash of the evidence: a prompt is chosen on
`tuning`, and `report` counts. `--keep` keeps the balanced accuracy of the report halves in the data
directory; if that is enough, the next `orc serve` has the judge read answers.

The verdicts are written to `--output` as they come: the same command goes on where it was stopped.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from devkit.reports import markdown_table
from orc.judges.building import open_judge
from orc.judges.measuring import (
    FILE,
    LEAST_ACCURACY,
    LEAST_CLAIMS,
    Judged,
    Labelled,
    accuracy_of,
    counted,
    judge_claims,
    keep_measured,
    read_claims,
)
from orc.judges.ports import SupportJudge
from orc.settings import load
from orc_core.errors import OrcError

VERDICTS = ("supported", "unsupported", "unknown")


def table(sets: Mapping[str, Sequence[Judged]], judge: SupportJudge) -> str:
    """A row for each set and half."""
    rows = []
    for name, judged in sets.items():
        for half in ("tuning", "report"):
            chosen = [each for each in judged if each[0].half == half]
            counts = [counted(chosen, is_right=label) for label in (True, False)]
            if all(counts):
                found = [(each[verdict], each.total()) for each in counts for verdict in VERDICTS]
                cells = [f"{n} of {total}" for n, total in found]
                rows.append([name, half, *cells, f"{accuracy_of(judge, chosen).balanced:.3f}"])
    headings = [f"{label}, {verdict}" for label in ("right", "wrong") for verdict in VERDICTS]
    return markdown_table(["set", "half", *headings, "balanced accuracy"], rows)


def sampled(claims: list[Labelled], most: int) -> list[Labelled]:
    """So many of the claims in their order, the same each time; all if `most` is 0."""
    chosen = sorted(claims, key=lambda each: sha256(each.id.encode()).digest())[: most or None]
    ids = {each.id for each in chosen}
    return [each for each in claims if each.id in ids]


async def measure(given: argparse.Namespace, console: Console) -> None:
    """Ask the judge, print the table, and keep the result if that is wanted."""
    settings = load()
    async with AsyncExitStack() as stack:
        judge = open_judge(settings, stack, model=given.model)
        sets: dict[str, list[Judged]] = {}
        with Progress(console=console) as progress:
            for file in given.files:
                claims = sampled(read_claims(file), given.sample)
                advance = partial(progress.advance, progress.add_task(file.stem, total=len(claims)))
                kept = given.output / f"{file.stem}.judged.jsonl"
                sets[file.stem] = await judge_claims(judge, claims, kept, advance)
    console.print(f"{judge.name}, version {judge.version}")
    sys.stdout.write(f"{table(sets, judge)}\n")
    reported = [each for judged in sets.values() for each in judged if each[0].half == "report"]
    found = accuracy_of(judge, reported)
    console.print(f"balanced accuracy on the report halves: {found.balanced:.3f} of {found.claims} claims")
    if given.keep:
        keep_measured(settings.data_dir, judge.name, found)
        needed = f"{LEAST_ACCURACY} of {LEAST_CLAIMS} claims"
        console.print(f"kept in {settings.data_dir / FILE}; to judge answers, {needed} are needed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m evals.judge", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="claims, one JSON object a line")
    parser.add_argument("--model", help="the model; default: the critic model of the settings")
    parser.add_argument("--sample", type=int, default=0, help="so many claims of each file")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the verdicts")
    parser.add_argument("--keep", action="store_true", help="keep the result in the data directory")
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    try:
        asyncio.run(measure(given, console))
    except OrcError as exc:
        console.print(f"{exc.message} The same command goes on where it stopped.", markup=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
