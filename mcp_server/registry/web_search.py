"""The tool that searches the web: web_search, offered where a search engine is configured."""

from typing import Annotated

from mcp.server import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from core.mcp_contract import WebSearchResult
from mcp_server.bootstrap import Services
from mcp_server.errors import success
from mcp_server.registry.arguments import Query
from mcp_server.registry.registration import CallScope, offer
from mcp_server.web.http import AUTH, BUSY, NOT_IN_PLAN, QUOTA, REFUSED
from mcp_server.web.ports import MOST_PAGES


def register(server: MCPServer[None], services: Services, scope: CallScope) -> None:
    """Add the tool to the server, if there is a search engine to ask."""
    if (web := services.web) is None:
        return

    @offer(server, "Search the web", AUTH, QUOTA, REFUSED, NOT_IN_PLAN, BUSY, open_world=True)
    async def web_search(
        query: Query, limit: Annotated[int, Field(ge=1, le=MOST_PAGES, description="pages to return")] = 5
    ) -> Annotated[CallToolResult, WebSearchResult]:
        """Find pages of the web that bear on a question, each with what the search engine quotes of it.

        Use it for what the conversation's documents do not hold, such as what happened lately.
        """
        scope()  # It reaches no document, but whoever calls must still be let in.
        result = await web.search(query, limit)
        return success(result, _told(result))


def _told(result: WebSearchResult) -> str:
    """What was found, for people."""
    found = [f"{page.title or page.url} ({page.url}): {page.text}" for page in result.results]
    return "\n\n".join(found) or "Nothing was found."
