"""What of a memory one turn is told: what bears on its question, the fresh first, within a budget."""

import logging
import math
from collections.abc import Sequence
from typing import NamedTuple

from core.errors import OrcError
from core.llm.messages import fence_remembered
from core.llm.token_budget import take_each_fitting
from core.llm.tokens import TokenCounter
from core.search.bm25 import floored, idf_of_terms
from orc.memory.models import Memory, Note, NoteKind, Recalled, SummaryPoint
from orc.memory.notes import freshness
from orc.memory.ports import Nearness
from orc.memory.rendering import line_of
from orc.memory.terms import Asked, terms_in

logger = logging.getLogger(__name__)

MOST_POINTS, MOST_NOTES, MOST_WISHES, MOST_GUESSED = 6, 8, 4, 3
LEAST_SHARE = 0.2
"""Of the weight of a question's words that a note or a point must have, to bear on it by its words."""
SHARE_OF_BEST = 0.3
CLEARLY_NEARER = 0.5
"""Standard deviations above the mean by which a text must be near to bear on a question by its meaning."""
LEAST_TEXTS = 4
"""With fewer, a mean says nothing."""
FADED = 0.5
"""What a text keeps of its worth however long ago it was said."""
POINT_HALF_LIFE = 200

Item = Note | SummaryPoint


class Ranked(NamedTuple):
    """Items that bear on a question, best first; `reason`: why not by meaning, where that was not used."""

    items: list[Item]
    by_meaning: bool = False
    reason: str = ""


class Selection:
    """Chooses from memories. With `nearness` by meaning, as far as that answers; else by words alone."""

    def __init__(self, tokens: int, counter: TokenCounter, nearness: Nearness | None = None) -> None:
        self._tokens = tokens
        self._counter = counter
        self._nearness = nearness

    async def choose(self, question: str, memory: Memory) -> Recalled:
        """What of the memory the question needs. Wishes are always in it, newest first."""
        asked = Asked(question)
        wishes = [note for note in reversed(memory.notes) if note.kind is NoteKind.PREFERENCE][:MOST_WISHES]
        others = [note for note in memory.notes if note.kind is not NoteKind.PREFERENCE]
        ranked = await self._ranked(question, asked, [*others, *memory.summary], memory.latest_seq)
        notes = [item for item in ranked.items if isinstance(item, Note)][: MOST_NOTES - len(wishes)]
        points = [item for item in ranked.items if isinstance(item, SummaryPoint)][:MOST_POINTS]
        chosen = self._within_budget([*wishes, *notes, *points])
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

    async def _ranked(self, question: str, asked: Asked, items: Sequence[Item], latest: int) -> Ranked:
        fresh = [_freshness(item, latest) for item in items]
        if not asked.tells:
            # `And what about me?` asks for nothing by its words: what was said last is the best guess.
            said = [item for item in items if isinstance(item, Note)]
            return Ranked(_best(said, [_freshness(note, latest) for note in said])[:MOST_GUESSED])
        worth = _by_words(asked, items)
        if self._nearness is None or not items:
            return Ranked(_best(items, _faded(worth, fresh)))
        try:
            near = await self._nearness.compare(question, [item.text for item in items])
        except Exception as exc:
            # Words choose as well: no turn may fail for want of the better way.
            return Ranked(_best(items, _faded(worth, fresh)), reason=_why_by_words(exc))
        least = _clearly_near(near)
        bearing = [n if w or n >= least else 0.0 for n, w in zip(near, worth, strict=True)]
        return Ranked(_best(items, _faded(bearing, fresh)), by_meaning=True)

    def _within_budget(self, items: Sequence[Item]) -> list[Item]:
        left = self._tokens - self._counter.count(fence_remembered([]))
        return take_each_fitting(items, left, lambda item: self._counter.count(f"\n{line_of(item)}"))


def _why_by_words(exc: Exception) -> str:
    if isinstance(exc, OrcError):
        return exc.message
    if isinstance(exc, TimeoutError):
        return "The embedding model took too long."
    logger.error("texts could not be compared by meaning", exc_info=exc)
    return "Comparing by meaning failed unexpectedly."


def _by_words(asked: Asked, items: Sequence[Item]) -> list[float]:
    """The share of the question that each item's words make up, rare ones counting more; 0 for too little."""
    texts = [asked.terms & terms_in(item.text, asked.language) for item in items]
    weights = floored(idf_of_terms(asked.terms, texts))
    shares = [asked.share(weights, item.text) for item in items]
    least = max(LEAST_SHARE, SHARE_OF_BEST * max(shares, default=0.0))
    return [share if share >= least else 0.0 for share in shares]


def _clearly_near(near: Sequence[float]) -> float:
    """How near a text must be. Relative to the others: what a cosine means differs between embedders."""
    if len(near) < LEAST_TEXTS:
        return 0.0
    mean = sum(near) / len(near)
    return mean + CLEARLY_NEARER * math.sqrt(sum((each - mean) ** 2 for each in near) / len(near))


def _faded(worth: Sequence[float], fresh: Sequence[float]) -> list[float]:
    return [each * (FADED + (1 - FADED) * f) for each, f in zip(worth, fresh, strict=True)]


def _best(items: Sequence[Item], worth: Sequence[float]) -> list[Item]:
    """The items that are worth anything, best first; of equals, what was said last."""
    order = sorted(range(len(items)), key=lambda at: (worth[at], at), reverse=True)
    return [items[at] for at in order if worth[at] > 0]


def _freshness(item: Item, latest: int) -> float:
    if isinstance(item, Note):
        return freshness(item, latest)
    return math.exp2(-max(latest - item.last_seq, 0) / POINT_HALF_LIFE)


def _coverage(asked: Asked, facts: Sequence[Note]) -> float:
    """The share of the question's telling words that the best fact holds, where users ask about themselves.

    What they told of their own deposit says nothing of the deposit in a document.
    """
    if not asked.is_about_the_user or not asked.terms:
        return 0.0
    weights = dict.fromkeys(asked.terms, 1.0)
    return max((asked.share(weights, fact.text) for fact in facts), default=0.0)
