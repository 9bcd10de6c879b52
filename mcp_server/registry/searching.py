"""The tools that search: semantic_search and search_pages."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from core.mcp_contract import SearchedDocument, SearchPagesResult, SemanticSearchResult
from mcp_server.bootstrap import Services
from mcp_server.errors import success
from mcp_server.progress import CallProgress
from mcp_server.registry.arguments import Query
from mcp_server.registry.registration import CallScope, offer

MAX_PASSAGES = 50
MAX_PAGES = 20


def register(server: MCPServer[None], services: Services, scope: CallScope) -> None:
    """Add the tools to the server."""

    @offer(server, "Search passages")
    async def semantic_search(
        query: Query,
        ctx: Context[None],
        top_k: Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="passages to return")] = 5,
    ) -> Annotated[CallToolResult, SemanticSearchResult]:
        """Find the passages of the conversation's documents that bear on a question, best first.

        If they do not hold what you look for, search again in other words.
        """
        result = await services.searching.passages(scope(), query, top_k, CallProgress(ctx).working)
        found = [f"{p.blob_name}, page {p.page}: {p.text}" for p in result.passages]
        return success(result, _told(found, result.documents))

    @offer(server, "Search pages")
    async def search_pages(
        query: Query,
        ctx: Context[None],
        limit: Annotated[int, Field(ge=1, le=MAX_PAGES, description="pages to return")] = 10,
    ) -> Annotated[CallToolResult, SearchPagesResult]:
        """Find the pages that bear on a question, with their summaries, topics and best sentences."""
        result = await services.searching.pages(scope(), query, limit, CallProgress(ctx).working)
        found = [f"{p.blob_name}, page {p.page_number}: {' … '.join(p.matches)}" for p in result.pages]
        return success(result, _told(found, result.documents))


def _told(found: list[str], documents: list[SearchedDocument]) -> str:
    """What was found, and what was not looked into, for people."""
    left_out = [f"Not searched: {d.filename} ({d.status}). {d.reason}" for d in documents if not d.searched]
    return "\n\n".join([*(found or ["Nothing was found."]), *left_out])
