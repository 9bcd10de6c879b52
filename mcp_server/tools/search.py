"""semantic_search and search_pages: the passages in scope that match a query, and their pages."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.tools.registration import (
    CallProgress,
    CallScope,
    ContextName,
    Query,
    offer,
    page_line,
    success,
)
from mcp_server.tools.scope_filter import (
    current_analyses,
    documents_in_scope,
    origin_of,
    readable_documents,
    searched_document,
)
from orc_core.analysis.models import PageAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.places import ALL, Accessible
from orc_core.documents.ports import PlaceRetriever
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.grounding.units import located
from orc_core.mcp_contract import (
    FoundPage,
    FoundPassage,
    SearchCounts,
    SearchedDocument,
    SearchPagesResult,
    SemanticSearchResult,
)
from orc_core.models import Document, DocumentStatus, Hit, Progress, Retrieval
from orc_core.names import page_id
from orc_core.search.bm25 import Candidate, TextRanking
from orc_core.search.whole_scope import with_more

MAX_PASSAGES = 50
MAX_PAGES = 20
MAX_UNREAD = 20
"""Documents without an index that one search reads through, if there are very many documents."""

HITS_PER_PAGE = 4
"""Passages to retrieve for each requested page: several may be on one page."""
MATCHES_PER_PAGE = 3
LONGEST_MATCH = 400
MAX_SENTENCES = 5000
"""Sentences of a page that are compared with the query."""

PageKey = tuple[str, int]


@dataclass
class DocumentSearch:
    """Searches the documents in scope, including those that are not indexed yet."""

    library: DocumentService
    retriever: PlaceRetriever
    analyses: AnalysisStore

    async def passages(
        self, scope: Scope, query: str, top_k: int, progress: Progress, context: str = ALL
    ) -> SemanticSearchResult:
        """The best `top_k` passages."""
        documents, found, counts = await self._search(scope, context, query, top_k, progress)
        passages = [
            FoundPassage(
                **origin_of(scope, document).model_dump(),
                blob_name=document.blob_name,
                page_id=page_id(document.document_id, hit.passage.page),
                score=hit.score,
                document_version=document.version,
                media_type=document.media_type,
                **hit.passage.model_dump(),
            )
            for hit, document in ((each, documents[each.passage.document_id]) for each in found.hits)
        ]
        return SemanticSearchResult(
            passages=passages,
            steps=found.steps,
            documents=[searched_document(scope, document) for document in documents.values()],
            counts=counts,
        )

    async def pages(
        self, scope: Scope, query: str, limit: int, progress: Progress, context: str = ALL
    ) -> SearchPagesResult:
        """The best `limit` pages, in the order of their best passages."""
        documents, found, counts = await self._search(scope, context, query, limit * HITS_PER_PAGE, progress)
        hits_on: dict[PageKey, list[Hit]] = defaultdict(list)
        for hit in found.hits:
            hits_on[hit.passage.document_id, hit.passage.page].append(hit)
        best = dict(islice(hits_on.items(), limit))
        analyses: dict[PageKey, PageAnalysis] = {}
        for document_id in await current_analyses(self.analyses, list(documents.values())):
            if numbers := [number for key, number in best if key == document_id]:
                analysed = await self.analyses.pages(document_id, numbers)
                analyses |= {(document_id, each.page): each for each in analysed}
        pages = []
        for key, hits in best.items():
            document = documents[key[0]]
            page = await asyncio.to_thread(_page, document, hits, analyses.get(key), query)
            pages.append(page.model_copy(update=origin_of(scope, document).model_dump()))
        return SearchPagesResult(
            pages=pages,
            steps=found.steps,
            documents=[searched_document(scope, document) for document in documents.values()],
            counts=counts,
        )

    async def _search(
        self, scope: Scope, context: str, query: str, top_k: int, progress: Progress
    ) -> tuple[dict[str, Document], Retrieval, SearchCounts | None]:
        """The documents in scope by id, and the passages found in those that can be read.

        Of very many documents only those with passages, and some of those that could not be searched.
        """
        accessible = scope.accessible.narrowed(context)
        listed, has_more = await documents_in_scope(self.library, accessible)
        if has_more:
            return await self._search_places(accessible, query, top_k, progress)
        documents = await readable_documents(self.library, listed, progress)
        searched = [document.document_id for document in documents if document.readable]
        found = await self.retriever.search(query, searched, top_k)
        return {document.document_id: document for document in documents}, found, None

    async def _search_places(
        self, accessible: Accessible, query: str, top_k: int, progress: Progress
    ) -> tuple[dict[str, Document], Retrieval, SearchCounts]:
        counts = await self.library.count(accessible)
        total, indexed = sum(each.total for each in counts), sum(each.indexed for each in counts)
        found = await self.retriever.search_places(query, accessible, top_k)
        waiting: list[Document] = []
        if indexed < total:
            # Documents that are not indexed yet, made readable if possible.
            for status in (DocumentStatus.UPLOADED, DocumentStatus.PROCESSING):
                page = await self.library.page(accessible, limit=MAX_UNREAD, status=status)
                waiting += page.documents
            waiting = await readable_documents(self.library, waiting[:MAX_UNREAD], progress)
        read = [document.document_id for document in waiting if document.readable]
        if read:
            found = with_more(found, await self.retriever.search(query, read, top_k), top_k)
        # The catalog decides which documents exist, whatever the index found.
        of_hits = list(dict.fromkeys(hit.passage.document_id for hit in found.hits))
        known = await self.library.find_accessible(accessible, of_hits)
        documents = {each.document_id: each for each in [*known, *waiting]}
        hits = [hit for hit in found.hits if hit.passage.document_id in documents]
        left = SearchCounts(documents=total, unread=max(0, total - indexed - len(read)))
        return documents, found.model_copy(update={"hits": hits}), left


def _page(document: Document, hits: Sequence[Hit], analysis: PageAnalysis | None, query: str) -> FoundPage:
    """A page with the sentences that match the query best, best first, word for word."""
    best = hits[0].passage
    texts = (hit.passage.text for hit in hits)
    sentences = (text[span.start : span.end] for text in texts for span in located(text))
    found = list(islice(sentences, MAX_SENTENCES))
    ranking = TextRanking(query, [Candidate(sentence) for sentence in found])
    matches = dict.fromkeys(found[index][:LONGEST_MATCH] for index in ranking.matching())
    return FoundPage(
        page_id=page_id(best.document_id, best.page),
        document_id=best.document_id,
        page_number=best.page,
        blob_name=document.blob_name,
        document_version=document.version,
        media_type=document.media_type,
        text=best.text,
        start=best.start,
        end=best.end,
        summary=analysis.summary if analysis else "",
        topics=analysis.topics if analysis else [],
        score=hits[0].score,
        matches=list(matches)[:MATCHES_PER_PAGE],
    )


def register(server: MCPServer[None], search: DocumentSearch, scope: CallScope) -> None:
    """Registers the tools."""

    @offer(server)
    async def semantic_search(
        query: Query,
        ctx: Context[None],
        top_k: Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="passages to return")] = 5,
        context: ContextName = ALL,
    ) -> Annotated[CallToolResult, SemanticSearchResult]:
        """Find the passages of the conversation's documents that bear on a question, best first.

        If they do not hold what you look for, search again in other words.
        """
        async with CallProgress(ctx) as progress:
            result = await search.passages(scope(), query, top_k, progress.working, context)
        found = [f"{page_line(p.blob_name, p.page, p.page_id)}: {p.text}" for p in result.passages]
        return success(result, _as_text(found, result.documents, result.counts))

    @offer(server)
    async def search_pages(
        query: Query,
        ctx: Context[None],
        limit: Annotated[int, Field(ge=1, le=MAX_PAGES, description="pages to return")] = 10,
        context: ContextName = ALL,
    ) -> Annotated[CallToolResult, SearchPagesResult]:
        """Find the pages that bear on a question, with their summaries, topics and best sentences."""
        async with CallProgress(ctx) as progress:
            result = await search.pages(scope(), query, limit, progress.working, context)
        found = [
            f"{page_line(p.blob_name, p.page_number, p.page_id)}: {' … '.join(p.matches)}"
            for p in result.pages
        ]
        return success(result, _as_text(found, result.documents, result.counts))


def _as_text(found: list[str], documents: list[SearchedDocument], counts: SearchCounts | None) -> str:
    """The results and the documents that were not searched, as text."""
    left_out = [f"Not searched: {d.filename} ({d.status}). {d.reason}" for d in documents if not d.searched]
    if counts is not None and counts.unread:
        left_out.append(f"Not searched yet: {counts.unread} of {counts.documents} documents.")
    return "\n\n".join([*(found or ["Nothing was found."]), *left_out])
