"""What a model gets to read: whole documents where they fit, else the passages that a search found."""

from collections.abc import Sequence
from typing import Literal

from core.documents.library import DocumentLibrary
from core.documents.models import Document, Hit, Page, Record
from core.documents.ports import PassageIndex
from core.grounding.sources import Source

OPENING_PAGES = 3


class Reading(Record):
    """The numbered sources of a prompt, and why they were chosen."""

    mode: Literal["inline", "rag"]
    reason: str
    sources: list[Source]
    pages: int


async def read_inline(library: DocumentLibrary, documents: Sequence[Document], reason: str) -> Reading:
    """Every page that has text, each a source, in reading order."""
    sources: list[Source] = []
    for document in documents:
        pages = [page for page in await library.text(document) if page.text.strip()]
        sources.extend(_whole_page(document, page, len(sources) + n) for n, page in enumerate(pages, 1))
    return Reading(mode="inline", reason=reason, sources=sources, pages=len(sources))


async def read_passages(
    library: DocumentLibrary,
    index: PassageIndex,
    question: str,
    documents: Sequence[Document],
    top_k: int,
    reason: str,
) -> Reading:
    """The passages that match the question best; the opening pages where none matches at all."""
    hits = await index.search(question, [document.document_id for document in documents], top_k)
    if not hits:
        return await _read_openings(library, documents, reason)
    by_id = {document.document_id: document for document in documents}
    texts = await _page_texts(library, by_id, hits)
    sources = [
        Source(
            number=number,
            document_id=hit.passage.document_id,
            blob_name=by_id[hit.passage.document_id].blob_name,
            page=hit.passage.page,
            start=hit.passage.start,
            text=hit.passage.text,
            page_text=texts[hit.passage.document_id, hit.passage.page],
        )
        for number, hit in enumerate(hits, 1)
    ]
    return Reading(mode="rag", reason=reason, sources=sources, pages=len(texts))


async def _read_openings(library: DocumentLibrary, documents: Sequence[Document], reason: str) -> Reading:
    sources: list[Source] = []
    for document in documents:
        pages = await library.text(document, range(1, OPENING_PAGES + 1))
        sources.extend(_whole_page(document, page, len(sources) + n) for n, page in enumerate(pages, 1))
    note = f"{reason} No passage matches the question, so the opening pages were read."
    return Reading(mode="rag", reason=note, sources=sources, pages=len(sources))


async def _page_texts(
    library: DocumentLibrary, documents: dict[str, Document], hits: Sequence[Hit]
) -> dict[tuple[str, int], str]:
    texts: dict[tuple[str, int], str] = {}
    for document_id, document in documents.items():
        wanted = sorted({hit.passage.page for hit in hits if hit.passage.document_id == document_id})
        if wanted:
            pages = await library.text(document, wanted)
            texts.update({(document_id, page.number): page.text for page in pages})
    return texts


def _whole_page(document: Document, page: Page, number: int) -> Source:
    return Source(
        number=number,
        document_id=document.document_id,
        blob_name=document.blob_name,
        page=page.number,
        start=0,
        text=page.text,
        page_text=page.text,
    )
