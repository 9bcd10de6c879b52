"""documents_list: what is attached to the conversation, and how far each document has come."""

from core.contract import DocumentsListResult, ListedDocument
from core.documents.library import DocumentLibrary
from core.documents.models import Document
from core.scope import Scope


async def list_documents(library: DocumentLibrary, scope: Scope) -> DocumentsListResult:
    """The documents in `scope`, oldest first. Others of the same owner are not mentioned."""
    in_scope = set(scope.document_ids)
    documents = await library.list_documents(scope.owner)
    return DocumentsListResult(documents=[_listed(d) for d in documents if d.document_id in in_scope])


def _listed(document: Document) -> ListedDocument:
    return ListedDocument(
        document_id=document.document_id,
        filename=document.blob_name,
        context_id=document.conversation_id,
        status=document.status,
        reason=document.reason,
        pages=document.pages,
        pages_without_text=document.pages_without_text,
    )
