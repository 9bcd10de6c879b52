"""get_page: one page's text and analysis."""

from dataclasses import dataclass
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.tools.registration import (
    CallProgress,
    CallScope,
    DocumentId,
    PageId,
    offer,
    page_line,
    success,
)
from mcp_server.tools.scope_filter import current_analyses, page_text, read_document
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.errors import InvalidInput, NoReadableDocument, NotFound
from orc_core.mcp_contract import GetPageResult, ReadPage
from orc_core.models import Progress
from orc_core.names import page_id

NO_SUCH_PAGE = "There is no such page in this conversation."

MAX_PAGE_CHARS = 20_000
"""Text of one page that get_page returns."""


@dataclass
class Pages:
    """Reads single pages in scope, up to `characters` of each."""

    library: DocumentService
    analyses: AnalysisStore
    characters: int = MAX_PAGE_CHARS

    async def get(self, scope: Scope, place: tuple[str, int], progress: Progress) -> GetPageResult:
        """The page at (document id or name, number); NotFound if it does not exist or is not in `scope`."""
        document_id_or_name, number = place
        try:
            document = await read_document(self.library, scope, document_id_or_name, progress)
        except NotFound:
            raise NotFound(NO_SUCH_PAGE) from None
        found = await self.library.text(document, [number])
        if not found:
            raise NotFound(NO_SUCH_PAGE)
        page = found[0]
        analysed = await current_analyses(self.analyses, [document])
        analyses = await self.analyses.pages(document.document_id, [number]) if analysed else []
        read = ReadPage(
            **page_text(scope, document, page, end=self.characters).model_dump(),
            label=page.label,
            characters=len(page.text),
            truncated=len(page.text) > self.characters,
            analysis=analyses[0] if analyses else None,
        )
        return GetPageResult(pages=[read])


def page_reference(page: str | None, document_id: str | None, number: int | None) -> tuple[str, int]:
    """The (document id or name, number) of a page, from its id or from both parts.

    Raises InvalidInput for both ways, neither, or half of one, and NotFound for an invalid page id.
    """
    if page is not None and document_id is None and number is None:
        document_id, _, digits = page.rpartition(".p")
        if digits.isdecimal() and page_id(document_id, int(digits)) == page:
            return document_id, int(digits)
        raise NotFound(NO_SUCH_PAGE)
    if page is None and document_id is not None and number is not None:
        return document_id, number
    raise InvalidInput("Name the page either by page_id, or by document_id and page_number.", field="page_id")


def register(server: MCPServer[None], pages: Pages, scope: CallScope) -> None:
    """Registers the tool."""

    @offer(server, NotFound.code, NoReadableDocument.code)
    async def get_page(
        ctx: Context[None],
        page_id: PageId | None = None,
        document_id: DocumentId | None = None,
        page_number: Annotated[int | None, Field(ge=1, description="counts from 1")] = None,
    ) -> Annotated[CallToolResult, GetPageResult]:
        """Read one page: its text, and its summary, topics, entities, anchors and relations.

        Name it either by page_id, or by document_id and page_number.
        """
        place = page_reference(page_id, document_id, page_number)
        async with CallProgress(ctx) as progress:
            result = await pages.get(scope(), place, progress.working)
        [page] = result.pages
        return success(result, f"{page_line(page.blob_name, page.page_number, page.page_id)}:\n{page.text}")
