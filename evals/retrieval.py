"""Ranks the pages of each question's documents, through the product's own extraction and search.

If the questions name the pages that answer them, it prints how many of these are ranked first and among
the first five, and the mean reciprocal rank: in two checkouts, what a change of the ranking is worth.
"""

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from rich.progress import track

from devkit.ranked_pages import rank_pages
from devkit.reports import write_whole
from evals.cached_vectors import CachedEmbedder
from evals.corpus import Question, UnusableInput, console, find_documents, indexed, locate, read_questions
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


@dataclass(frozen=True)
class Figures:
    """The shares of the needed pages that are first, or among the first five, and the mean reciprocal rank.

    Averages over questions; of alternative pages one is needed.
    """

    first: float
    among_five: float
    reciprocal_rank: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. If the input cannot be used, the exit code is 2 and nothing is written."""
    options = _parser().parse_args(arguments)
    try:
        questions = read_questions(options.questions)
        folders = options.documents
        documents = (
            locate(questions, folders) if folders else find_documents(options.questions.parent, questions)
        )
        embedder = CachedEmbedder(SentenceEmbedder(packaged_model())) if options.hybrid else None
        rankings = asyncio.run(rank_questions(questions, documents, options.depth, embedder))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    lines = [
        {"id": question.id, "ranked": pages} for question, pages in zip(questions, rankings, strict=True)
    ]
    write_whole(options.output, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    if all(question.gold for question in questions):
        print(score(questions, rankings))
    return 0


async def rank_questions(
    questions: Sequence[Question], documents: dict[str, Path], depth: int, embedder: Embedder | None = None
) -> list[list[RankedPage]]:
    """The ranking for each question; a file's name is its document id.

    By words; with an embedder, by words and vectors.
    """
    async with indexed(documents) as database:
        retriever = HybridRetriever(SqlitePassageIndex(database))
        if embedder is not None:
            vectors = await embed(database, embedder, documents)
            retriever = HybridRetriever(SqlitePassageIndex(database), vectors, embedder)
        return [
            await rank(retriever, question, depth)
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


def score(questions: Sequence[Question], rankings: Sequence[Sequence[RankedPage]]) -> Figures:
    """The figures of rankings, one for each question in the same order."""
    ranks = [_ranks_of_gold(question, pages) for question, pages in zip(questions, rankings, strict=True)]
    count = max(1, len(ranks))
    return Figures(
        first=sum(_share_within(1, found) for found in ranks) / count,
        among_five=sum(_share_within(5, found) for found in ranks) / count,
        reciprocal_rank=sum(1 / min(found, default=math.inf) for found in ranks) / count,
    )


def _ranks_of_gold(question: Question, pages: Sequence[RankedPage]) -> list[float]:
    """The rank of the best alternative of each needed page; infinity if none is ranked."""
    places = {(page["file"], page["page"]): place for place, page in reversed(list(enumerate(pages, 1)))}
    ranks: dict[int, float] = {}
    for number, gold in enumerate(question.gold):
        group = -1 - number if gold.group is None else gold.group
        place = places.get((gold.file, gold.page), math.inf)
        ranks[group] = min(place, ranks.get(group, math.inf))
    return list(ranks.values())


def _share_within(rank: int, found: Sequence[float]) -> float:
    return sum(place <= rank for place in found) / max(1, len(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.retrieval", description=__doc__)
    parser.add_argument("questions", type=Path, help="JSON Lines with id, question and files")
    parser.add_argument("--output", type=Path, required=True, help="file for the ranking, JSON Lines")
    help_documents = "folders of the documents (default: the docs* folders next to the questions)"
    parser.add_argument("--documents", type=Path, nargs="*", help=help_documents)
    parser.add_argument("--depth", type=int, default=DEPTH, help="pages for each question (default: 20)")
    parser.add_argument("--hybrid", action="store_true", help="by vectors too (see evals/minilm.py)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
