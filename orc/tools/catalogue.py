"""The tools as people see them: what each is called, and whether the tools server offers it now."""

import asyncio
import logging
from typing import Literal

from orc.tools.ports import ToolGateway
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.errors import OrcError
from orc_core.models import Record

LISTING_SECONDS = 2.0
"""A page does not wait longer for a tools server that is away: its tools are then not available."""
TOKEN_SECONDS = 60
_NOWHERE = Scope(organization_id="orc", user_id="catalogue", conversation_id="none")

logger = logging.getLogger(__name__)


class ToolFacts(Record):
    """A tool for people. `available`: the tools server offers it now."""

    name: str
    title: str
    description: str
    available: bool
    kind: Literal["read", "update"] = "read"


_DESCRIBED = {
    "document_chat": ("Ask documents", "Answers from documents that the question names."),
    "documents_analyze": ("Analyse a whole document", "Reads a document from its first page to its last."),
    "documents_get_content": ("Read a document", "Reads the text of a document."),
    "documents_get_summary": ("Summarise a document", "Reads the summary of a document."),
    "documents_list": ("List documents", "Lists the documents that can be read."),
    "follow_relation": ("Follow a relation", "Finds pages by the names that they have in common."),
    "get_ontology": ("Show the vocabulary", "Lists the names and terms that the documents use."),
    "get_page": ("Read a page", "Reads the text of one page."),
    "search_pages": ("Search pages", "Finds pages by their summaries and topics."),
    "semantic_search": ("Search passages", "Finds passages by words and meaning."),
    "web_search": ("Search the web", "Asks a search engine of the web, in the words of the question."),
}
"""Title and description by the tool's name."""


class ToolCatalogue:
    """Every tool that a tools server can have."""

    def __init__(self, gateway: ToolGateway, tokens: ScopeTokens) -> None:
        self._gateway = gateway
        self._tokens = tokens

    async def listed(self) -> list[ToolFacts]:
        """The tools by title; none is available while the tools server does not answer."""
        offered = await self._offered()
        tools = [
            ToolFacts(
                name=name,
                title=title,
                description=description,
                available=name in offered,
                kind="read" if offered.get(name, True) else "update",
            )
            for name, (title, description) in _DESCRIBED.items()
        ]
        return sorted(tools, key=lambda tool: tool.title)

    async def _offered(self) -> dict[str, bool]:
        """The names of the tools that are offered, and whether each only reads."""
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                token = self._tokens.mint(_NOWHERE, seconds=TOKEN_SECONDS)
                return {tool.name: tool.only_reads for tool in await self._gateway.list_tools(token)}
        except (OrcError, TimeoutError) as exc:
            logger.warning("the tools could not be listed: %s", type(exc).__name__)
            return {}
