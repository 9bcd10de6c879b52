"""follow_relation and get_ontology: entities and relations that a model found in the documents in scope."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from mcp.server import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.tools.registration import CallScope, ContextName, offer, page_line, success
from mcp_server.tools.scope_filter import Listed, current_analyses, documents_in_scope, page_text
from orc_core.analysis.models import Connection, PageAnalysis, TypeUse
from orc_core.analysis.relations import Direction, build_ontology, follow
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.places import ALL
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.grounding.units import located
from orc_core.llm.errors import ModelMisconfigured
from orc_core.mcp_contract import ConnectedPage, FollowRelationResult, GetOntologyResult
from orc_core.models import Document, Page
from orc_core.text.quotes import Span, locate

MAX_NAME_CHARACTERS = 500

MAX_CONNECTIONS = 30

NEEDS_MODEL = "This tool needs documents that a model has analysed: set up a model (ORC_MODEL)."

Analysed = dict[str, list[PageAnalysis]]


@dataclass
class Relations:
    """Follows the relations that a model has found in the documents in scope.

    Both methods raise ModelMisconfigured if no document was analysed by a model and none will be, because
    `has_model` is False.
    """

    library: DocumentService
    analyses: AnalysisStore
    has_model: bool

    async def follow(
        self,
        scope: Scope,
        entity: str,
        relation_type: str | None,
        direction: Direction,
        context: str = ALL,
    ) -> FollowRelationResult:
        """The pages that state a relation of `entity`, then those that only name it."""
        (documents, has_more), analysed = await self._page_analyses(scope, context)
        limit = MAX_CONNECTIONS + 1
        found = await asyncio.to_thread(follow, analysed, entity, relation_type, direction, limit)
        by_id = {document.document_id: document for document in documents}
        shown = ((by_id[each.document_id], each) for each in found[:MAX_CONNECTIONS])
        pages = [page for place in shown for page in await self._show(scope, *place, analysed)]
        return FollowRelationResult(
            pages=pages,
            truncated=has_more or len(found) > MAX_CONNECTIONS,
            documents=len(documents),
            documents_analysed=len(analysed),
        )

    async def ontology(self, scope: Scope, context: str = ALL) -> GetOntologyResult:
        """The types of entities and relations in the documents in scope, and names for the same thing."""
        (documents, has_more), analysed = await self._page_analyses(scope, context)
        ontology = await asyncio.to_thread(build_ontology, analysed)
        return GetOntologyResult(
            **ontology.model_dump(),
            documents=len(documents),
            documents_analysed=len(analysed),
            truncated=True if has_more else None,
        )

    async def _page_analyses(self, scope: Scope, context: str) -> tuple[Listed, Analysed]:
        """The documents in scope, and the page analyses that a model made of their present bytes, by id."""
        listed = await documents_in_scope(self.library, scope.accessible.narrowed(context))
        documents = listed.documents
        found = await current_analyses(self.analyses, documents)
        present = [document_id for document_id, analysis in found.items() if analysis.is_by_model]
        if documents and not present and not self.has_model:
            raise ModelMisconfigured(NEEDS_MODEL)
        pages = {document_id: await self.analyses.pages(document_id) for document_id in present}
        return listed, {document_id: analysed for document_id, analysed in pages.items() if analysed}

    async def _show(
        self, scope: Scope, document: Document, connection: Connection, analysed: Analysed
    ) -> list[ConnectedPage]:
        """The page with the words that connect it; none if it was deleted meanwhile."""
        summaries = {page.page: page.summary for page in analysed[document.document_id]}
        return [
            ConnectedPage(
                **page_text(scope, document, page, *_words_of(connection, page)).model_dump(),
                summary=summaries.get(connection.page, ""),
                named=connection.named,
                relation=connection.relation,
                target_page=connection.target_page,
            )
            for page in await self.library.text(document, [connection.page])
        ]


def _words_of(connection: Connection, page: Page) -> tuple[int, int]:
    """Where the relation's evidence is; on a page that only names the entity, the sentence that does so.

    An empty span if the page does not contain it.
    """
    if connection.relation is not None:
        found = locate(connection.relation.evidence, page.text)
    elif found := locate(connection.named, page.text):
        parts = located(page.text)
        around = (Span(each.start, each.end) for each in parts if each.start <= found.start < each.end)
        found = next(around, found)
    return (found.start, found.end) if found else (0, 0)


def register(server: MCPServer[None], relations: Relations | None, scope: CallScope) -> None:
    """Registers the tools if a model analyses pages."""
    if relations is None:
        return

    @offer(server)
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
        context: ContextName = ALL,
    ) -> Annotated[CallToolResult, FollowRelationResult]:
        """Find the pages that state a relation of an entity, with the sentence that states it.

        Pages that only name the entity follow. Needs documents that a model has analysed.
        """
        result = await relations.follow(scope(), entity_value, relation_type, direction, context)
        lines = []
        for page in result.pages:
            found = page.relation
            says = f"{found.source} {found.type} {found.target}" if found else f"names {page.named}"
            lines.append(f"{page_line(page.blob_name, page.page_number, page.page_id)}: {says}")
        return success(result, "\n".join(lines) or "No page was found.")

    @offer(server)
    async def get_ontology(context: ContextName = ALL) -> Annotated[CallToolResult, GetOntologyResult]:
        """List the types of entities and relations in the documents, and the aliases of entities.

        Needs documents that a model has analysed.
        """
        result = await relations.ontology(scope(), context)
        lines = [
            f"{result.documents_analysed} of {result.documents} documents have been analysed by a model.",
            f"Entities: {_counted(result.entity_types)}.",
            f"Relations: {_counted(result.relation_types)}.",
            *(f"{alias.name}: also {', '.join(alias.aliases)}" for alias in result.aliases),
        ]
        return success(result, "\n".join(lines))


def _counted(types: list[TypeUse]) -> str:
    return ", ".join(f"{use.type} ({use.count})" for use in types) or "none"
