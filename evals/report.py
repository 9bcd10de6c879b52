"""Writes what each ingredient of the retrieval gives: a table, a plot, and the figures as JSON."""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from evals.ablation import Figures, Variant, additions, measure, removals
from evals.corpus import Question, UnusableInput, console, indexed, locate, read_questions
from evals.plot import line_plot
from evals.retrieval import UNUSABLE_INPUT, write_whole

ROOT = Path(__file__).resolve().parents[1]
OPEN = ROOT.parent / "shared" / "data" / "open"
OUTPUT = ROOT / "evals" / "report"
DOCS = ROOT / "docs"
SETS = {
    "open": OPEN / "questions.jsonl",
    "multilingual": OPEN / "questions_multilingual.jsonl",
    "filing": ROOT / "evals" / "filing_questions.jsonl",
}
FOLDERS = (OPEN / "docs", OPEN / "formats")
COLUMNS = ("R@1", "R@5", "MRR")

Results = Mapping[str, Mapping[str, Figures]]
"""Figures by the name of the variant, then by the name of the question set."""

PREFACE = """# Retrieval, ingredient by ingredient

Written by `python -m evals.report --publish`. R@1 and R@5: the share of the pages that a question needs
which are first, or among the first five; MRR: the mean reciprocal rank. Pages are ranked by their best
passage, and nothing but the product's own extraction and search is used.

{sizes}
The questions on the filing were written and the ranking was tuned by the same hands: read those figures as an
upper bound, and the others as a check that nothing is lost.

![What each ingredient gives](retrieval.svg)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 2 where questions or documents cannot be read."""
    options = _parser().parse_args(arguments)
    try:
        sets = {name: read_questions(path) for name, path in SETS.items()}
        added, removed = asyncio.run(run(sets))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    folders = [options.output, DOCS] if options.publish else [options.output]
    for folder in folders:
        write_whole(folder / "retrieval.md", markdown(sets, added, removed))
        write_whole(folder / "retrieval.svg", plot(added))
    figures = {name: {of: asdict(found) for of, found in by_set.items()} for name, by_set in added.items()}
    write_whole(options.output / "figures.json", json.dumps(figures, indent=2) + "\n")
    return 0


async def run(sets: Mapping[str, Sequence[Question]]) -> tuple[Results, Results]:
    """The figures with one ingredient more each time, and with one left out."""
    documents = locate([question for questions in sets.values() for question in questions], FOLDERS)
    async with indexed(documents) as database:
        with Progress(console=console) as progress:
            variants = (additions(), removals())
            task = progress.add_task("Ranking pages", total=sum(map(len, variants)) * len(sets))

            async def of(variant: Variant) -> dict[str, Figures]:
                found = {}
                for name, questions in sets.items():
                    found[name] = await measure(database, variant.weights, questions)
                    progress.advance(task)
                return found

            added, removed = [{variant.name: await of(variant) for variant in group} for group in variants]
    return added, removed


def markdown(sets: Mapping[str, Sequence[Question]], added: Results, removed: Results) -> str:
    """The whole report."""
    sizes = "".join(f"- {name}: {len(questions)} questions\n" for name, questions in sets.items())
    return "\n".join(
        [
            PREFACE.format(sizes=sizes),
            "## Added one after another\n",
            table(list(sets), added),
            "\n## Left out one at a time\n",
            table(list(sets), removed),
            "",
        ]
    )


def table(sets: Sequence[str], results: Results) -> str:
    """One row for each variant; a set's figures share a column, as in `COLUMNS`."""
    head = ["| ranking | " + " | ".join(f"{name} {' / '.join(COLUMNS)}" for name in sets) + " |"]
    head.append("| --- |" + " --- |" * len(sets))
    rows = [
        f"| {variant} | {' | '.join(_cell(by_set[name]) for name in sets)} |"
        for variant, by_set in results.items()
    ]
    return "\n".join([*head, *rows])


def plot(added: Results) -> str:
    """R@5 as the ingredients are added."""
    sets = next(iter(added.values()))
    lines = {f"R@5, {name}": [by_set[name].among_five for by_set in added.values()] for name in sets}
    return line_plot("R@5 as ingredients are added", list(added), lines)


def _cell(figures: Figures) -> str:
    return f"{figures.first:.3f} / {figures.among_five:.3f} / {figures.reciprocal_rank:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.report", description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="a folder (default: evals/report)")
    parser.add_argument("--publish", action="store_true", help="write table and plot to docs/ as well")
    return parser


if __name__ == "__main__":
    sys.exit(main())
