"""Search over a few of many documents: how long it takes in an index of a hundred thousand passages."""

import random
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from bench.client import Advance
from bench.plan import Plan
from bench.statistics import Figure, percentile, summary
from devkit.reports import Target
from orc_core.documents.passages import split_pages
from orc_core.infra.sqlite import Database
from orc_core.models import Page, Passage
from orc_core.storage.sqlite.passages import SCHEMA, SqlitePassageIndex

PASSAGES = 50
"""Passages of each document."""
SCOPE = 5
HITS = 8
COPIES = 8
"""So many documents share a text, each with its own rows: that fills the index quickly."""
SENTENCES_PER_PAGE = 20
WORDS = 30_000
COMMON = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which but have"
    " an they you were her she there been one all we their has would when if so no will him"
).split()
ONSETS = "b c d f g h j k l m n p r s t v w br ch cl cr dr fl gr pl pr sh sp st th tr".split()
VOWELS = "a e i o u ai ea ee io ou".split()
CODAS = ["", "", "", *"b ck d g l m n nd ng nt p r rd rs s st t x".split()]
SEARCH_MS = Target(10)


async def measure_search(folder: Path, plan: Plan, advance: Advance) -> list[Figure]:
    """Questions of a few rare and common words, each over another handful of the documents."""
    database = Database(folder / "search.db")
    try:
        await database.migrate(SCHEMA)
        index = SqlitePassageIndex(database)
        texts = Texts(random.Random(1))
        await _fill(index, texts, plan.searched_documents, advance)
        times, processor = await _search(index, texts, plan)
    finally:
        await database.close()
    group = f"Search in {SCOPE} of {plan.searched_documents:,} documents"
    name = f"{plan.searched_documents * PASSAGES:,} passages"
    return [
        summary(group, f"{name}, median", times),
        Figure(group, f"{name}, p95", percentile(times, 95), "ms", len(times), target=SEARCH_MS),
        Figure(group, f"{name}, p95 of CPU", percentile(processor, 95), "ms", len(times)),
    ]


class Texts:
    """Texts whose words are as common and as rare as in real ones (Zipf's law)."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        made = {self._word() for _ in range(3 * WORDS)}
        self.words = [*COMMON, *source.sample(sorted(made), WORDS)]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def passages(self, document_id: str, count: int = PASSAGES) -> list[Passage]:
        """The passages of a new document."""
        passages: list[Passage] = []
        page = 0
        while len(passages) < count:
            page += 1
            passages += split_pages(document_id, [Page(number=page, text=self._page(page))])
        return passages[:count]

    def question(self) -> str:
        """A plausible question about any document."""
        rare = self._source.sample(self.words[len(COMMON) : 3000], 3)
        return f"What is the {rare[0]} of {rare[1]} in {self._source.randint(1990, 2030)} and the {rare[2]}?"

    def _word(self) -> str:
        syllables = self._source.randint(1, 4)
        return "".join(
            self._source.choice(part) for _ in range(syllables) for part in (ONSETS, VOWELS, CODAS)
        )

    def _page(self, number: int) -> str:
        sentences = " ".join(self._sentence() for _ in range(SENTENCES_PER_PAGE))
        return f"{number}. {self._sentence()}\n\n{sentences}"

    def _sentence(self) -> str:
        words = self._source.choices(self.words, cum_weights=self._weights, k=self._source.randint(8, 30))
        words[-1:] = [str(self._source.randint(1, 9999))] if self._source.random() < 0.2 else words[-1:]
        return " ".join(words).capitalize() + "."


def _id(number: int) -> str:
    return f"document-{number}"


async def _fill(index: SqlitePassageIndex, texts: Texts, count: int, advance: Advance) -> None:
    for first in range(0, count, COPIES):
        await index.save(_id(first), _id(first), texts.passages(_id(first)))
        advance()
        for number in range(first + 1, min(first + COPIES, count)):
            await index.copy(_id(first), _id(number), _id(number))
            advance()


async def _search(index: SqlitePassageIndex, texts: Texts, plan: Plan) -> tuple[list[float], list[float]]:
    """Milliseconds of each search, on the clock and on the processor."""
    times, processor = [], []
    for scope in _scopes(plan):
        started, used = time.perf_counter(), time.process_time()
        await index.search(texts.question(), scope, HITS)
        times.append(1000 * (time.perf_counter() - started))
        processor.append(1000 * (time.process_time() - used))
    return times, processor


def _scopes(plan: Plan) -> Iterator[Sequence[str]]:
    source = random.Random(2)
    for _ in range(plan.searches):
        yield [_id(number) for number in source.sample(range(plan.searched_documents), SCOPE)]
