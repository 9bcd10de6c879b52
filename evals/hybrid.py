"""Compares words, the vectors of a real embedder and their fusion on all question sets.

The fusion's weights and thresholds were chosen on the tuning half (see `evals/splits.py`).
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from rich.progress import track

from devkit.reports import markdown_table, write_whole
from evals.ablation import Figures, average, score_each
from evals.cached_vectors import CachedEmbedder
from evals.corpus import Question, UnusableInput, console, indexed
from evals.minilm import SentenceEmbedder, packaged_model
from evals.report import DOCS, OUTPUT, find_all_documents, read_sets
from evals.retrieval import DEPTH, UNUSABLE_INPUT, embed, rank
from evals.splits import Half, select
from evals.variations import read_pages, vary
from orc_core.documents.ports import Embedder, PassageIndex, Retriever, VectorIndex
from orc_core.models import Hit, Retrieval
from orc_core.search.hybrid import CANDIDATES, HybridRetriever, fuse_hits
from orc_core.storage.sqlite.passages import SqlitePassageIndex

WORDS, VECTORS, EQUAL, PRODUCT = "words", "vectors", "equal weights", "the product"
SAMPLES = 2000
TITLES: dict[Half, str] = {"tuning": "Half for tuning", "test": "Half for the test"}

Sets = Mapping[str, Sequence[Question]]

PREFACE = """# Words, vectors and both

Written by `python -m evals.hybrid --publish`, with the embedder all-MiniLM-L6-v2 (`evals/minilm.py`). Each
cell is R@5 / MRR as in [retrieval.md](retrieval.md). *Equal weights* is plain reciprocal rank fusion; *the
product* is `HybridRetriever`, which gives vectors little weight if words suffice. The last column is the
difference of MRR between the product and words alone, with the 95 % interval of 2,000 samples with
replacement. Weights and thresholds were chosen on the half for tuning; the halves have no document in common.
"""


class _VectorsAlone:
    """Ranks by vectors only."""

    def __init__(self, index: PassageIndex, vectors: VectorIndex, embedder: Embedder) -> None:
        self._index = index
        self._vectors = vectors
        self._embedder = embedder

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        vector = await self._embedder.embed_query(query)
        near = await self._vectors.nearest(vector, document_ids, top_k)
        passages = {key: await self._index.get(key) for key in {each.document_id for each in near}}
        return Retrieval(
            hits=[Hit(passage=passages[at.document_id][at.ordinal], score=at.similarity) for at in near]
        )


class _EqualWeights:
    """Fuses the ranks of words and of vectors, each with the same weight."""

    def __init__(self, words: Retriever, vectors: Retriever) -> None:
        self._sides = (vectors, words)

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        depth = max(top_k, CANDIDATES)
        found = [await side.search(query, document_ids, depth) for side in self._sides]
        return Retrieval(hits=fuse_hits(*(each.hits for each in found)))


class Compared(NamedTuple):
    """The figures of each question, by the way of ranking."""

    questions: int
    figures: Mapping[str, Sequence[Figures]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 2 if questions, documents or the model cannot be read."""
    options = _parser().parse_args(arguments)
    try:
        results = asyncio.run(run(read_sets(), CachedEmbedder(SentenceEmbedder(packaged_model()))))
    except UnusableInput as exc:
        print(f"error: {exc}", file=sys.stderr)
        return UNUSABLE_INPUT
    for folder in [options.output, DOCS] if options.publish else [options.output]:
        write_whole(folder / "hybrid.md", markdown(results))
    return 0


async def run(sets: Sets, embedder: CachedEmbedder) -> dict[Half, dict[str, Compared]]:
    """All ways of ranking on both halves of all sets and their variations."""
    with tempfile.TemporaryDirectory() as folder:
        documents = find_all_documents(sets, Path(folder))
        async with indexed(documents) as database:
            every = {**sets, **vary(sets, await read_pages(database, documents))}
            index, vectors = SqlitePassageIndex(database), await embed(database, embedder, documents)
            words, near = HybridRetriever(index), _VectorsAlone(index, vectors, embedder)
            product = HybridRetriever(index, vectors, embedder)
            ways: dict[str, Retriever] = {
                WORDS: words,
                VECTORS: near,
                EQUAL: _EqualWeights(words, near),
                PRODUCT: product,
            }
            halves: dict[Half, dict[str, Compared]] = {"tuning": {}, "test": {}}
            for name in track(every, "Ranking pages", console=console):
                for half in get_args(Half):
                    if chosen := select(every[name], half):
                        halves[half][name] = await _compare(ways, chosen)
    return halves


async def _compare(ways: Mapping[str, Retriever], questions: Sequence[Question]) -> Compared:
    ranked = {way: [await rank(each, q, DEPTH) for q in questions] for way, each in ways.items()}
    return Compared(len(questions), {way: score_each(questions, found) for way, found in ranked.items()})


def markdown(results: Mapping[Half, Mapping[str, Compared]]) -> str:
    """The whole report."""
    parts = [PREFACE]
    for half, by_set in results.items():
        parts += [f"## {TITLES[half]}\n", _table(by_set), ""]
    return "\n".join(parts)


def _table(by_set: Mapping[str, Compared]) -> str:
    ways = (WORDS, VECTORS, EQUAL, PRODUCT)
    rows = [
        [name, str(each.questions), *(_cell(average(each.figures[way])) for way in ways), _difference(each)]
        for name, each in by_set.items()
    ]
    return markdown_table(["questions", "n", *ways, f"{PRODUCT} - {WORDS}, MRR"], rows)


def _cell(figures: Figures) -> str:
    return f"{figures.among_five:.3f} / {figures.reciprocal_rank:.3f}"


def _difference(compared: Compared) -> str:
    sides = zip(compared.figures[PRODUCT], compared.figures[WORDS], strict=True)
    gained = [one.reciprocal_rank - other.reciprocal_rank for one, other in sides]
    low, high = interval(gained)
    return f"{sum(gained) / len(gained):+.3f} [{low:+.3f}, {high:+.3f}]"


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean of values, by bootstrap; the same in every run."""
    chance = random.Random(0)
    means = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(SAMPLES))
    return means[int(SAMPLES * 0.025)], means[int(SAMPLES * 0.975)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.hybrid", description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="a folder (default: evals/report)")
    parser.add_argument("--publish", action="store_true", help="write the tables to docs/ as well")
    return parser


if __name__ == "__main__":
    sys.exit(main())
