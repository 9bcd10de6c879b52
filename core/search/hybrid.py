"""Hybrid retrieval: by words and by vectors, with fallbacks if that finds little.

With an embedder the steps are: hybrid at a high threshold, hybrid at a lower one, vectors alone. Without
one, or if it is unavailable: lexical at a high threshold, lexical at a lower one, and words that only
resemble those of the query. A threshold decides whether to go on to the next step; hits below it remain,
further down.

Documents without an index are scanned in full.
"""

import asyncio
import logging
import math
from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeVar

from core.documents.passages import split_pages
from core.documents.ports import Embedder, Neighbour, PageStore, PassageIndex, Retriever, VectorIndex
from core.errors import DependencyDown, InvalidInput
from core.models import Hit, Passage, Progress, Retrieval, RetrievalStep
from core.search.postings import index_passages
from core.search.query import parse_question
from core.search.ranking import rank_passages
from core.search.vocabulary import shipped_vocabularies
from core.text.terms import detect_language, question_words, stems, words

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
HYBRID_THRESHOLDS = (0.95, 0.55)
"""Shares of the best possible fused score: near the top of both rankings; in both rankings."""
LEXICAL_THRESHOLDS = (0.75, 0.5)
"""Shares of the question's words that a page has."""
EXAMINED = 8
"""Lexical hits compared with the thresholds: the best page is nearly always among them."""
QUERY_SECONDS = 5.0

Key = TypeVar("Key", bound=Hashable)

log = logging.getLogger(__name__)


class HybridRetriever:
    """Implements the Retriever port over a passage index and, if configured, vectors."""

    def __init__(
        self, index: PassageIndex, vectors: VectorIndex | None = None, embedder: Embedder | None = None
    ) -> None:
        self._index = index
        self._vectors = vectors
        self._embedder = embedder

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
            return _finish_hybrid(lexical, near, top_k)
        failed = RetrievalStep(method="hybrid", threshold=HYBRID_THRESHOLDS[0], hits=0, note=note)
        return await self._finish_lexical(query, document_ids, top_k, lexical[:top_k], failed)

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
        neighbours = await vectors.nearest(vector, document_ids, depth)
        if not neighbours:
            return [], f"these documents have no vectors of {embedder.name}; lexical only"
        return await self._load(neighbours), ""

    async def _load(self, neighbours: Sequence[Neighbour]) -> list[Hit]:
        """The passages of neighbours, in their order, without passages that were deleted meanwhile."""
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
        return [Hit(passage=found[at[:2]], score=at.similarity) for at in neighbours if at[:2] in found]

    async def _finish_lexical(
        self, query: str, document_ids: Sequence[str], top_k: int, found: list[Hit], *before: RetrievalStep
    ) -> Retrieval:
        steps = [*before, *_descend("lexical", LEXICAL_THRESHOLDS, cover(query, found[:EXAMINED]))]
        if steps[-1].hits:
            return Retrieval(hits=found, steps=steps)
        widened = await self._index.search(query, document_ids, top_k, widened=True)
        known, again = ({hit.passage for hit in hits} for hits in (found, widened))
        steps.append(RetrievalStep(method="widened_lexical", hits=len(again - known)))
        # The scores of the two searches are not comparable, so those below are capped.
        least = widened[-1].score if widened else math.inf
        rest = (hit for hit in found if hit.passage not in again)
        below = [hit.model_copy(update={"score": min(hit.score, least)}) for hit in rest]
        return Retrieval(hits=[*widened, *below][:top_k], steps=steps)


def fuse(rankings: Iterable[Sequence[Key]]) -> dict[Key, float]:
    """Reciprocal rank fusion, best first: 1 for a key that is first everywhere; ties keep their order."""
    lists = list(rankings)
    scores: dict[Key, float] = defaultdict(float)
    for ranking in lists:
        for rank, key in enumerate(dict.fromkeys(ranking), 1):
            scores[key] += (RRF_K + 1) / (RRF_K + rank) / len(lists)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def fuse_hits(*rankings: Sequence[Hit]) -> list[Hit]:
    """Fuse rankings by the ranks of passages and by those of their pages."""
    pages = fuse([[_page(hit.passage) for hit in ranking] for ranking in rankings])
    passages = fuse([[hit.passage for hit in ranking] for ranking in rankings])
    hits = [Hit(passage=p, score=(score + pages[_page(p)]) / 2) for p, score in passages.items()]
    return sorted(hits, key=lambda hit: -hit.score)


def cover(query: str, hits: Sequence[Hit]) -> list[float]:
    """For each hit: the share of the question's words on its page, as far as the hits contain the page."""
    pages: dict[tuple[str, int], list[str]] = defaultdict(list)
    for hit in hits:
        pages[_page(hit.passage)] += words(f"{hit.passage.heading}\n{hit.passage.text}")
    asked = question_words(query)
    shares: dict[tuple[str, int], float] = {}
    for page, found in pages.items():
        language = detect_language(found)
        wanted = set(stems(asked, language)) - {""}
        shares[page] = len(wanted & set(stems(found, language))) / max(1, len(wanted))
    return [shares[_page(hit.passage)] for hit in hits]


def _finish_hybrid(lexical: list[Hit], near: list[Hit], top_k: int) -> Retrieval:
    # Vectors first: if the rankings have nothing in common, their best hits alternate in this order.
    fused = fuse_hits(near, lexical)
    steps = _descend("hybrid", HYBRID_THRESHOLDS, [hit.score for hit in fused])
    if not steps[-1].hits:
        disagree = "words and vectors agree on nothing; vectors first"
        note = disagree if lexical else "no word of the question is found"
        steps.append(RetrievalStep(method="vector", hits=len(near), note=note))
    return Retrieval(hits=fused[:top_k], steps=steps)


def _descend(
    method: Literal["hybrid", "lexical"], thresholds: Sequence[float], scores: Sequence[float]
) -> list[RetrievalStep]:
    """The steps down to the first threshold that a score meets, or all of them."""
    steps: list[RetrievalStep] = []
    for threshold in thresholds:
        reached = sum(score >= threshold for score in scores)
        steps.append(RetrievalStep(method=method, threshold=threshold, hits=reached))
        if reached:
            break
    return steps


def _page(passage: Passage) -> tuple[str, int]:
    return passage.document_id, passage.page


NOTE = "{} of {} documents are not indexed yet; their text was read through."
DOWN_NOTE = "The search does not answer ({}); the text of the documents was read through instead."


class WholeScopeRetriever:
    """A Retriever that covers every document whose pages are stored, even if the index is unavailable."""

    def __init__(self, retriever: Retriever, index: PassageIndex, pages: PageStore) -> None:
        self._retriever = retriever
        self._index = index
        self._pages = pages
        # One scan at a time, in its own thread: a long text takes seconds and much memory.
        self._one_at_a_time = asyncio.Semaphore(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="full-scan")

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not.

        Raises DependencyDown only if the pages cannot be read either.
        """
        scope = list(dict.fromkeys(document_ids))
        try:
            known = await self._index.indexed(scope)
            found = await self._retriever.search(query, [key for key in scope if key in known], top_k)
            unindexed = [key for key in scope if key not in known]
            note = NOTE.format(len(unindexed), len(scope))
        except DependencyDown as exc:
            log.warning(
                "search unavailable, scanning the full text error=%s documents=%d", exc.code, len(scope)
            )
            found, unindexed, note = Retrieval(), scope, DOWN_NOTE.format(exc.code)
        if not unindexed:
            return found
        read = await self._scan(query, unindexed, top_k)
        step = RetrievalStep(method="lexical", hits=len(read), note=note)
        hits = fuse_hits(found.hits, read) if found.hits else read
        return Retrieval(hits=hits[:top_k], steps=[*found.steps, step])

    async def _scan(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        async with self._one_at_a_time:
            pages = {document_id: await self._pages.get(document_id) for document_id in document_ids}
            loop = asyncio.get_running_loop()

            def search() -> list[Hit]:
                return search_in_memory(query, [split_pages(key, pages[key]) for key in sorted(pages)], top_k)

            return await loop.run_in_executor(self._thread, search)


def search_in_memory(query: str, documents: Sequence[Sequence[Passage]], top_k: int) -> list[Hit]:
    """The best of the passages of some documents without a stored index; blocks while it builds one."""
    question = parse_question(query, shipped_vocabularies())
    matches = rank_passages(question, [index_passages("", passages) for passages in documents], top_k)
    return [Hit(passage=documents[found.document][found.passage], score=found.score) for found in matches]
