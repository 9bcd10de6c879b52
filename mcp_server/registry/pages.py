"""The tools that go from page to page: get_page, follow_relation and get_ontology."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from core.analysis.models import TypeUse
from core.analysis.relations import Direction
from core.errors import NoReadableDocument, NotFound
from core.mcp_contract import ConnectedPage, FollowRelationResult, GetOntologyResult, GetPageResult
from mcp_server.bootstrap import Services
from mcp_server.errors import success
from mcp_server.progress import CallProgress
from mcp_server.registry.arguments import DocumentId, PageId
from mcp_server.registry.registration import CallScope, offer
from mcp_server.tools.pages import named_page

MAX_NAME_CHARACTERS = 500


def register(server: MCPServer[None], services: Services, scope: CallScope) -> None:
    """Add the tools to the server."""

    @offer(server, "Read a page", NotFound.code, NoReadableDocument.code)
    async def get_page(
        ctx: Context[None],
        page_id: PageId | None = None,
        document_id: DocumentId | None = None,
        page_number: Annotated[int | None, Field(ge=1, description="counts from 1")] = None,
    ) -> Annotated[CallToolResult, GetPageResult]:
        """Read one page: its text, and its summary, topics, entities, anchors and relations.

        Name it either by page_id, or by document_id and page_number.
        """
        place = named_page(page_id, document_id, page_number)
        result = await services.pages.get(scope(), place, CallProgress(ctx).working)
        return success(result, result.pages[0].text)

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
        result = await services.connections.follow(scope(), entity_value, relation_type, direction)
        lines = [f"{p.blob_name}, page {p.page_number}: {_told(p)}" for p in result.pages]
        return success(result, "\n".join(lines) or "No page was found.")

    @offer(server, "Show the vocabulary")
    async def get_ontology() -> Annotated[CallToolResult, GetOntologyResult]:
        """List the types of entities and relations in the documents, and the aliases of entities.

        Needs documents that a model has analysed.
        """
        result = await services.connections.ontology(scope())
        lines = [
            f"{result.documents_analysed} of {result.documents} documents have been analysed by a model.",
            f"Entities: {_counted(result.entity_types)}.",
            f"Relations: {_counted(result.relation_types)}.",
            *(f"{alias.name}: also {', '.join(alias.aliases)}" for alias in result.aliases),
        ]
        return success(result, "\n".join(lines))


def _told(page: ConnectedPage) -> str:
    relation = page.relation
    return f"{relation.source} {relation.type} {relation.target}" if relation else f"names {page.named}"


def _counted(types: list[TypeUse]) -> str:
    return ", ".join(f"{use.type} ({use.count})" for use in types) or "none"
