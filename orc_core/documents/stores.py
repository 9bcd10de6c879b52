"""The stores of the document side, and operations that concern all of them."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from weakref import WeakValueDictionary

from orc_core.documents.catalog import Catalog
from orc_core.documents.pictures import PictureFolder
from orc_core.documents.ports import (
    BlobStore,
    DocumentAnalyses,
    JobQueue,
    PageStore,
    PassageIndex,
    ProviderFiles,
    VectorIndex,
)
from orc_core.models import BlobProperties, Document, DocumentStatus, JobKind
from orc_core.names import BlobPath


@dataclass(frozen=True)
class Stores:
    """All stores of documents. Blobs are the source of truth; everything else is derived from them."""

    blobs: BlobStore
    catalog: Catalog
    pages: PageStore
    index: PassageIndex
    analyses: DocumentAnalyses
    queue: JobQueue
    vectors: VectorIndex | None = None
    files: ProviderFiles | None = None
    pictures: PictureFolder | None = None
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def write_lock(self, document_id: str) -> asyncio.Lock:
        """The lock that this process holds while it changes stored data of one document."""
        return self._locks.setdefault(document_id, asyncio.Lock())

    async def get(self, path: BlobPath) -> Document | None:
        """The record of the document at `path`."""
        return next(iter(await self.catalog.get(path.owner, [path.document_id])), None)

    async def is_current(self, document: Document) -> bool:
        """Whether the stored record equals this one and the blob still has the bytes of its ETag.

        Blobs change first: data that was read before a positive result belongs to these bytes.
        """
        blob = await self.blobs.head(document.path)
        return blob is not None and blob.etag == document.etag and await self.get(document.path) == document

    async def begin(
        self,
        blob: BlobProperties,
        status: DocumentStatus = DocumentStatus.UPLOADED,
        created_at: datetime | None = None,
    ) -> Document:
        """Store and queue a record for a blob that has not been processed yet; by default it is new."""
        document = Document.first_seen(blob, created_at).model_copy(update={"status": status})
        await self.make_unsearchable(document.document_id)
        await self.forget_pictures(document.document_id)
        await self.catalog.save(document)
        await self.queue.enqueue(document, JobKind.INGEST)
        return document

    async def restart(self, path: BlobPath) -> Document | None:
        """Discard derived data and `begin` again; if the blob is gone, remove all data of the document."""
        if (blob := await self.blobs.head(path)) is not None:
            return await self.begin(blob)
        await self.forget(path)
        return None

    async def make_unsearchable(self, document_id: str) -> None:
        """Remove a document's passages from the indexes."""
        await self.index.delete(document_id)
        if self.vectors is not None:
            await self.vectors.delete(document_id)

    async def forget_pictures(self, document_id: str) -> None:
        """Remove the pictures of a document's pages."""
        if self.pictures is not None:
            await self.pictures.delete(document_id)

    async def forget(self, path: BlobPath) -> None:
        """Remove all data of a document. The record goes last: after a crash the rest can be found."""
        await self.make_unsearchable(path.document_id)
        await self.forget_pictures(path.document_id)
        await self.pages.delete(path.document_id)
        await self.analyses.delete(path.document_id)
        await self.queue.delete(path.document_id)
        if self.files is not None:
            await self.files.forget(path)
        await self.catalog.delete(path)
