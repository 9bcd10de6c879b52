"""documents_list: what is attached to the conversation, and how far each document has come."""

from core.analysis.models import AnalysisStore, DocumentAnalysis
from core.documents.scope import Scope
from core.mcp_contract import DocumentsListResult, ListedDocument
from core.models import Document
from mcp_server.tools.scope_filter import Library, documents_in_reach, present_analyses


async def list_documents(library: Library, analyses: AnalysisStore, scope: Scope) -> DocumentsListResult:
    """The documents in `scope`, oldest first. Others of the same owner are not mentioned."""
    documents = await documents_in_reach(library, scope)
    analysed = await present_analyses(analyses, documents)
    return DocumentsListResult(documents=[_listed(d, analysed.get(d.document_id)) for d in documents])


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
