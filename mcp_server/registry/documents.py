"""The tools over documents as a whole: documents_list, documents_get_summary and documents_get_content."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from core.errors import NoReadableDocument, NotFound
from core.mcp_contract import ContentResult, DocumentsListResult, SummaryResult
from mcp_server.bootstrap import Services
from mcp_server.errors import success
from mcp_server.progress import CallProgress
from mcp_server.registry.arguments import DocumentId
from mcp_server.registry.registration import CallScope, offer
from mcp_server.tools.content import NOT_READY, SUMMARY_FAILED, page_marked
from mcp_server.tools.documents_list import list_documents

MAX_CONTENT_CHARACTERS = 100_000


def register(server: MCPServer[None], services: Services, scope: CallScope) -> None:
    """Add the tools to the server."""

    @offer(server, "List documents")
    async def documents_list() -> Annotated[CallToolResult, DocumentsListResult]:
        """List the documents in scope with their status, pages, pages without text, and summaries."""
        result = await list_documents(services.library, services.analyses, scope())
        lines = [f"{d.filename}: {d.status}, {d.pages} pages" for d in result.documents]
        return success(result, "\n".join(lines) or "There are no documents.")

    @offer(server, "Summarise a document", NotFound.code, NOT_READY, SUMMARY_FAILED, NoReadableDocument.code)
    async def documents_get_summary(
        document_id: DocumentId,
    ) -> Annotated[CallToolResult, SummaryResult]:
        """Get the summary of one document. Not before its status is `completed`."""
        result = await services.contents.summary(scope(), document_id)
        return success(result, result.summary)

    @offer(server, "Read a document", NotFound.code, NOT_READY, SUMMARY_FAILED, NoReadableDocument.code)
    async def documents_get_content(
        document_id: DocumentId,
        ctx: Context[None],
        max_chars: Annotated[
            int | None,
            Field(ge=1, le=MAX_CONTENT_CHARACTERS, description="a longer text is summarised instead"),
        ] = None,
    ) -> Annotated[CallToolResult, ContentResult]:
        """Get the whole text of one document where it is short, else its detailed summary."""
        result = await services.contents.content(scope(), document_id, max_chars, CallProgress(ctx).working)
        return success(result, page_marked(result))
