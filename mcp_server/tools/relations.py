"""follow_relation and get_ontology: entities and relations that a model found in the documents in scope."""

import asyncio
from collections.abc import Sequence

from core.analysis.models import AnalysisStore, Connection, PageAnalysis
from core.analysis.relations import Direction, build_ontology, follow
from core.documents.scope import Scope
from core.grounding.evidence import page_sentences
from core.grounding.quotes import Span, locate
from core.llm.errors import ModelMisconfigured
from core.mcp_contract import ConnectedPage, FollowRelationResult, GetOntologyResult, PageText
from core.models import Document, Page
from mcp_server.tools.scope_filter import Library, documents_in_reach, present_analyses, whole_page

MAX_CONNECTIONS = 30

NEEDS_MODEL = "This tool needs a model: set AZURE_OPENAI_ENDPOINT or OPENAI_API_KEY."

Analysed = dict[str, list[PageAnalysis]]


class Connections:
    """Follows the relations that a model has found in the documents in scope.

    Both methods raise ModelMisconfigured if no document was analysed by a model and none will be, because
    `has_model` is False.
    """

    def __init__(self, library: Library, analyses: AnalysisStore, *, has_model: bool) -> None:
        self._library = library
        self._analyses = analyses
        self._has_model = has_model

    async def follow(
        self, scope: Scope, entity: str, relation_type: str | None, direction: Direction
    ) -> FollowRelationResult:
        """The pages that state a relation of `entity`, then those that only name it."""
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
        """The page analyses that a model made of the documents' present bytes, by document."""
        found = await present_analyses(self._analyses, documents)
        present = [document_id for document_id, analysis in found.items() if analysis.is_by_model]
        if documents and not present and not self._has_model:
            raise ModelMisconfigured(NEEDS_MODEL)
        pages = {document_id: await self._analyses.pages(document_id) for document_id in present}
        return {document_id: analysed for document_id, analysed in pages.items() if analysed}

    async def _show(
        self, document: Document, connection: Connection, analysed: Analysed
    ) -> ConnectedPage | None:
        """The page with the words that connect it; None if it was deleted meanwhile."""
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
    """The span of the relation's evidence; on a page that only names the entity, the sentence that does."""
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
