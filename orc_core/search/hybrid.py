"""Hybrid retrieval: by words and by vectors, with fallbacks if that finds little.

With an embedder the steps are: hybrid at a high threshold, hybrid at a lower one, vectors alone. Vectors
count less if words suffice (see `vector_weight`). The thresholds are tried from high to low. The first one
that enough hits pass decides: only those hits are returned. If none passes, the hits above the lower one come
first, then hits by words and the nearest vectors in turn.

Without an embedder, or if it is unavailable: lexical at a high threshold, lexical at a lower one, and words
that only resemble those of the query. These thresholds only decide whether to go on: lexical hits remain.
See docs/decisions/vectors.md.
"""

import asyncio
import logging
import math
from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from orc_core.documents.passages import split_pages
from orc_core.documents.places import Accessible
from orc_core.documents.ports import (
    DocumentFinder,
    Embedder,
    PassageIndex,
    VectorIndex,
)
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.models import Hit, Page, Passage, Progress, Retrieval, RetrievalStep
from orc_core.search.postings import index_passages
from orc_core.search.query import parse_question
from orc_core.search.ranking import rank_passages
from orc_core.search.vocabulary import shipped_vocabularies
from orc_core.text.terms import detect_language, question_words, stems, words

GROUP = 512
"""Passages between two progress reports; the embedder divides them into requests."""
WHAT = "Comparing the meaning of passages"


class PassageEmbedder:
    """Embeds passages and stores their vectors: all of a document, or none."""

    def __init__(self, embedder: Embedder, vectors: VectorIndex) -> None:
        self._embedder = embedder
        self._vectors = vectors

    async def index(
        self, document_id: str, passages: Sequence[Passage], progress: Progress | None = None
    ) -> None:
        """Replace the document's vectors. If the embedder raises an error, the document has none."""
        # The old vectors belong to passages that have been replaced.
        await self._vectors.delete(document_id)
        vectors: list[array[float]] = []
        for start in range(0, len(passages), GROUP):
            made = await self._embedder.embed_passages(
                [text_to_embed(p) for p in passages[start : start + GROUP]]
            )
            # Four bytes a number, and not 32 as in a list: a long document has millions.
            vectors += [array("f", vector) for vector in made]
            if progress is not None:
                progress(len(vectors), len(passages), WHAT)
        await self._vectors.save(document_id, vectors)


def text_to_embed(passage: Passage) -> str:
    """A passage's text with the headings above it, which give its subject."""
    return f"{passage.heading}\n\n{passage.text}" if passage.heading else passage.text


RRF_K = 60
CANDIDATES = 50
"""Passages of each ranking that are fused."""
LEADING_WORDS, LITTLE_WEIGHT = 0.7, 0.1
"""The share of the question's words from which words lead, and the weight that vectors have then.

Measured with a sentence embedder over all question sets (docs/decisions/vectors.md): with equal weights, the
ranking was worse than that by words alone on every set but one.
"""
HYBRID_THRESHOLDS = (0.98, 0.55)
"""Shares of the best possible fused score: near the top of both rankings; in both, or high in the one that
leads."""
LEXICAL_THRESHOLDS = (0.75, 0.5)
"""Shares of the question's words that a page has."""
ENOUGH = 0.4
"""The share of the requested passages, or of those that there are, that suffices to serve a threshold,
rounded down: three if eight are requested."""
EXAMINED = 8
"""Lexical hits compared with the thresholds: the best page is nearly always among them."""
QUERY_SECONDS = 5.0

Key = TypeVar("Key", bound=Hashable)

log = logging.getLogger(__name__)


class HybridRetriever:
    """Implements the Retriever port over a passage index and, if configured, vectors."""

    def __init__(
        self,
        index: PassageIndex,
        vectors: VectorIndex | None = None,
        embedder: Embedder | None = None,
        *,
        thresholds: Sequence[float] = HYBRID_THRESHOLDS,
        finder: DocumentFinder | None = None,
    ) -> None:
        """`finder` is the first stage of searches over very many documents."""
        self._index = index
        self._finder = finder
        self._vectors = vectors
        self._embedder = embedder
        self._thresholds = thresholds

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, best first, and the steps taken to find them.

        With vectors, scores are shares of the best possible one; otherwise they are the passage index's.
        """
        if not document_ids or top_k < 1 or not query.strip():
            return Retrieval()
        if self._vectors is None or self._embedder is None:
            lexical = await self._index.search(query, document_ids, top_k)
            return await self._finish_lexical(query, document_ids, top_k, lexical)
        depth = max(top_k, CANDIDATES)
        lexical, (near, note) = await asyncio.gather(
            self._index.search(query, document_ids, depth),
            self._search_vectors(self._vectors, self._embedder, query, document_ids, depth),
        )
        if near:
            # Vectors first: if the rankings have nothing in common, their best hits alternate in this order.
            fused = fuse_hits(near, lexical, weights=(vector_weight(query, lexical), 1.0))
            rungs = serve("hybrid", self._thresholds, fused, [hit.score for hit in fused], top_k)
            return (
                rungs.retrieval(top_k) if rungs.enough else with_vectors(query, rungs, lexical, near, top_k)
            )
        failed = RetrievalStep(method="hybrid", threshold=self._thresholds[0], hits=0, note=note)
        return await self._finish_lexical(query, document_ids, top_k, lexical[:top_k], failed)

    async def search_places(self, query: str, accessible: Accessible, top_k: int) -> Retrieval:
        """As `search`, over the candidates among very many accessible documents."""
        assert self._finder is not None
        return await self.search(query, await self._finder.candidates(query, accessible), top_k)

    async def _search_vectors(
        self, vectors: VectorIndex, embedder: Embedder, query: str, document_ids: Sequence[str], depth: int
    ) -> tuple[list[Hit], str]:
        """The hits by vectors, or the reason why there are none."""
        try:
            async with asyncio.timeout(QUERY_SECONDS):
                vector = await embedder.embed_query(query)
        except (DependencyDown, TimeoutError) as exc:
            code = exc.code if isinstance(exc, DependencyDown) else "no answer in time"
            log.warning("embedder unavailable error=%s", code)
            return [], f"the embedder does not answer ({code}); lexical only"
        except InvalidInput as exc:
            log.warning("embedder refused a question error=%s", exc.code)
            return [], f"the embedder refuses the question ({exc.code}); lexical only"
        try:
            neighbours = await vectors.nearest(vector, document_ids, depth)
        except DependencyDown as exc:
            log.warning("vector index unavailable error=%s", exc.code)
            return [], f"the vector index does not answer ({exc.code}); lexical only"
        if not neighbours:
            return [], f"these documents have no vectors of {embedder.name}; lexical only"
        # The passages of neighbours, in their order, without passages that were deleted meanwhile.
        ordinals: dict[str, list[int]] = defaultdict(list)
        for neighbour in neighbours:
            ordinals[neighbour.document_id].append(neighbour.ordinal)
        read = await asyncio.gather(*(self._index.get(key, sorted(ordinals[key])) for key in ordinals))
        found = {
            (document_id, ordinal): passage
            for document_id, passages in zip(ordinals, read, strict=True)
            # A document that has become shorter lacks its last passages; the others keep their place.
            for ordinal, passage in zip(sorted(ordinals[document_id]), passages, strict=False)
        }
        return [Hit(passage=found[at[:2]], score=at.similarity) for at in neighbours if at[:2] in found], ""

    async def _finish_lexical(
        self, query: str, document_ids: Sequence[str], top_k: int, found: list[Hit], *before: RetrievalStep
    ) -> Retrieval:
        lexical = Retrieval(hits=found, steps=[*before, *_lexical_steps(query, found)])
        if lexical.steps[-1].hits:
            return lexical
        widened = await self._index.search(query, document_ids, top_k, widened=True)
        return _with_widened(lexical, widened, top_k)


def _lexical_steps(query: str, found: list[Hit]) -> list[RetrievalStep]:
    """The lexical steps down to the first threshold that a score meets, or all of them."""
    scores = cover(query, found[:EXAMINED])
    steps: list[RetrievalStep] = []
    for threshold in LEXICAL_THRESHOLDS:
        reached = sum(score >= threshold for score in scores)
        steps.append(RetrievalStep(method="lexical", threshold=threshold, hits=reached, served=bool(reached)))
        if reached:
            break
    return steps


def _with_widened(lexical: Retrieval, widened: list[Hit], top_k: int) -> Retrieval:
    """The hits of the widened search, then those that only the first search found."""
    known, again = ({hit.passage for hit in hits} for hits in (lexical.hits, widened))
    step = RetrievalStep(method="widened_lexical", hits=len(again - known), served=True)
    return Retrieval(hits=followed_by(widened, lexical.hits)[:top_k], steps=[*lexical.steps, step])


def fuse(rankings: Iterable[Sequence[Key]], weights: Sequence[float] = ()) -> dict[Key, float]:
    """Reciprocal rank fusion, best first: 1 for a key that is first everywhere; ties keep their order.

    Without weights, all rankings count alike.
    """
    lists = list(rankings)
    shares = weights or [1.0] * len(lists)
    scores: dict[Key, float] = defaultdict(float)
    for ranking, share in zip(lists, shares, strict=True):
        for rank, key in enumerate(dict.fromkeys(ranking), 1):
            scores[key] += share / sum(shares) * (RRF_K + 1) / (RRF_K + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def fuse_hits(*rankings: Sequence[Hit], weights: Sequence[float] = ()) -> list[Hit]:
    """Fuse rankings by the ranks of passages and by those of their pages."""
    pages = fuse([[_page(hit.passage) for hit in ranking] for ranking in rankings], weights)
    passages = fuse([[hit.passage for hit in ranking] for ranking in rankings], weights)
    hits = [Hit(passage=p, score=(score + pages[_page(p)]) / 2) for p, score in passages.items()]
    return sorted(hits, key=lambda hit: -hit.score)


def vector_weight(query: str, lexical: Sequence[Hit]) -> float:
    """The weight of vectors, that of words being 1: little if words say what is sought.

    They do if a page has most of the question's words, or if the question names a numbered place or uses
    the vocabulary of a domain, which the ranking by words knows and an embedder does not.
    """
    question = parse_question(query, shipped_vocabularies())
    if question.expansions or question.places or question.pages:
        return LITTLE_WEIGHT
    found = cover(" ".join(question.words), lexical[:EXAMINED])
    return LITTLE_WEIGHT if max(found, default=0.0) >= LEADING_WORDS else 1.0


def cover(query: str, hits: Sequence[Hit]) -> list[float]:
    """For each hit: the share of the question's words on its page, as far as the hits contain the page."""
    pages: dict[tuple[str, int], list[str]] = defaultdict(list)
    for hit in hits:
        pages[_page(hit.passage)].append(f"{hit.passage.heading}\n{hit.passage.text}")
    asked = question_words(query)
    shares: dict[tuple[str, int], float] = {}
    for page, texts in pages.items():
        found = [word for text in texts for word in words(text)]
        language = detect_language(found)
        wanted = set(stems(asked, language)) - {""}
        shares[page] = len(wanted.intersection(stems(list(set(found)), language))) / max(1, len(wanted))
    return [shares[_page(hit.passage)] for hit in hits]


@dataclass(frozen=True)
class Rungs:
    """The steps down a ladder of thresholds, and the hits of the last one; `enough`: they are all results."""

    hits: list[Hit]
    steps: list[RetrievalStep]
    enough: bool

    def retrieval(self, top_k: int, *more: RetrievalStep, hits: Sequence[Hit] | None = None) -> Retrieval:
        """The results: these hits, or `hits` that more steps have found."""
        return Retrieval(hits=list(self.hits if hits is None else hits)[:top_k], steps=[*self.steps, *more])


def serve(
    method: Literal["semantic", "hybrid"],
    thresholds: Sequence[float],
    hits: Sequence[Hit],
    scores: Sequence[float],
    top_k: int,
    note: str = "",
) -> Rungs:
    """The hits, best first, that reach the first threshold which enough of them reach.

    If too few reach the lowest one, these are the hits, and a further search has to follow.
    """
    enough = max(1, int(ENOUGH * min(top_k, len(hits))))
    reached, steps = list[Hit](), list[RetrievalStep]()
    for threshold in thresholds:
        reached = [hit for hit, score in zip(hits, scores, strict=True) if score >= threshold]
        is_served = len(reached) >= enough or (threshold == thresholds[-1] and bool(reached))
        steps.append(
            RetrievalStep(method=method, threshold=threshold, hits=len(reached), served=is_served, note=note)
        )
        note = ""
        if len(reached) >= enough:
            break
    return Rungs(reached, steps, len(reached) >= enough)


def with_vectors(
    query: str, rungs: Rungs, lexical: Sequence[Hit], near: Sequence[Hit], top_k: int
) -> Retrieval:
    """The last step: what reached a threshold leads, then come the nearest vectors.

    Hits with most words of the question, such as an exact number, alternate with the vectors.
    """
    least = LEXICAL_THRESHOLDS[0]
    examined = lexical[:EXAMINED]
    worded = [hit for hit, share in zip(examined, cover(query, examined), strict=True) if share >= least]
    steps = [RetrievalStep(method="vector", hits=len(near), served=True)]
    if worded:
        steps.insert(0, RetrievalStep(method="lexical", threshold=least, hits=len(worded), served=True))
    last = fuse_hits(near, worded) if worded else near
    return rungs.retrieval(top_k, *steps, hits=followed_by(rungs.hits, last))


def followed_by(leading: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    """The hits of both. The scores of two searches are not comparable, so those of the others are capped."""
    least = leading[-1].score if leading else math.inf
    known = {hit.passage for hit in leading}
    rest = (hit for hit in others if hit.passage not in known)
    return [*leading, *(hit.model_copy(update={"score": min(hit.score, least)}) for hit in rest)]


def _page(passage: Passage) -> tuple[str, int]:
    return passage.document_id, passage.page


def search_pages(query: str, pages: Mapping[str, Sequence[Page]], top_k: int) -> Retrieval:
    """The best passages of the pages of some documents by id, split and indexed for this search only."""
    return search_in_memory(query, [split_pages(key, pages[key]) for key in sorted(pages)], top_k)


def search_in_memory(query: str, documents: Sequence[Sequence[Passage]], top_k: int) -> Retrieval:
    """The best of the passages of some documents without a stored index; blocks while it builds one.

    They are ranked as a stored index ranks them, so that results stay the same when a document is indexed.
    """
    question = parse_question(query, shipped_vocabularies())
    indexes = [index_passages("", passages) for passages in documents]

    def ranked(*, widened: bool = False) -> list[Hit]:
        matches = rank_passages(question, indexes, top_k, widened=widened)
        return [Hit(passage=documents[each.document][each.passage], score=each.score) for each in matches]

    found = ranked()
    lexical = Retrieval(hits=found, steps=_lexical_steps(query, found))
    if lexical.steps[-1].hits:
        return lexical
    return _with_widened(lexical, ranked(widened=True), top_k)
