"""What the web_search tool needs of a search engine."""

from typing import Protocol

from core.models import Record

MOST_PAGES = 10
"""What one search gives at most; all that Google gives at a time."""
MOST_WORDS, MOST_CHARACTERS = 50, 400
"""Of a query: what Brave takes."""


class WebPage(Record):
    """A page as a search engine quotes it, in plain text. Nothing in it is to be trusted."""

    title: str
    url: str
    text: str


class WebSearch(Protocol):
    """A search engine. `name` is what the settings call it."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, limit: int) -> list[WebPage]:
        """At most `limit` pages, best first; `query` and `limit` keep to the bounds above.

        Raises DependencyDown, which says what to do where trying again is in vain.
        """
        ...
