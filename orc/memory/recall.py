"""Recall: chooses from a memory what is relevant to a question, and renders it as a block of a prompt."""

import asyncio
import logging
import math
import unicodedata
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import NamedTuple, TypeAlias

from orc.memory.models import Memory, Note, NoteKind, Recalled, SummaryPoint
from orc.memory.notes import Asked, forget_texts, freshness, terms_in
from orc_core.documents.ports import Embedder
from orc_core.errors import OrcError
from orc_core.grounding.citations import as_said
from orc_core.grounding.sources import without_markers
from orc_core.llm.messages import (
    ANSWERED,
    NOT_FOUND_BEFORE,
    USER_SAID,
    USER_WANTS,
    fence_remembered,
    remembered_line,
)
from orc_core.llm.tokens import TokenCounter, take_each_fitting
from orc_core.search.bm25 import floored, idf_of_terms

logger = logging.getLogger(__name__)

KEPT_VECTORS = 4096
"""Vectors cached per process; 25 MB at 1,536 numbers each."""
SECONDS = 1.0
"""How long a turn waits. Embeddings that arrive later are cached for the next turns."""

Vectors: TypeAlias = "dict[str, array[float]]"


class TextVectors:
    """Compares a question with texts by their meaning; the embedding of each is cached while it is used.

    Texts are repeated from turn to turn.
    """

    def __init__(self, embedder: Embedder, *, seconds: float = SECONDS, kept: int = KEPT_VECTORS) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._most = kept
        self._kept: OrderedDict[str, array[float]] = OrderedDict()
        self._running: set[asyncio.Task[Vectors]] = set()

    async def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text with the question.

        Raises an OrcError if no model answers, and TimeoutError if it takes longer than a turn waits.
        """
        known = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        async with asyncio.timeout(self._seconds):
            asked, made = await asyncio.gather(self._embedder.embed_query(question), self._made(new))
        vectors = known | made
        if any(len(vector) != len(asked) for vector in vectors.values()):
            # Vectors of the previous model cannot be compared with those of this one.
            self._kept.clear()
            raise OrcError("The embedding model gives other vectors than before.")
        self._keep(vectors)
        import numpy as np  # a process without an embedder does not load it

        question_row = np.array(asked, dtype=np.float32)
        rows = np.array([vectors[text] for text in texts], dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(question_row)
        cosines: list[float] = (rows @ question_row / np.maximum(lengths, np.finfo(np.float32).tiny)).tolist()
        return cosines

    def forget_texts(self) -> None:
        """Drop every cached text."""
        self._kept.clear()

    async def close(self) -> None:
        """Cancel embeddings that are under way."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _made(self, texts: list[str]) -> Vectors:
        if not texts:
            return {}
        task = asyncio.create_task(self._embed(texts))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def _embed(self, texts: list[str]) -> Vectors:
        made = await self._embedder.embed_passages(texts)
        vectors = {text: array("f", vector) for text, vector in zip(texts, made, strict=True)}
        self._keep(vectors)
        return vectors

    def _ended(self, task: asyncio.Task[Vectors]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("remembered texts were not embedded: %s", type(error).__name__)

    def _keep(self, vectors: Vectors) -> None:
        for text, vector in vectors.items():
            self._kept[text] = vector
            self._kept.move_to_end(text)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


MOST_POINTS, MOST_NOTES, MOST_WISHES, MOST_GUESSED = 6, 8, 4, 3
LEAST_SHARE = 0.2
"""The share of a question's weight that the words of a note or point must cover to be relevant."""
SHARE_OF_BEST = 0.3
CLEARLY_NEARER = 0.5
"""Standard deviations above the mean similarity from which a text is relevant by its meaning."""
LEAST_TEXTS = 4
"""With fewer texts a mean is not meaningful."""
FADED = 0.5
"""The share of its relevance that even the oldest text keeps."""
POINT_HALF_LIFE = 200

Item = Note | SummaryPoint
_LABELS = {
    NoteKind.PREFERENCE: USER_WANTS,
    NoteKind.FACT: USER_SAID,
    NoteKind.QUESTION: NOT_FOUND_BEFORE,
}


class Ranked(NamedTuple):
    """The relevant items, best first. `reason`: why not by meaning, if they were ranked by words."""

    items: list[Item]
    by_meaning: bool = False
    reason: str = ""


class Selection:
    """Chooses from memories: by meaning if there is a `nearness` and it answers, otherwise by words."""

    def __init__(self, tokens: int, counter: TokenCounter, nearness: TextVectors | None = None) -> None:
        self._tokens = tokens
        self._counter = counter
        self._nearness = nearness

    async def choose(self, question: str, memory: Memory) -> Recalled:
        """The part of the memory that the question needs. It always has the newest wishes."""
        asked = Asked(question)
        wishes = [note for note in reversed(memory.notes) if note.kind is NoteKind.PREFERENCE][:MOST_WISHES]
        others = [note for note in memory.notes if note.kind is not NoteKind.PREFERENCE]
        ranked = await self._ranked(question, asked, [*others, *memory.summary], memory.latest_seq)
        notes = [item for item in ranked.items if isinstance(item, Note)][: MOST_NOTES - len(wishes)]
        points = [item for item in ranked.items if isinstance(item, SummaryPoint)][:MOST_POINTS]
        left = self._tokens - self._counter.count(fence_remembered([]))
        chosen: list[Item] = take_each_fitting(
            [*wishes, *notes, *points], left, lambda item: self._counter.count(f"\n{line_of(item)}")
        )
        facts = [note for note in others if note.kind is NoteKind.FACT]
        return Recalled(
            notes=[item for item in chosen if isinstance(item, Note)],
            summary=[item for item in chosen if isinstance(item, SummaryPoint)],
            left_out=len(memory.notes) + len(memory.summary) - len(chosen),
            method="embeddings" if ranked.by_meaning else "lexical",
            reason=ranked.reason,
            coverage=_coverage(asked, facts),
            lasting_coverage=_coverage(asked, [fact for fact in facts if fact.lasting]),
        )

    def forget_texts(self) -> None:
        """Drop the texts of all conversations that this process has cached."""
        forget_texts()
        if self._nearness is not None:
            self._nearness.forget_texts()

    async def _ranked(self, question: str, asked: Asked, items: Sequence[Item], latest: int) -> Ranked:
        if not asked.is_specific:
            # The words of `And what about me?` say nothing: the newest statements are the best guess.
            notes = [item for item in items if isinstance(item, Note)]
            return Ranked(_best(notes, [1.0] * len(notes), latest)[:MOST_GUESSED])
        # The share of the question that each item's words cover, weighted by rarity; 0 if it is too small.
        texts = [asked.terms & terms_in(item.text, asked.language) for item in items]
        weights = floored(idf_of_terms(asked.terms, texts))
        shares = [asked.share(weights, item.text) for item in items]
        enough = max(LEAST_SHARE, SHARE_OF_BEST * max(shares, default=0.0))
        worth = [share if share >= enough else 0.0 for share in shares]
        if self._nearness is None or not items:
            return Ranked(_best(items, worth, latest))
        try:
            near = await self._nearness.compare(question, [item.text for item in items])
        except OrcError as exc:
            reason = exc.message
        except TimeoutError:
            reason = "The embedding model took too long."
        except Exception:
            # The outermost edge: words are good enough, so no turn fails because of this.
            logger.exception("texts could not be compared by meaning")
            reason = "Comparing by meaning failed unexpectedly."
        else:
            # Relative to the others, as cosines differ between embedding models.
            least = fmean(near) + CLEARLY_NEARER * pstdev(near) if len(near) >= LEAST_TEXTS else 0.0
            relevant = [n if w or n >= least else 0.0 for n, w in zip(near, worth, strict=True)]
            return Ranked(_best(items, relevant, latest), by_meaning=True)
        return Ranked(_best(items, worth, latest), reason=reason)


def _best(items: Sequence[Item], worth: Sequence[float], latest: int) -> list[Item]:
    """The items with a worth above 0, best first, older ones faded; of equals, the newer one."""
    faded = [
        each * (FADED + (1 - FADED) * _freshness(item, latest))
        for item, each in zip(items, worth, strict=True)
    ]
    order = sorted(range(len(items)), key=lambda at: (faded[at], at), reverse=True)
    return [items[at] for at in order if faded[at] > 0]


def _freshness(item: Item, latest: int) -> float:
    if isinstance(item, Note):
        return freshness(item, latest)
    return math.exp2(-max(latest - item.last_seq, 0) / POINT_HALF_LIFE)


def _coverage(asked: Asked, facts: Sequence[Note]) -> float:
    """The share of the question's terms that the best statement covers, if users ask about themselves.

    What they said about their own deposit says nothing about the deposit in a document.
    """
    if not asked.is_about_the_user or not asked.terms:
        return 0.0
    weights = dict.fromkeys(asked.terms, 1.0)
    return max((asked.share(weights, fact.text) for fact in facts), default=0.0)


def remembered(recalled: Recalled, tokens: int, counter: TokenCounter) -> str:
    """The block, within so many tokens: wishes, statements, open questions, then points; empty without any.

    If it does not fit, the last of the best-first lists are left out. Statements are shown oldest first: of
    two that contradict each other the later one is valid.
    """
    items: list[Item] = [*recalled.notes, *recalled.summary]
    kept: list[Item] = []
    for item in sorted(items, key=_block_of):
        lines = [line_of(each) for each in [*kept, item]]
        if counter.count(fence_remembered(lines)) <= tokens:
            kept.append(item)
    return fence_remembered([line_of(item) for item in sorted(kept, key=_place)]) if kept else ""


def _block_of(item: Item) -> int:
    return list(_LABELS).index(item.kind) if isinstance(item, Note) else len(_LABELS)


def _place(item: Item) -> tuple[int, int]:
    """Sorts statements by age; the order of other items is kept."""
    said = item.last_seen if isinstance(item, Note) and item.kind is NoteKind.FACT else 0
    return _block_of(item), said


def line_of(item: Note | SummaryPoint) -> str:
    """A note or a point as one line, which cannot contain a source, a marker or another speaker."""
    label = _LABELS[item.kind] if isinstance(item, Note) else ANSWERED
    visible = "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp") else " " for c in item.text
    )
    return remembered_line(label, without_markers(as_said(" ".join(visible.split()))))
