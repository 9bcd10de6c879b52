"""Writes what each ingredient of the retrieval contributes: tables for people, and the figures as JSON."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.progress import track

from devkit.reports import markdown_table, write_whole
from evals.ablation import Figures, Variant, additions, measure, removals
from evals.corpus import Question, UnusableInput, console, indexed, locate, read_questions
from evals.made_documents import made_sets, write_documents
from evals.retrieval import UNUSABLE_INPUT
from evals.variations import earlier_reports, read_pages, vary
from orc_core.search.postings import DocumentIndex, index_passages
from orc_core.storage.sqlite.passages import SqlitePassageIndex

ROOT = Path(__file__).resolve().parents[1]
OPEN = ROOT.parent / "shared" / "data" / "open"
OUTPUT = ROOT / "evals" / "report"
DOCS = ROOT / "docs"
SETS = {
    "open": OPEN / "questions.jsonl",
    "multilingual": OPEN / "questions_multilingual.jsonl",
    "filing": ROOT / "evals" / "filing_questions.jsonl",
    "plain": ROOT / "evals" / "plain_questions.jsonl",
    "plans": ROOT / "evals" / "plan_questions.jsonl",
}
MADE = made_sets
FOLDERS = (OPEN / "docs", OPEN / "formats")
COLUMNS = ("R@1", "R@5", "MRR")

Sets = Mapping[str, Sequence[Question]]
Results = Mapping[str, Mapping[str, Figures]]
"""Figures by the name of the variant, then by the name of the question set."""

PREFACE = """# Retrieval, ingredient by ingredient

Written by `python -m evals.report --publish`. R@1 and R@5: the share of the pages that a question needs
which are first, or among the first five; MRR: the mean reciprocal rank. Pages are ranked by their best
passage, with the product's own extraction and search.

{sizes}
The questions on the filing were written and the ranking was tuned by the same people: those figures are an
upper bound, the others a check that nothing is lost. The ranking was not tuned on the variations, which are
made from the other sets (see `evals/variations.py`): questions that name one of several similar documents,
its year or a numbered table, that have a typing error, or that say how to answer. *Plain* questions use
everyday words instead of those of the documents; *plans* compare two plans and need a page of each. *One of
several* and *several* are about documents that were made for them (`evals/made_documents.py`): similar ones
whose file names say nothing. Of these, leases and reports were used for tuning, manuals and minutes were not.

The tables show the ranking alone. If it finds few of the question's words, the search also takes similar
words, which raises the multilingual set to 0.900 / 1.000 / 0.931; docs/hybrid.md has the whole search.

These figures are those of the SQLite index. Azure AI Search ranks passages itself: of these ingredients it
has headings, file names and the terms and kinds of page of the vocabulary.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 2 if questions or documents cannot be read."""
    options = _parser().parse_args(arguments)
    try:
        sets = read_sets()
        varied, added, removed = asyncio.run(run(sets))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    for folder in [options.output, DOCS] if options.publish else [options.output]:
        write_whole(folder / "retrieval.md", markdown(sets, varied, added, removed))
    figures = {name: {of: asdict(found) for of, found in by_set.items()} for name, by_set in added.items()}
    write_whole(options.output / "figures.json", json.dumps(figures, indent=2) + "\n")
    return 0


def read_sets() -> dict[str, list[Question]]:
    """All question sets by name: those of files, and those on made documents."""
    return {**{name: read_questions(path) for name, path in SETS.items()}, **MADE()}


def find_all_documents(sets: Sets, folder: Path) -> dict[str, Path]:
    """The path of each document that the sets need; `folder` is for those that are made."""
    made = write_documents(folder)
    needed = [question for questions in sets.values() for question in questions]
    found = locate([question for question in needed if not made.keys() & set(question.files)], FOLDERS)
    used = {name for question in needed for name in question.files}
    found |= {name: path for name, path in made.items() if name in used}
    return found | earlier_reports(found, folder)


async def run(sets: Sets) -> tuple[Sets, Results, Results]:
    """The variations of the sets, and the figures with one ingredient added, or left out, at a time."""
    with tempfile.TemporaryDirectory() as folder:
        documents = find_all_documents(sets, Path(folder))
        async with indexed(documents) as database:
            varied = vary(sets, await read_pages(database, documents))
            index = SqlitePassageIndex(database)
            indexes = {name: index_passages(name, await index.get(name)) for name in documents}
    added = _measure_all(indexes, additions(), sets)
    return varied, added, _measure_all(indexes, removals(), {**sets, **varied})


def _measure_all(documents: Mapping[str, DocumentIndex], variants: Sequence[Variant], sets: Sets) -> Results:
    found = {
        name: measure(variants, questions, documents)
        for name, questions in track(sets.items(), "Ranking pages", console=console)
    }
    return {each.name: {name: found[name][each.name] for name in sets} for each in variants}


def markdown(sets: Sets, varied: Sets, added: Results, removed: Results) -> str:
    """The whole report."""
    sizes = {**sets, **varied}.items()
    parts = [
        PREFACE.format(sizes="".join(f"- {name}: {len(questions)} questions\n" for name, questions in sizes)),
        "## Added one after another\n",
        table(list(sets), added),
        "\n## Left out one at a time\n",
        table(list(sets), removed),
        "\n## Left out one at a time, over the variations\n",
        table(list(varied), removed),
    ]
    return "\n".join(parts) + "\n"


def table(sets: Sequence[str], results: Results) -> str:
    """One row for each variant; a set's figures share a column, as in `COLUMNS`."""
    headings = ["ranking", *(f"{name} {' / '.join(COLUMNS)}" for name in sets)]
    rows = ([variant, *(_cell(by_set[name]) for name in sets)] for variant, by_set in results.items())
    return markdown_table(headings, rows)


def _cell(figures: Figures) -> str:
    return f"{figures.first:.3f} / {figures.among_five:.3f} / {figures.reciprocal_rank:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.report", description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="a folder (default: evals/report)")
    parser.add_argument("--publish", action="store_true", help="write the tables to docs/ as well")
    return parser


if __name__ == "__main__":
    sys.exit(main())
