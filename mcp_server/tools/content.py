"""documents_get_summary and documents_get_content: one document as a whole, in few words or in its own."""

from collections.abc import Sequence

from core.analysis.models import AnalysisStatus, AnalysisStore, DocumentAnalysis
from core.documents.scope import Scope
from core.errors import ToolFailed, Unavailable
from core.mcp_contract import ContentResult, SummaryResult
from core.models import Document, DocumentStatus, Page, Progress
from mcp_server.tools.scope_filter import (
    Library,
    document_in_reach,
    present_analyses,
    read_document,
    unreadable,
    whole_page,
)

NOT_READY = "not_ready"
SUMMARY_FAILED = "summary_failed"

MAX_CONTENT_CHARS = 8000
"""documents_get_content returns summaries of longer documents."""


class Contents:
    """Gives out summaries, and the text of documents of up to `characters`."""

    def __init__(
        self, library: Library, analyses: AnalysisStore, *, characters: int = MAX_CONTENT_CHARS
    ) -> None:
        self._library = library
        self._analyses = analyses
        self._characters = characters

    async def summary(self, scope: Scope, document_id: str) -> SummaryResult:
        """The document's summary. Raises `not_ready` until it is completed and its summary is made."""
        document = await document_in_reach(self._library, scope, document_id)
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
        """The whole text where it is short enough, ready or not; else the detailed summary."""
        document = await document_in_reach(self._library, scope, document_id)
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
        analysis = (await present_analyses(self._analyses, [document])).get(document.document_id)
        if analysis is not None and analysis.status is AnalysisStatus.FAILED:
            reason = analysis.reason or "The analysis failed."
            message = f'There is no summary of "{document.blob_name}": {reason}'
            raise ToolFailed(message, code=SUMMARY_FAILED)
        if document.status is not DocumentStatus.COMPLETED:
            raise _not_ready(document, f"its status is {document.status}, not completed")
        if analysis is None or not analysis.is_done:
            raise _not_ready(document, f"its status is {document.status}, but its summary is being made")
        return analysis


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


def page_marked(content: ContentResult) -> str:
    """The content for people: each page under its mark, or the summary."""
    if content.kind == "detailed_summary":
        return f"{content.reason}\n\n{content.detailed_summary}"
    return "\n\n".join(f"[Page {page.page_number}]\n{page.text}" for page in content.pages)
