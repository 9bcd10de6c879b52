"""All that is kept of documents, and the two things that concern every store: first sight and the end."""

import asyncio
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from core.documents.ports import (
    BlobStore,
    Catalog,
    DocumentAnalyses,
    JobQueue,
    PageStore,
    PassageIndex,
    ProviderFiles,
    VectorIndex,
)
from core.models import BlobProperties, Document, JobKind
from core.names import BlobPath


@dataclass(frozen=True)
class Stores:
    """The stores that everybody who works on documents shares. Blobs are the truth; the rest follows."""

    blobs: BlobStore
    catalog: Catalog
    pages: PageStore
    index: PassageIndex
    analyses: DocumentAnalyses
    queue: JobQueue
    vectors: VectorIndex | None = None
    files: ProviderFiles | None = None
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def write_lock(self, document_id: str) -> asyncio.Lock:
        """The lock under which this process changes what is stored of one document."""
        return self._locks.setdefault(document_id, asyncio.Lock())

    async def get(self, path: BlobPath) -> Document | None:
        """The record of the document at `path`."""
        return next(iter(await self.catalog.get(path.owner, [path.document_id])), None)

    async def is_current(self, document: Document) -> bool:
        """Whether the record is still this one, and the blob still has the bytes that it speaks of.

        Blobs change first, so what was read before this holds was made from those bytes.
        """
        blob = await self.blobs.head(document.path)
        return blob is not None and blob.etag == document.etag and await self.get(document.path) == document

    async def begin(self, blob: BlobProperties) -> Document:
        """The record of a blob whose bytes nobody has read yet, kept and queued."""
        document = Document.first_seen(blob)
        await self.make_unsearchable(document.document_id)
        await self.catalog.save(document)
        await self.queue.enqueue(document, JobKind.INGEST)
        return document

    async def restart(self, path: BlobPath) -> Document | None:
        """Like `begin`, after something unfit was stored; where the blob has gone, all of it goes."""
        if (blob := await self.blobs.head(path)) is not None:
            return await self.begin(blob)
        await self.forget(path)
        return None

    async def make_unsearchable(self, document_id: str) -> None:
        """Take a document's passages out of the search."""
        await self.index.delete(document_id)
        if self.vectors is not None:
            await self.vectors.delete(document_id)

    async def forget(self, path: BlobPath) -> None:
        """Remove all that was made of a document, its record last: a crash leaves something to find."""
        await self.make_unsearchable(path.document_id)
        await self.pages.delete(path.document_id)
        await self.analyses.delete(path.document_id)
        await self.queue.delete(path.document_id)
        if self.files is not None:
            await self.files.forget(path)
        await self.catalog.delete(path)
