"""The documents that a call may use: those of its scope token in its own conversation, and no others."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from core.analysis.models import AnalysisStore, DocumentAnalysis
from core.documents.scope import Scope
from core.errors import NoReadableDocument, NotFound, Unavailable
from core.mcp_contract import PageText, SearchedDocument
from core.models import Document, Page, Progress
from core.names import Owner, page_id


class Library(Protocol):
    """The part of the document service that the tools use."""

    async def list_documents(self, owner: Owner) -> list[Document]:
        """A conversation's documents, oldest first."""

    async def readable(self, document: Document, progress: Progress | None = None) -> Document:
        """The record once its text can be read, or as `failed` with the reason.

        Raises NotFound if the document is gone, and Unavailable if it cannot be read at present.
        """

    async def text(self, document: Document, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (all: None), in order."""


async def documents_in_scope(library: Library, scope: Scope) -> list[Document]:
    """The documents of `scope`, oldest first. All others are left out, those of the same owner too."""
    in_scope = set(scope.document_ids)
    return [d for d in await library.list_documents(scope.owner) if d.document_id in in_scope]


async def document_in_scope(library: Library, scope: Scope, document_id: str) -> Document:
    """The document with this id. NotFound if it does not exist, has another owner, or is not in `scope`."""
    for document in await documents_in_scope(library, scope):
        if document.document_id == document_id:
            return document
    raise NotFound("There is no such document in this conversation.")


async def read_documents_in_scope(library: Library, scope: Scope, progress: Progress) -> list[Document]:
    """The documents of `scope`, each made readable or with the reason why it is not."""
    documents = await documents_in_scope(library, scope)
    return list(await asyncio.gather(*(_read(library, document, progress) for document in documents)))


async def _read(library: Library, document: Document, progress: Progress) -> Document:
    try:
        return await library.readable(document, progress)
    except (NotFound, Unavailable) as exc:
        return document.model_copy(update={"reason_code": exc.code, "reason": exc.message})


async def read_document(library: Library, document: Document, progress: Progress) -> Document:
    """The document once its text can be read; NoReadableDocument with the reason if it cannot."""
    read = await library.readable(document, progress)
    if not read.readable:
        raise unreadable(read)
    return read


def unreadable(document: Document) -> NoReadableDocument:
    """The error for a document without text."""
    reason = document.reason or "Its text is not ready."
    return NoReadableDocument(f'"{document.blob_name}" cannot be read: {reason}')


def searched_document(document: Document) -> SearchedDocument:
    """The document as the result of a search lists it."""
    return SearchedDocument(
        document_id=document.document_id,
        filename=document.blob_name,
        status=document.status,
        searched=document.readable,
        reason=None if document.readable else document.reason or "Its text is not ready.",
    )


def whole_page(document: Document, page: Page) -> PageText:
    """All of a page's text."""
    return PageText(
        page_id=page_id(document.document_id, page.number),
        document_id=document.document_id,
        page_number=page.number,
        blob_name=document.blob_name,
        text=page.text,
        end=len(page.text),
    )


async def current_analyses(
    analyses: AnalysisStore, documents: Sequence[Document]
) -> dict[str, DocumentAnalysis]:
    """The analyses of the documents' current bytes, by id; those of earlier versions are left out."""
    etags = {document.document_id: document.etag for document in documents}
    found = await analyses.get(list(etags))
    return {key: analysis for key, analysis in found.items() if analysis.etag == etags.get(key)}
