"""Ranks the pages of each question's documents, through the product's own extraction and search."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from rich.progress import track

from core.search.hybrid import HybridRetriever
from core.storage.sqlite.passages import SqlitePassageIndex
from devkit.ranked_pages import rank_pages
from devkit.reports import write_whole
from evals.corpus import Question, UnusableInput, console, find_documents, indexed, read_questions

DEPTH = 20
FIRST_HITS_PER_PAGE = 4
UNUSABLE_INPUT = 2


class RankedPage(TypedDict):
    """A page in the ranking; pages count from 1."""

    file: str
    page: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. If the input cannot be used, the exit code is 2 and nothing is written."""
    options = _parser().parse_args(arguments)
    try:
        questions = read_questions(options.questions)
        documents = find_documents(options.questions.parent, questions)
        lines = asyncio.run(rank_questions(questions, documents, options.depth))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    write_whole(options.output, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return 0


async def rank_questions(
    questions: Sequence[Question], documents: dict[str, Path], depth: int
) -> list[dict[str, object]]:
    """One line of the ranking for each question; a file's name is its document id."""
    async with indexed(documents) as database:
        index = SqlitePassageIndex(database)
        return [
            {"id": question.id, "ranked": await rank(index, question, depth)}
            for question in track(questions, "Ranking pages", console=console)
        ]


async def rank(index: SqlitePassageIndex, question: Question, depth: int) -> list[RankedPage]:
    """The best pages of a question's documents, best first."""
    retriever = HybridRetriever(index)
    wanted = depth * FIRST_HITS_PER_PAGE
    hits = (await retriever.search(question.question, question.files, wanted)).hits
    while len(hits) == wanted and len(rank_pages(hits)) < depth:
        wanted *= 4
        hits = (await retriever.search(question.question, question.files, wanted)).hits
    return [RankedPage(file=file, page=page) for file, page in rank_pages(hits)[:depth]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.retrieval", description=__doc__)
    parser.add_argument("questions", type=Path, help="JSON Lines with id, question and files")
    parser.add_argument("--output", type=Path, required=True, help="file for the ranking, JSON Lines")
    parser.add_argument("--depth", type=int, default=DEPTH, help="pages for each question (default: 20)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
