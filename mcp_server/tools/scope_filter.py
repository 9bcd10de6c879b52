"""The documents that a call may use: those that its scope token makes accessible, and no others.

The catalog decides which documents exist. A lost blob is noticed when it is read.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from orc_core.analysis.models import DocumentAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.places import Accessible, DocumentOrigin
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.errors import NoReadableDocument, NotFound, Unavailable, UnsafeName
from orc_core.mcp_contract import PageText, SearchedDocument
from orc_core.models import Document, Page, Progress
from orc_core.names import BlobPath, page_id

NOT_READABLE = "Its text is not ready."
MOST_LISTED = 200
"""Documents that one call compares; of more it uses those that a search finds."""


class Listed(NamedTuple):
    """Accessible documents in the order of listings; `has_more`: there are others."""

    documents: list[Document]
    has_more: bool


async def documents_in_scope(library: DocumentService, accessible: Accessible) -> Listed:
    """The first of the accessible documents, at most MOST_LISTED."""
    page = await library.page(accessible, limit=MOST_LISTED)
    return Listed(accessible.in_order(page.documents), has_more=page.after is not None)


async def document_in_scope(library: DocumentService, scope: Scope, document_id: str) -> Document:
    """The document with this id, or else that of the session with this file name.

    NotFound if there is none in `scope`.
    """
    ids = [document_id]
    # What cannot be a name is none.
    with suppress(UnsafeName):
        ids.append(BlobPath(scope.owner, document_id).document_id)
    if found := await library.find_accessible(scope.accessible, ids):
        return found[0]
    raise NotFound("There is no such document in this conversation.")


async def readable_documents(
    library: DocumentService, documents: Iterable[Document], progress: Progress
) -> list[Document]:
    """These documents, each made readable or with the reason why it is not."""

    async def read(document: Document) -> Document:
        try:
            return await library.readable(document, progress)
        except (NotFound, Unavailable) as exc:
            return document.model_copy(update={"reason_code": exc.code, "reason": exc.message})

    return list(await asyncio.gather(*map(read, documents)))


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


def origin_of(scope: Scope, document: Document) -> DocumentOrigin:
    """Where a document is from; empty if the scope has no contexts."""
    return scope.accessible.described_origin(document)


def searched_document(scope: Scope, document: Document) -> SearchedDocument:
    """The document as the result of a search lists it."""
    return SearchedDocument(
        **origin_of(scope, document).model_dump(),
        document_id=document.document_id,
        filename=document.blob_name,
        status=document.status,
        searched=document.readable,
        reason=None if document.readable else document.reason or NOT_READABLE,
    )


def page_text(
    scope: Scope, document: Document, page: Page, start: int = 0, end: int | None = None
) -> PageText:
    """The characters `start` to `end` (None: all that follow) of a page."""
    text = page.text[start:end]
    return PageText(
        **origin_of(scope, document).model_dump(),
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
