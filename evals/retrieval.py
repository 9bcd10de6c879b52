"""Ranks the pages of each question's documents, through the product's own extraction and search."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from rich.progress import track

from devkit.ranked_pages import rank_pages
from devkit.reports import write_whole
from evals.cached_vectors import CachedEmbedder
from evals.corpus import Question, UnusableInput, console, find_documents, indexed, read_questions
from evals.minilm import SentenceEmbedder, packaged_model
from orc_core.documents.ports import Embedder, Retriever
from orc_core.infra.sqlite import Database
from orc_core.search.hybrid import HybridRetriever, PassageEmbedder
from orc_core.storage.sqlite.passages import SqlitePassageIndex
from orc_core.storage.sqlite.vectors import SCHEMA as VECTORS
from orc_core.storage.sqlite.vectors import SqliteVectorIndex

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
        embedder = CachedEmbedder(SentenceEmbedder(packaged_model())) if options.hybrid else None
        lines = asyncio.run(rank_questions(questions, documents, options.depth, embedder))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    write_whole(options.output, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return 0


async def rank_questions(
    questions: Sequence[Question], documents: dict[str, Path], depth: int, embedder: Embedder | None = None
) -> list[dict[str, object]]:
    """One line of the ranking for each question; a file's name is its document id.

    By words; with an embedder, by words and vectors.
    """
    async with indexed(documents) as database:
        retriever = HybridRetriever(SqlitePassageIndex(database))
        if embedder is not None:
            vectors = await embed(database, embedder, documents)
            retriever = HybridRetriever(SqlitePassageIndex(database), vectors, embedder)
        return [
            {"id": question.id, "ranked": await rank(retriever, question, depth)}
            for question in track(questions, "Ranking pages", console=console)
        ]


async def embed(database: Database, embedder: Embedder, documents: Iterable[str]) -> SqliteVectorIndex:
    """The vectors of the passages of indexed documents."""
    index, vectors = SqlitePassageIndex(database), SqliteVectorIndex(database, embedder.name)
    await database.migrate(VECTORS)
    writer = PassageEmbedder(embedder, vectors)
    for name in track(list(documents), "Embedding passages", console=console):
        await writer.index(name, await index.get(name))
    return vectors


async def rank(retriever: Retriever, question: Question, depth: int) -> list[RankedPage]:
    """The best pages of a question's documents, best first."""
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
    parser.add_argument("--hybrid", action="store_true", help="by vectors too (see evals/minilm.py)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
