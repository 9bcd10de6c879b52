"""web_search: web pages as a search engine quotes them. No page is fetched."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.tools.registration import CallProgress, CallScope, Query, offer, success
from mcp_server.web.engines import AUTH, BUSY, NOT_IN_PLAN, QUOTA, REFUSED
from mcp_server.web.ports import (
    MOST_CHARACTERS,
    MOST_PAGES,
    MOST_WORDS,
    WebPage,
    WebSearch,
    plain_text,
    public_address,
)
from orc_core.errors import InvalidInput
from orc_core.mcp_contract import FoundWebPage, WebSearchResult

LONGEST_TITLE = 200
LONGEST_TEXT = 4000


class WebSearchTool:
    """Searches the web with one engine and filters out what is unsafe to show."""

    def __init__(self, engine: WebSearch) -> None:
        self._engine = engine

    async def search(self, query: str, limit: int) -> WebSearchResult:
        """The pages found, each address once. Raises InvalidInput and DependencyDown."""
        words = plain_text(query, len(query)).split()[:MOST_WORDS]
        asked = " ".join(words)[:MOST_CHARACTERS].strip()
        if not asked:
            raise InvalidInput("There is nothing to search for in an empty query.", field="query")
        found = (await self._engine.search(asked, limit))[:limit]
        shown = {page.url: page for page in map(_shown, found) if page}
        return WebSearchResult(
            provider=self._engine.name,
            query=asked,
            results=list(shown.values()),
            left_out=len(found) - len(shown),
        )


def _shown(page: WebPage) -> FoundWebPage | None:
    url, text = public_address(page.url), plain_text(page.text, LONGEST_TEXT)
    if url is None or not text:
        return None
    title = plain_text(page.title, LONGEST_TITLE).replace("\n", " ")
    return FoundWebPage(title=title, url=url, text=text)


def register(server: MCPServer[None], web: WebSearchTool | None, scope: CallScope) -> None:
    """Registers the tool if a search engine is configured."""
    if web is None:
        return

    @offer(server, AUTH, QUOTA, REFUSED, NOT_IN_PLAN, BUSY)
    async def web_search(
        query: Query,
        ctx: Context[None],
        limit: Annotated[int, Field(ge=1, le=MOST_PAGES, description="pages to return")] = 5,
    ) -> Annotated[CallToolResult, WebSearchResult]:
        """Find web pages about a question, each with the text that the search engine quotes.

        Use it for what the documents of the conversation do not contain, such as recent events.
        """
        scope()  # It uses no document, but the caller must still be authorised.
        async with CallProgress(ctx):
            result = await web.search(query, limit)
        found = [f"{page.title or page.url} ({page.url}): {page.text}" for page in result.results]
        return success(result, "\n\n".join(found) or "Nothing was found.")
