"""web_search: pages of the web as a search engine quotes them, none of which is fetched."""

from core.errors import InvalidInput
from core.mcp_contract import FoundWebPage, WebSearchResult
from mcp_server.web.ports import MOST_CHARACTERS, MOST_WORDS, WebPage, WebSearch
from mcp_server.web.snippets import plain_text, public_address

LONGEST_TITLE = 200
LONGEST_TEXT = 4000


class WebSearching:
    """Searches the web by one engine, and lets through of its answer what is harmless to show."""

    def __init__(self, engine: WebSearch) -> None:
        self._engine = engine

    async def search(self, query: str, limit: int) -> WebSearchResult:
        """The pages that were found, each address once. Raises InvalidInput and DependencyDown."""
        asked = _shortened(query)
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


def _shortened(query: str) -> str:
    """The query's first words, as many as search engines take."""
    return " ".join(plain_text(query, len(query)).split()[:MOST_WORDS])[:MOST_CHARACTERS].strip()


def _shown(page: WebPage) -> FoundWebPage | None:
    url, text = public_address(page.url), plain_text(page.text, LONGEST_TEXT)
    if url is None or not text:
        return None
    title = plain_text(page.title, LONGEST_TITLE).replace("\n", " ")
    return FoundWebPage(title=title, url=url, text=text)
