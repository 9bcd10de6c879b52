"""follow_relation and get_ontology: entities and relations that a model found in the documents in scope."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from mcp.server import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from core.analysis.models import AnalysisStore, Connection, PageAnalysis, TypeUse
from core.analysis.relations import Direction, build_ontology, follow
from core.documents.scope import Scope
from core.grounding.evidence import page_sentences
from core.grounding.quotes import Span, locate
from core.llm.errors import ModelMisconfigured
from core.mcp_contract import ConnectedPage, FollowRelationResult, GetOntologyResult, PageText
from core.models import Document, Page
from mcp_server.tools.registration import CallScope, offer, success
from mcp_server.tools.scope_filter import Library, current_analyses, documents_in_scope, whole_page

MAX_NAME_CHARACTERS = 500

MAX_CONNECTIONS = 30

NEEDS_MODEL = "This tool needs a model: set AZURE_OPENAI_ENDPOINT or OPENAI_API_KEY."

Analysed = dict[str, list[PageAnalysis]]


class Relations:
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
        documents = await documents_in_scope(self._library, scope)
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
        documents = await documents_in_scope(self._library, scope)
        analysed = await self._page_analyses(documents)
        ontology = await asyncio.to_thread(build_ontology, analysed)
        return GetOntologyResult(
            **ontology.model_dump(), documents=len(documents), documents_analysed=len(analysed)
        )

    async def _page_analyses(self, documents: Sequence[Document]) -> Analysed:
        """The page analyses that a model made of the documents' present bytes, by document."""
        found = await current_analyses(self._analyses, documents)
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


def register(server: MCPServer[None], relations: Relations, scope: CallScope) -> None:
    """Registers the tools."""

    @offer(server, "Follow a relation")
    async def follow_relation(
        entity_value: Annotated[
            str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, description="an entity's name")
        ],
        relation_type: Annotated[
            str | None, Field(max_length=MAX_NAME_CHARACTERS, description="only relations of this type")
        ] = None,
        direction: Annotated[
            Direction, Field(description="whether the entity is the relation's source or its target")
        ] = "both",
    ) -> Annotated[CallToolResult, FollowRelationResult]:
        """Find the pages that state a relation of an entity, with the sentence that states it.

        Pages that only name the entity follow. Needs documents that a model has analysed.
        """
        result = await relations.follow(scope(), entity_value, relation_type, direction)
        lines = [f"{p.blob_name}, page {p.page_number}: {_as_text(p)}" for p in result.pages]
        return success(result, "\n".join(lines) or "No page was found.")

    @offer(server, "Show the vocabulary")
    async def get_ontology() -> Annotated[CallToolResult, GetOntologyResult]:
        """List the types of entities and relations in the documents, and the aliases of entities.

        Needs documents that a model has analysed.
        """
        result = await relations.ontology(scope())
        lines = [
            f"{result.documents_analysed} of {result.documents} documents have been analysed by a model.",
            f"Entities: {_counted(result.entity_types)}.",
            f"Relations: {_counted(result.relation_types)}.",
            *(f"{alias.name}: also {', '.join(alias.aliases)}" for alias in result.aliases),
        ]
        return success(result, "\n".join(lines))


def _as_text(page: ConnectedPage) -> str:
    relation = page.relation
    return f"{relation.source} {relation.type} {relation.target}" if relation else f"names {page.named}"


def _counted(types: list[TypeUse]) -> str:
    return ", ".join(f"{use.type} ({use.count})" for use in types) or "none"
