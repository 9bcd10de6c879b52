"""semantic_search and search_pages: the passages in scope that match a query, and their pages."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from core.analysis.models import AnalysisStore, PageAnalysis
from core.documents.ports import Retriever
from core.documents.scope import Scope
from core.grounding.evidence import page_sentences
from core.mcp_contract import (
    FoundPage,
    FoundPassage,
    SearchedDocument,
    SearchPagesResult,
    SemanticSearchResult,
)
from core.models import Document, Hit, Progress, Retrieval
from core.names import page_id
from core.search.bm25 import Candidate, TextRanking
from mcp_server.tools.registration import CallProgress, CallScope, Query, offer, success
from mcp_server.tools.scope_filter import (
    Library,
    current_analyses,
    read_documents_in_scope,
    searched_document,
)

MAX_PASSAGES = 50
MAX_PAGES = 20

HITS_PER_PAGE = 4
"""Passages to retrieve for each requested page: several may be on one page."""
MATCHES_PER_PAGE = 3
LONGEST_MATCH = 400

PageKey = tuple[str, int]


class DocumentSearch:
    """Searches the documents in scope, including those that are not indexed yet."""

    def __init__(self, library: Library, retriever: Retriever, analyses: AnalysisStore) -> None:
        self._library = library
        self._retriever = retriever
        self._analyses = analyses

    async def passages(
        self, scope: Scope, query: str, top_k: int, progress: Progress
    ) -> SemanticSearchResult:
        """The best `top_k` passages."""
        documents = await read_documents_in_scope(self._library, scope, progress)
        found = await self._search(query, documents, top_k)
        names = {document.document_id: document.blob_name for document in documents}
        return SemanticSearchResult(
            passages=[_passage(hit, names[hit.passage.document_id]) for hit in found.hits],
            steps=found.steps,
            documents=[searched_document(document) for document in documents],
        )

    async def pages(self, scope: Scope, query: str, limit: int, progress: Progress) -> SearchPagesResult:
        """The best `limit` pages, in the order of their best passages."""
        documents = await read_documents_in_scope(self._library, scope, progress)
        found = await self._search(query, documents, limit * HITS_PER_PAGE)
        by_page = dict(list(_by_page(found.hits).items())[:limit])
        analyses = await self._page_analyses(documents, list(by_page))
        names = {document.document_id: document.blob_name for document in documents}
        pages = [
            await asyncio.to_thread(_page, names[key[0]], hits, analyses.get(key), query)
            for key, hits in by_page.items()
        ]
        return SearchPagesResult(
            pages=pages, steps=found.steps, documents=[searched_document(document) for document in documents]
        )

    async def _search(self, query: str, documents: Sequence[Document], top_k: int) -> Retrieval:
        searched = [document.document_id for document in documents if document.readable]
        return await self._retriever.search(query, searched, top_k)

    async def _page_analyses(
        self, documents: Sequence[Document], keys: Sequence[PageKey]
    ) -> dict[PageKey, PageAnalysis]:
        """The stored analyses of these pages."""
        found: dict[PageKey, PageAnalysis] = {}
        for document_id in await current_analyses(self._analyses, documents):
            if numbers := [number for key, number in keys if key == document_id]:
                analysed = await self._analyses.pages(document_id, numbers)
                found.update({(document_id, analysis.page): analysis for analysis in analysed})
        return found


def _passage(hit: Hit, blob_name: str) -> FoundPassage:
    passage = hit.passage
    return FoundPassage(
        blob_name=blob_name,
        page_id=page_id(passage.document_id, passage.page),
        score=hit.score,
        **passage.model_dump(),
    )


def _by_page(hits: Sequence[Hit]) -> dict[PageKey, list[Hit]]:
    """The hits of each page, pages and hits best first."""
    pages: dict[PageKey, list[Hit]] = {}
    for hit in hits:
        pages.setdefault((hit.passage.document_id, hit.passage.page), []).append(hit)
    return pages


def _page(blob_name: str, hits: Sequence[Hit], analysis: PageAnalysis | None, query: str) -> FoundPage:
    best = hits[0].passage
    return FoundPage(
        page_id=page_id(best.document_id, best.page),
        document_id=best.document_id,
        page_number=best.page,
        blob_name=blob_name,
        text=best.text,
        start=best.start,
        end=best.end,
        summary=analysis.summary if analysis else "",
        topics=analysis.topics if analysis else [],
        score=hits[0].score,
        matches=_best_sentences(query, [hit.passage.text for hit in hits]),
    )


def _best_sentences(query: str, texts: Sequence[str]) -> list[str]:
    """The sentences that match the query best, best first, word for word."""
    found = [text[span.start : span.end] for text in texts for span in page_sentences(text)]
    ranking = TextRanking(query, [Candidate(sentence) for sentence in found])
    matching = [found[index][:LONGEST_MATCH] for index in ranking.matching()]
    return list(dict.fromkeys(matching))[:MATCHES_PER_PAGE]


def register(server: MCPServer[None], search: DocumentSearch, scope: CallScope) -> None:
    """Registers the tools."""

    @offer(server, "Search passages")
    async def semantic_search(
        query: Query,
        ctx: Context[None],
        top_k: Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="passages to return")] = 5,
    ) -> Annotated[CallToolResult, SemanticSearchResult]:
        """Find the passages of the conversation's documents that bear on a question, best first.

        If they do not hold what you look for, search again in other words.
        """
        result = await search.passages(scope(), query, top_k, CallProgress(ctx).working)
        found = [f"{p.blob_name}, page {p.page}: {p.text}" for p in result.passages]
        return success(result, _as_text(found, result.documents))

    @offer(server, "Search pages")
    async def search_pages(
        query: Query,
        ctx: Context[None],
        limit: Annotated[int, Field(ge=1, le=MAX_PAGES, description="pages to return")] = 10,
    ) -> Annotated[CallToolResult, SearchPagesResult]:
        """Find the pages that bear on a question, with their summaries, topics and best sentences."""
        result = await search.pages(scope(), query, limit, CallProgress(ctx).working)
        found = [f"{p.blob_name}, page {p.page_number}: {' … '.join(p.matches)}" for p in result.pages]
        return success(result, _as_text(found, result.documents))


def _as_text(found: list[str], documents: list[SearchedDocument]) -> str:
    """The results and the documents that were not searched, as text."""
    left_out = [f"Not searched: {d.filename} ({d.status}). {d.reason}" for d in documents if not d.searched]
    return "\n\n".join([*(found or ["Nothing was found."]), *left_out])
