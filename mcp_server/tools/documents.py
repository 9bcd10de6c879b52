"""documents_list, documents_get_summary and documents_get_content: the documents of a scope as a whole."""

from collections.abc import Sequence
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from core.analysis.models import AnalysisStatus, AnalysisStore, DocumentAnalysis
from core.documents.scope import Scope
from core.errors import NoReadableDocument, NotFound, ToolFailed, Unavailable
from core.mcp_contract import ContentResult, DocumentsListResult, ListedDocument, SummaryResult
from core.models import Document, DocumentStatus, Page, Progress
from mcp_server.tools.registration import CallProgress, CallScope, DocumentId, offer, success
from mcp_server.tools.scope_filter import (
    Library,
    current_analyses,
    document_in_scope,
    documents_in_scope,
    read_document,
    unreadable,
    whole_page,
)

MAX_CONTENT_CHARACTERS = 100_000

NOT_READY = "not_ready"
SUMMARY_FAILED = "summary_failed"

MAX_CONTENT_CHARS = 8000
"""documents_get_content returns summaries of longer documents."""


class DocumentContents:
    """Lists documents and returns their summaries, and the text of documents of up to `characters`."""

    def __init__(
        self, library: Library, analyses: AnalysisStore, *, characters: int = MAX_CONTENT_CHARS
    ) -> None:
        self._library = library
        self._analyses = analyses
        self._characters = characters

    async def documents(self, scope: Scope) -> DocumentsListResult:
        """The documents in `scope`, oldest first. Others of the same owner are not mentioned."""
        documents = await documents_in_scope(self._library, scope)
        analysed = await current_analyses(self._analyses, documents)
        return DocumentsListResult(documents=[_listed(d, analysed.get(d.document_id)) for d in documents])

    async def summary(self, scope: Scope, document_id: str) -> SummaryResult:
        """The document's summary. Raises `not_ready` until it is completed and its summary is made."""
        document = await document_in_scope(self._library, scope, document_id)
        analysis = await self._finished_analysis(document)
        return SummaryResult(
            document_id=document.document_id,
            filename=document.blob_name,
            pages=document.pages,
            method=analysis.method,
            summary=analysis.summary,
        )

    async def content(
        self, scope: Scope, document_id: str, max_chars: int | None, progress: Progress
    ) -> ContentResult:
        """The whole text if it is short enough, even before ingestion; otherwise the detailed summary."""
        document = await document_in_scope(self._library, scope, document_id)
        document = await read_document(self._library, document, progress)
        most = self._characters if max_chars is None else max_chars
        pages = await self._library.text(document)
        length = sum(len(page.text) for page in pages)
        if length <= most:
            return _text(document, pages, length, most)
        analysis = await self._finished_analysis(document)
        return _summary(document, analysis, length, most)

    async def _finished_analysis(self, document: Document) -> DocumentAnalysis:
        if document.status is DocumentStatus.FAILED:
            raise unreadable(document)
        analysis = (await current_analyses(self._analyses, [document])).get(document.document_id)
        if analysis is not None and analysis.status is AnalysisStatus.FAILED:
            reason = analysis.reason or "The analysis failed."
            message = f'There is no summary of "{document.blob_name}": {reason}'
            raise ToolFailed(message, code=SUMMARY_FAILED)
        if document.status is not DocumentStatus.COMPLETED:
            raise _not_ready(document, f"its status is {document.status}, not completed")
        if analysis is None or not analysis.is_done:
            raise _not_ready(document, f"its status is {document.status}, but its summary is being made")
        return analysis


def _listed(document: Document, analysis: DocumentAnalysis | None) -> ListedDocument:
    return ListedDocument(
        document_id=document.document_id,
        filename=document.blob_name,
        context_id=document.conversation_id,
        status=document.status,
        reason=document.reason,
        pages=document.pages,
        pages_without_text=document.pages_without_text,
        summary_available=analysis is not None and analysis.is_done,
    )


def _not_ready(document: Document, why: str) -> Unavailable:
    message = f'The summary of "{document.blob_name}" is not ready: {why}. Try again in a moment.'
    return Unavailable(message, code=NOT_READY)


def _text(document: Document, pages: Sequence[Page], length: int, most: int) -> ContentResult:
    return ContentResult(
        document_id=document.document_id,
        filename=document.blob_name,
        status=document.status,
        kind="text",
        reason=f"The whole text has {length} characters, within the limit of {most}.",
        characters=length,
        pages=[whole_page(document, page) for page in pages],
    )


def _summary(document: Document, analysis: DocumentAnalysis, length: int, most: int) -> ContentResult:
    return ContentResult(
        document_id=document.document_id,
        filename=document.blob_name,
        status=document.status,
        kind="detailed_summary",
        reason=f"The whole text has {length} characters, over the limit of {most}; this is its summary.",
        characters=length,
        detailed_summary=analysis.detailed_summary,
    )


def content_as_text(content: ContentResult) -> str:
    """The content as text: each page under its number, or the summary."""
    if content.kind == "detailed_summary":
        return f"{content.reason}\n\n{content.detailed_summary}"
    return "\n\n".join(f"[Page {page.page_number}]\n{page.text}" for page in content.pages)


def register(server: MCPServer[None], contents: DocumentContents, scope: CallScope) -> None:
    """Registers the tools."""

    @offer(server, "List documents")
    async def documents_list() -> Annotated[CallToolResult, DocumentsListResult]:
        """List the documents in scope with their status, pages, pages without text, and summaries."""
        result = await contents.documents(scope())
        lines = [f"{d.filename}: {d.status}, {d.pages} pages" for d in result.documents]
        return success(result, "\n".join(lines) or "There are no documents.")

    @offer(server, "Summarise a document", NotFound.code, NOT_READY, SUMMARY_FAILED, NoReadableDocument.code)
    async def documents_get_summary(
        document_id: DocumentId,
    ) -> Annotated[CallToolResult, SummaryResult]:
        """Get the summary of one document, once its status is `completed`."""
        result = await contents.summary(scope(), document_id)
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
        """Get the whole text of one document if it is short, otherwise its detailed summary."""
        result = await contents.content(scope(), document_id, max_chars, CallProgress(ctx).working)
        return success(result, content_as_text(result))
