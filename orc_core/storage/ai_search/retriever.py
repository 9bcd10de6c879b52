"""Search in Azure AI Search: the query terms, and the requests that use them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from orc_core.documents.places import Accessible
from orc_core.documents.ports import Embedder
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.infra.resilience import CircuitOpen
from orc_core.models import Hit, Retrieval, RetrievalStep
from orc_core.search.hybrid import (
    CANDIDATES,
    HYBRID_THRESHOLDS,
    QUERY_SECONDS,
    HybridRetriever,
    followed_by,
    serve,
    with_vectors,
)
from orc_core.storage.ai_search import index
from orc_core.storage.ai_search.client import PAGE, RERANKED, SCORE, Row, Search, both, equal
from orc_core.storage.ai_search.passages import AzurePassageIndex, to_hit
from orc_core.storage.ai_search.terms import Expansion, asked_terms, expand
from orc_core.storage.ai_search.vectors import by_vector, in_field, similarity
from orc_core.storage.unit_vectors import Unit, unit_vector
from orc_core.text.terms import STOP_WORDS

BEST_RERANKED = 4.0
Method = Literal["semantic", "hybrid"]
THRESHOLDS: dict[Method, tuple[float, ...]] = {"semantic": (2.0, 1.0), "hybrid": HYBRID_THRESHOLDS}
"""On the reranker's own scale: somewhat relevant but incomplete; related, and answers a small part."""
BEST_FUSED = 2 / 60
"""First by words and first by vectors: the service adds 1 / (60 + rank), from rank 0."""
RERANKING_MS = 2000
SEARCH_SECONDS = 10.0
"""Time limit of a whole search; the caller can read the pages instead."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def _time_limit() -> AsyncIterator[None]:
    """Raise DependencyDown if the search inside takes longer than SEARCH_SECONDS."""
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            yield
    except TimeoutError as exc:
        message = "AI Search did not answer in time. Try again shortly."
        raise DependencyDown(message, dependency="search") from exc


# Why the service gets stems of ours: docs/decisions/search-services.md.
class AzureSearchRetriever:
    """Implements the Retriever port over the passages and vectors of AI Search.

    `semantic`: the service has the reranker. If that is out of quota, does not answer or does not exist, a
    search goes without it and its steps say so. Raises DependencyDown after ten seconds at the latest.
    """

    def __init__(
        self,
        search: Search,
        embedder: Embedder | None = None,
        *,
        semantic: bool = True,
        thresholds: Mapping[Method, Sequence[float]] = THRESHOLDS,
    ) -> None:
        self._thresholds = thresholds
        self._search = search
        self._embedder = embedder
        self._semantic = semantic
        self._index = AzurePassageIndex(search)

    @_time_limit()
    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, best first, and the steps taken to find them.

        Scores are shares of the best possible one, unless words alone took part.
        """
        if not document_ids or top_k < 1 or not query.strip():
            return Retrieval()
        marks, near = await asyncio.gather(index.read_marks(self._search, document_ids), self._embed(query))
        searched = {key: mark for key, mark in marks.vectors.items() if key in marks.passages}
        if near.unit and not in_field(searched, near.made_by.field):
            near = _Near(note=f"these documents have no vectors of {near.made_by.embedder}; words only")
        asked = _asked(query, marks, near, max(top_k, CANDIDATES))
        if not (self._semantic or near.unit) or asked is None:
            return await self._by_words(query, document_ids, top_k, near.note)
        ranking = await self._rank(asked)
        notes = "; ".join(filter(None, (near.note, ranking.note)))
        if ranking.method == "hybrid" and not near.unit:
            return await self._by_words(query, document_ids, top_k, notes)
        found = ranking.hits()
        thresholds = self._thresholds[ranking.method]
        rungs = serve(ranking.method, thresholds, found, ranking.scores(), top_k, notes)
        if rungs.enough:
            return rungs.retrieval(top_k)
        if asked.vector:
            options = {**asked.vector, "select": index.PASSAGE_FIELDS, "top": min(top_k, PAGE)}
            rows = await self._search.query(asked.within, **options)
            near_ones = [to_hit(row, similarity(row)) for row in rows]
            return with_vectors(query, rungs, found, near_ones, top_k)
        # Without vectors, nothing that was found by words is lost.
        widened = await self._index.search(query, document_ids, top_k, widened=True)
        step = RetrievalStep(method="widened_lexical", hits=len(widened), served=True)
        leading = followed_by(rungs.hits, widened)
        return rungs.retrieval(top_k, step, hits=followed_by(leading, found))

    @_time_limit()
    async def search_places(self, query: str, accessible: Accessible, top_k: int) -> Retrieval:
        """The best passages of very many accessible documents: a filter by place, and marks of the hits only.

        Words and vectors are ranked together if there is an embedder, else by words alone.
        """
        if top_k < 1 or not query.strip():
            return Retrieval()
        near = await self._embed(query)
        terms = asked_terms(query, STOP_WORDS)
        if near.unit is None:
            found = await self._index.search_places(query, accessible, top_k)
            steps = [RetrievalStep(method="lexical", hits=len(found), served=bool(found), note=near.note)]
            if not found:
                found = await self._index.search_places(query, accessible, top_k, widened=True)
                steps.append(RetrievalStep(method="widened_lexical", hits=len(found), served=True))
            return Retrieval(hits=found, steps=steps)
        depth = max(index.MORE_THAN_CURRENT * top_k, CANDIDATES)
        within = both(index.in_places(accessible), equal("part", index.PASSAGE))
        vector = by_vector(near.made_by.field, near.unit, depth)
        asked = _Asked(query, within, terms, expand(query, ["en"]), vector, depth)
        ranking = await self._rank(asked)
        # The marks of the hits alone are read: what was replaced meanwhile is left out.
        rows = await index.current_rows(self._search, ranking.rows, index.PASSAGES)
        ranking = ranking._replace(rows=rows)
        notes = "; ".join(filter(None, (near.note, ranking.note)))
        found = ranking.hits()
        rungs = serve(ranking.method, self._thresholds[ranking.method], found, ranking.scores(), top_k, notes)
        return rungs.retrieval(top_k, hits=followed_by(rungs.hits, found))

    async def _embed(self, query: str) -> "_Near":
        if self._embedder is None:
            return _Near()
        try:
            async with asyncio.timeout(QUERY_SECONDS):
                vector = await self._embedder.embed_query(query)
        except (DependencyDown, TimeoutError, InvalidInput) as exc:
            code = "no answer in time" if isinstance(exc, TimeoutError) else exc.code
            log.warning("a question was not embedded error=%s", code)
            return _Near(note=f"the embedder does not answer ({code}); words only")
        return _Near(unit_vector(vector), index.Embedding(self._embedder.name, len(vector)))

    async def _rank(self, asked: "_Asked") -> "_Ranking":
        """One query for words and vectors; with the reranker's scores, if it can be had."""
        note = ""
        if self._semantic:
            try:
                rows = await self._search.query_once(asked.within, **asked.options(), **asked.reranked())
            except CircuitOpen:
                raise
            except DependencyDown as exc:
                log.warning("the reranker does not answer error=%s", exc.code)
                note = f"the reranker does not answer ({exc.code})"
            else:
                if not rows or any(row.get(RERANKED) is not None for row in rows):
                    return _Ranking("semantic", rows)
                # Out of quota or too slow, it leaves the ranks to words and vectors.
                return _Ranking("hybrid", rows, "the reranker did not take part")
        return _Ranking("hybrid", await self._search.query(asked.within, **asked.options()), note)

    async def _by_words(self, query: str, document_ids: Sequence[str], top_k: int, note: str) -> Retrieval:
        found = await HybridRetriever(self._index).search(query, document_ids, top_k)
        if not note:
            return found
        method: Method = "semantic" if self._semantic else "hybrid"
        failed = RetrievalStep(method=method, threshold=self._thresholds[method][0], hits=0, note=note)
        return Retrieval(hits=found.hits, steps=[failed, *found.steps])


class _Near(NamedTuple):
    """A question's vector and what made it; without a vector, why there is none."""

    unit: Unit | None = None
    made_by: index.Embedding = index.Embedding("", 0)
    note: str = ""


class _Asked(NamedTuple):
    """A question as the service takes it."""

    query: str
    within: str
    terms: list[str]
    expansions: list[Expansion]
    vector: dict[str, Any]
    depth: int

    def options(self) -> dict[str, Any]:
        clauses = " ".join([*self.terms, *(each.simple() for each in self.expansions)])
        words = {"search": clauses, "searchFields": index.LEXICAL_FIELDS} if clauses else {}
        return {
            **words,
            "select": [*index.PASSAGE_FIELDS, "version"],
            "top": min(self.depth, PAGE),
            **self.vector,
        }

    def reranked(self) -> dict[str, Any]:
        return {
            "queryType": "semantic",
            "semanticConfiguration": index.SEMANTIC,
            # The reranker reads the question itself, and no operators.
            "semanticQuery": self.query,
            "semanticErrorHandling": "partial",
            "semanticMaxWaitInMilliseconds": RERANKING_MS,
        }


class _Ranking(NamedTuple):
    """The results of one query in the service's order, and what ranked them."""

    method: Method
    rows: list[Row]
    note: str = ""

    def scores(self) -> list[float]:
        """On the scale of the thresholds; the reranker reads 50 rows at most, the others have 0."""
        if self.method == "semantic":
            return [row.get(RERANKED) or 0.0 for row in self.rows]
        return [min(1.0, row[SCORE] / BEST_FUSED) for row in self.rows]

    def hits(self) -> list[Hit]:
        best = BEST_RERANKED if self.method == "semantic" else 1.0
        return [to_hit(row, score / best) for row, score in zip(self.rows, self.scores(), strict=True)]


def _asked(query: str, marks: index.Marks, near: _Near, depth: int) -> _Asked | None:
    """None if there are no documents, or no words and no vector to search for."""
    languages = [mark.language for mark in marks.passages.values()]
    terms = asked_terms(query, languages)
    if not marks.passages or not (terms or near.unit):
        return None
    vector = by_vector(near.made_by.field, near.unit, depth) if near.unit else {}
    return _Asked(
        query, index.marked_as(marks.passages, index.PASSAGES), terms, expand(query, languages), vector, depth
    )
