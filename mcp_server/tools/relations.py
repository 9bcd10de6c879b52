"""follow_relation and get_ontology: what the documents in scope say of whom, and in which words."""

import asyncio
from collections.abc import Sequence

from core.analysis.models import Connection, PageAnalysis
from core.analysis.ontology import build_ontology
from core.analysis.ports import AnalysisStore
from core.analysis.relations import Direction, follow
from core.documents.scope import Scope
from core.grounding.evidence import page_sentences
from core.grounding.quotes import Span, locate
from core.mcp_contract import ConnectedPage, FollowRelationResult, GetOntologyResult, PageText
from core.models import Document, Page
from mcp_server.tools.scope_filter import Library, documents_in_reach, present_analyses, whole_page

MAX_CONNECTIONS = 30

Analysed = dict[str, list[PageAnalysis]]


class Connections:
    """Follows the relations that page analysis has found in the documents in scope."""

    def __init__(self, library: Library, analyses: AnalysisStore) -> None:
        self._library = library
        self._analyses = analyses

    async def follow(
        self, scope: Scope, entity: str, relation_type: str | None, direction: Direction
    ) -> FollowRelationResult:
        """The pages that say how `entity` is related to what, then those that only name it."""
        documents = await documents_in_reach(self._library, scope)
        analysed = await self._page_analyses(documents)
        found = await asyncio.to_thread(
            follow,
            pages=analysed,
            entity_value=entity,
            relation_type=relation_type,
            direction=direction,
            limit=MAX_CONNECTIONS + 1,
        )
        by_id = {document.document_id: document for document in documents}
        shown = found[:MAX_CONNECTIONS]
        pages = [await self._show(by_id[each.document_id], each, analysed) for each in shown]
        return FollowRelationResult(
            pages=[page for page in pages if page is not None],
            truncated=len(found) > MAX_CONNECTIONS,
            documents=len(documents),
            documents_analysed=len(analysed),
        )

    async def ontology(self, scope: Scope) -> GetOntologyResult:
        """The types of entities and relations in the documents in scope, and names for the same thing."""
        documents = await documents_in_reach(self._library, scope)
        analysed = await self._page_analyses(documents)
        ontology = await asyncio.to_thread(build_ontology, analysed)
        return GetOntologyResult(
            **ontology.model_dump(), documents=len(documents), documents_analysed=len(analysed)
        )

    async def _page_analyses(self, documents: Sequence[Document]) -> Analysed:
        """The page analyses of each document that has any of its present bytes."""
        present = await present_analyses(self._analyses, documents)
        pages = {document_id: await self._analyses.pages(document_id) for document_id in present}
        return {document_id: found for document_id, found in pages.items() if found}

    async def _show(
        self, document: Document, connection: Connection, analysed: Analysed
    ) -> ConnectedPage | None:
        """The page with the words that connect it; None where it has gone meanwhile."""
        summaries = {page.page: page.summary for page in analysed[document.document_id]}
        for page in await self._library.text(document, [connection.page]):
            return ConnectedPage(
                **_place(document, page, _words_of(connection, page)).model_dump(),
                summary=summaries.get(connection.page, ""),
                named=connection.named,
                relation=connection.relation,
                target_page=connection.target_page,
            )
        return None


def _words_of(connection: Connection, page: Page) -> Span | None:
    """Where the page states the relation; for one that only names the entity, the sentence that does."""
    if connection.relation is not None:
        return locate(connection.relation.evidence, page.text)
    named = locate(connection.named, page.text)
    if named is None:
        return None
    around = [span for span in page_sentences(page.text) if span.start <= named.start < span.end]
    return around[0] if around else named


def _place(document: Document, page: Page, span: Span | None) -> PageText:
    start, end = (span.start, span.end) if span else (0, 0)
    shown = {"text": page.text[start:end], "start": start, "end": end}
    return whole_page(document, page).model_copy(update=shown)
