"""documents_list, documents_get_summary and documents_get_content: the documents of a scope as a whole."""

from dataclasses import dataclass
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.tools import scope_filter
from mcp_server.tools.registration import (
    CallProgress,
    CallScope,
    ContextName,
    DocumentId,
    document_line,
    offer,
    success,
)
from orc_core.analysis.models import AnalysisStatus, DocumentAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.places import ALL, Accessible, PlaceType
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.errors import NoReadableDocument, NotFound, ToolFailed, Unavailable
from orc_core.markdown.brackets import visible_name
from orc_core.mcp_contract import (
    ContentResult,
    ContextCount,
    DocumentsListResult,
    ListedDocument,
    SummaryResult,
)
from orc_core.models import Document, DocumentStatus, Progress

MAX_CONTENT_CHARACTERS = 100_000
LISTED_AT_ONCE = 50
"""Documents in a page of a listing, if the scope has contexts and the call names no limit."""

NOT_READY = "not_ready"
SUMMARY_FAILED = "summary_failed"

INSTEAD = "Search it with semantic_search, or have it read with documents_analyze."

MAX_CONTENT_CHARS = 8000
"""documents_get_content returns summaries of longer documents."""


@dataclass
class DocumentContents:
    """Lists documents and returns their summaries, and the text of documents of up to `characters`.

    `has_analysis`: summaries are made of new documents.
    """

    library: DocumentService
    analyses: AnalysisStore
    characters: int = MAX_CONTENT_CHARS
    has_analysis: bool = True

    async def documents(
        self,
        scope: Scope,
        context: str = ALL,
        *,
        status: DocumentStatus | None = None,
        name: str = "",
        limit: int | None = None,
        cursor: str = "",
    ) -> DocumentsListResult:
        """A page of the documents in `scope`, place by place. Others of the same owner are not mentioned.

        The first page of a scope with contexts counts the documents of each.
        """
        accessible = scope.accessible.narrowed(context)
        most = limit or (LISTED_AT_ONCE if scope.accessible.has_contexts else scope_filter.MOST_LISTED)
        page = await self.library.page(accessible, after=cursor, limit=most, name=name, status=status)
        documents = accessible.in_order(page.documents)
        analysed = await scope_filter.current_analyses(self.analyses, documents)
        counts = [] if cursor else await self._counts(scope, accessible)
        return DocumentsListResult(
            documents=[_listed(scope, each, analysed.get(each.document_id)) for each in documents],
            total=sum(each.total for each in counts) if counts else None,
            by_context=counts or None,
            next_cursor=page.after,
        )

    async def _counts(self, scope: Scope, accessible: Accessible) -> list[ContextCount]:
        """The number of documents of each place; none without contexts."""
        if not scope.accessible.has_contexts:
            return []
        handles = {id(place): handle for handle, place in scope.accessible.handles.items()}
        return [
            ContextCount(
                context=handles.get(id(place)),
                context_type=place.type,
                context_id=place.id,
                context_name=place.name or None,
                focus=place.near,
                total=total,
                ready=readable,
            )
            for place, total, readable, _ in await self.library.count(accessible)
        ]

    async def summary(self, scope: Scope, document_id: str) -> SummaryResult:
        """The document's summary. Raises `not_ready` until it is completed and its summary is made."""
        document = await scope_filter.document_in_scope(self.library, scope, document_id)
        analysis = await self._finished_analysis(document)
        return SummaryResult(
            **scope_filter.origin_of(scope, document).model_dump(),
            document_id=document.document_id,
            filename=document.blob_name,
            pages=document.pages,
            method=analysis.method,
            note=analysis.note,
            summary=analysis.summary,
        )

    async def content(
        self, scope: Scope, document_id: str, max_chars: int | None, progress: Progress
    ) -> ContentResult:
        """The whole text if it is short enough, even before ingestion; otherwise the detailed summary."""
        document = await scope_filter.read_document(self.library, scope, document_id, progress)
        most = self.characters if max_chars is None else max_chars
        pages = await self.library.text(document)
        length = sum(len(page.text) for page in pages)
        shared: dict[str, Any] = {"document_id": document.document_id, "filename": document.blob_name}
        shared |= {"status": document.status, "characters": length}
        shared |= scope_filter.origin_of(scope, document).model_dump()
        if length <= most:
            return ContentResult(
                **shared,
                kind="text",
                reason=f"The whole text has {length} characters, within the limit of {most}.",
                pages=[scope_filter.page_text(scope, document, page) for page in pages],
            )
        analysis = await self._finished_analysis(document)
        reason = f"The whole text has {length} characters, over the limit of {most}; this is its summary."
        return ContentResult(
            **shared,
            kind="detailed_summary",
            reason=f"{reason} {analysis.note}".rstrip(),
            detailed_summary=analysis.detailed_summary,
        )

    async def _finished_analysis(self, document: Document) -> DocumentAnalysis:
        if document.status is DocumentStatus.FAILED:
            raise scope_filter.unreadable(document)
        analysed = await scope_filter.current_analyses(self.analyses, [document])
        analysis = analysed.get(document.document_id)
        if analysis is not None and analysis.status is AnalysisStatus.FAILED:
            reason = analysis.reason or "The analysis failed."
            message = f'There is no summary of "{document.blob_name}": {reason}'
            raise ToolFailed(f"{message} {INSTEAD}", code=SUMMARY_FAILED)
        is_indexed = document.status is DocumentStatus.COMPLETED
        if is_indexed and analysis is not None and analysis.is_done:
            return analysis
        if is_indexed and not self.has_analysis:
            message = f'"{document.blob_name}" has no summary, and none is made here.'
            raise ToolFailed(f"{message} {INSTEAD}", code=SUMMARY_FAILED)
        why = "but its summary is being made" if is_indexed else "not completed"
        message = (
            f'The summary of "{document.blob_name}" is not ready: its status is {document.status}, {why}.'
        )
        raise Unavailable(f"{message} Try again in a moment. {INSTEAD}", code=NOT_READY)


def _listed(scope: Scope, document: Document, analysis: DocumentAnalysis | None) -> ListedDocument:
    origin = scope_filter.origin_of(scope, document)
    return ListedDocument(
        document_id=document.document_id,
        filename=document.blob_name,
        context_type=origin.context_type or PlaceType.SESSION,
        context_id=origin.context_id or document.conversation_id,
        context_name=origin.context_name,
        focus=origin.focus,
        status=document.status,
        reason=document.reason,
        pages=document.pages,
        pages_without_text=document.pages_without_text,
        summary_available=analysis is not None and analysis.is_done,
    )


def _in_context(document: ListedDocument) -> str:
    if document.context_name is None:
        return ""
    return f', in {document.context_type} "{visible_name(document.context_name)}"'


def content_as_text(content: ContentResult) -> str:
    """The content as text, under its document: each page under its number, or the summary."""
    document = document_line(content.filename, content.document_id)
    if content.kind == "detailed_summary":
        return f"{document}: {content.reason}\n\n{content.detailed_summary}"
    return "\n\n".join([document, *(f"[Page {page.page_number}]\n{page.text}" for page in content.pages)])


def register(server: MCPServer[None], contents: DocumentContents, scope: CallScope) -> None:
    """Registers the tools."""

    @offer(server)
    async def documents_list(
        context: ContextName = ALL,
        status: DocumentStatus | None = None,
        name: Annotated[str, Field(max_length=255, description="part of the file name")] = "",
        limit: Annotated[
            int | None, Field(ge=1, le=scope_filter.MOST_LISTED, description="documents in a page")
        ] = None,
        cursor: Annotated[str, Field(max_length=200, description="`next_cursor` of the page before")] = "",
    ) -> Annotated[CallToolResult, DocumentsListResult]:
        """List the documents in scope with their status, pages, pages without text, and summaries."""
        result = await contents.documents(
            scope(), context, status=status, name=name, limit=limit, cursor=cursor
        )
        lines = [
            f"{document_line(d.filename, d.document_id)}: {d.status}, {d.pages} pages{_in_context(d)}"
            for d in result.documents
        ]
        return success(result, "\n".join(lines) or "There are no documents.")

    if contents.has_analysis:

        @offer(server, NotFound.code, NOT_READY, SUMMARY_FAILED, NoReadableDocument.code)
        async def documents_get_summary(document_id: DocumentId) -> Annotated[CallToolResult, SummaryResult]:
            """Get the summary of one document, once its status is `completed`."""
            result = await contents.summary(scope(), document_id)
            return success(result, f"{document_line(result.filename, result.document_id)}: {result.summary}")

    @offer(server, NotFound.code, NOT_READY, SUMMARY_FAILED, NoReadableDocument.code)
    async def documents_get_content(
        document_id: DocumentId,
        ctx: Context[None],
        max_chars: Annotated[
            int | None,
            Field(ge=1, le=MAX_CONTENT_CHARACTERS, description="a longer text is summarised instead"),
        ] = None,
    ) -> Annotated[CallToolResult, ContentResult]:
        """Get the whole text of one document if it is short, otherwise its detailed summary."""
        async with CallProgress(ctx) as progress:
            result = await contents.content(scope(), document_id, max_chars, progress.working)
        return success(result, content_as_text(result))
