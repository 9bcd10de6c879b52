"""The documents that a call may use: those of its scope token in its own conversation, and no others."""

import asyncio
from collections.abc import Sequence

from core.analysis.models import AnalysisStore, DocumentAnalysis
from core.documents.scope import Scope
from core.documents.service import DocumentService
from core.errors import NoReadableDocument, NotFound, Unavailable
from core.mcp_contract import PageText, SearchedDocument
from core.models import Document, Page, Progress
from core.names import page_id

NOT_READABLE = "Its text is not ready."


async def documents_in_scope(library: DocumentService, scope: Scope) -> list[Document]:
    """The documents of `scope`, oldest first. All others are left out, those of the same owner too."""
    return [each for each in await library.list_documents(scope.owner) if scope.accessible.holds(each)]


async def document_in_scope(library: DocumentService, scope: Scope, document_id: str) -> Document:
    """The document with this id, or else with this file name. NotFound if there is none in `scope`."""
    documents = await documents_in_scope(library, scope)
    for known in ({d.document_id: d for d in documents}, {d.blob_name: d for d in documents}):
        if (document := known.get(document_id)) is not None:
            return document
    raise NotFound("There is no such document in this conversation.")


async def read_documents_in_scope(
    library: DocumentService, scope: Scope, progress: Progress
) -> list[Document]:
    """The documents of `scope`, each made readable or with the reason why it is not."""

    async def read(document: Document) -> Document:
        try:
            return await library.readable(document, progress)
        except (NotFound, Unavailable) as exc:
            return document.model_copy(update={"reason_code": exc.code, "reason": exc.message})

    return list(await asyncio.gather(*map(read, await documents_in_scope(library, scope))))


async def read_document(
    library: DocumentService, scope: Scope, document_id: str, progress: Progress
) -> Document:
    """The document of `scope` once its text can be read.

    Raises NotFound as document_in_scope does, and NoReadableDocument with the reason if it cannot be read.
    """
    document = await document_in_scope(library, scope, document_id)
    read = await library.readable(document, progress)
    if not read.readable:
        raise unreadable(read)
    return read


def unreadable(document: Document) -> NoReadableDocument:
    """The error for a document without text."""
    return NoReadableDocument(f'"{document.blob_name}" cannot be read: {document.reason or NOT_READABLE}')


def searched_document(document: Document) -> SearchedDocument:
    """The document as the result of a search lists it."""
    return SearchedDocument(
        document_id=document.document_id,
        filename=document.blob_name,
        status=document.status,
        searched=document.readable,
        reason=None if document.readable else document.reason or NOT_READABLE,
    )


def page_text(document: Document, page: Page, start: int = 0, end: int | None = None) -> PageText:
    """The characters `start` to `end` (None: all that follow) of a page."""
    text = page.text[start:end]
    return PageText(
        page_id=page_id(document.document_id, page.number),
        document_id=document.document_id,
        page_number=page.number,
        blob_name=document.blob_name,
        text=text,
        start=start,
        end=start + len(text),
        document_version=document.version,
        media_type=document.media_type,
    )


async def current_analyses(
    analyses: AnalysisStore, documents: Sequence[Document]
) -> dict[str, DocumentAnalysis]:
    """The analyses of the documents' current bytes, by id; those of earlier versions are left out."""
    etags = {document.document_id: document.etag for document in documents}
    found = await analyses.get(list(etags))
    return {key: analysis for key, analysis in found.items() if analysis.etag == etags.get(key)}
