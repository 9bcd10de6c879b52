"""What a call may reach: the documents of its token that lie in its own conversation, and nothing else."""

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
    """What the tools need of the document library."""

    async def list_documents(self, owner: Owner) -> list[Document]:
        """A conversation's documents, oldest first."""

    async def readable(self, document: Document, progress: Progress | None = None) -> Document:
        """The record once its text can be read, or as `failed` with the reason.

        Raises NotFound where the document has gone, and Unavailable where it cannot be read just now.
        """

    async def text(self, document: Document, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (all: None), in order."""


async def documents_in_reach(library: Library, scope: Scope) -> list[Document]:
    """The documents of `scope`, oldest first. Others of the same owner, and of others, are left out."""
    in_scope = set(scope.document_ids)
    return [d for d in await library.list_documents(scope.owner) if d.document_id in in_scope]


async def document_in_reach(library: Library, scope: Scope, document_id: str) -> Document:
    """The document with this id. NotFound where it is absent, somebody else's, or not in `scope`."""
    for document in await documents_in_reach(library, scope):
        if document.document_id == document_id:
            return document
    raise NotFound("There is no such document in this conversation.")


async def read_in_reach(library: Library, scope: Scope, progress: Progress) -> list[Document]:
    """The documents of `scope`, each read if it can be, else with the reason why not."""
    documents = await documents_in_reach(library, scope)
    return list(await asyncio.gather(*(_read(library, document, progress) for document in documents)))


async def _read(library: Library, document: Document, progress: Progress) -> Document:
    try:
        return await library.readable(document, progress)
    except (NotFound, Unavailable) as exc:
        return document.model_copy(update={"reason_code": exc.code, "reason": exc.message})


async def read_document(library: Library, document: Document, progress: Progress) -> Document:
    """The document once its text can be read; NoReadableDocument with the reason where it cannot."""
    read = await library.readable(document, progress)
    if not read.readable:
        raise unreadable(read)
    return read


def unreadable(document: Document) -> NoReadableDocument:
    """The error for a document without text."""
    reason = document.reason or "Its text is not ready."
    return NoReadableDocument(f'"{document.blob_name}" cannot be read: {reason}')


def as_searched(document: Document) -> SearchedDocument:
    """The document as a search's result names it."""
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


async def present_analyses(
    analyses: AnalysisStore, documents: Sequence[Document]
) -> dict[str, DocumentAnalysis]:
    """The analyses of the documents' present bytes, by id; one of an earlier version is none."""
    etags = {document.document_id: document.etag for document in documents}
    found = await analyses.get(list(etags))
    return {key: analysis for key, analysis in found.items() if analysis.etag == etags.get(key)}
