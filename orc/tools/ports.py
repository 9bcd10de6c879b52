"""The port to the tools server, in our own types, and the names of its tools."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from orc_core.mcp_contract import Progress
from orc_core.models import Record

DOCUMENT_CHAT = "document_chat"
LISTING = "documents_list"
SEARCH = "semantic_search"
SEARCH_PAGES = "search_pages"
GET_PAGE = "get_page"
WEB_SEARCH = "web_search"
FINDS_DOCUMENTS = frozenset({LISTING, SEARCH, SEARCH_PAGES})
"""The tools that look for documents. A turn without all of them has no documents."""
LOOKS_FURTHER = frozenset({SEARCH, GET_PAGE, WEB_SEARCH})
"""The tools of a model that has been given passages."""

OnProgress = Callable[[Progress], None]
OnRestart = Callable[[str], None]


class ToolSchema(Record):
    """A tool as the server describes it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    only_reads: bool = True


class ToolGateway(Protocol):
    """Calls tools with a scope token. A call of a tool that only reads may be repeated."""

    async def list_tools(self, token: str) -> list[ToolSchema]:
        """All tools of the server; DependencyDown if it does not answer."""

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        token: str,
        *,
        on_progress: OnProgress | None = None,
        on_restart: OnRestart | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The tool's structured result.

        `on_progress` requests streaming. A broken call of a tool that only reads is repeated once:
        `on_restart` receives the reason, and text that was streamed before is void. `meta` goes into the
        call's `_meta`, see orc_core/mcp_contract.py. A failure that the tool reports is raised as the
        error that it names.
        """
