"""The documents of a conversation, as routes and tools use them."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from core.documents.ingestion import Ingestion, Reading
from core.documents.models import BlobProperties, Document, DocumentStatus, Page
from core.documents.names import BlobPath, Owner, missing_document, resolve_blob_name
from core.documents.ports import BlobStore, Catalog, PageStore, PassageIndex, Progress
from core.errors import NotFound

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class DocumentLibrary:
    """Finds, adds and removes documents. Blobs are the truth; records follow them.

    A document is removed blob first and record last: whatever a crash leaves is not shown any more, and
    the next look at the conversation clears it away.
    """

    def __init__(
        self,
        blobs: BlobStore,
        catalog: Catalog,
        pages: PageStore,
        index: PassageIndex,
        ingestion: Ingestion,
    ) -> None:
        self._blobs = blobs
        self._catalog = catalog
        self._pages = pages
        self._index = index
        self._ingestion = ingestion

    async def resolve(self, owner: Owner, names: Sequence[str]) -> list[Document]:
        """The records of these names, in order, each document once; `uploaded` where it is yet unread.

        Raises UnsafeName before any I/O, and NotFound for a name without a document.
        """
        wanted = {resolve_blob_name(name, owner): name for name in names}
        known = await self._known(owner, [path.document_id for path in wanted])
        blobs = await asyncio.gather(*(self._blobs.head(path) for path in wanted))
        documents = []
        for (path, name), blob in zip(wanted.items(), blobs, strict=True):
            document = await self._agree(path, blob, known.get(path.document_id))
            if document is None:
                raise missing_document(name)
            documents.append(document)
        return documents

    async def upload(
        self, owner: Owner, file_name: str, source: Path, progress: Progress | None = None
    ) -> Document:
        """Read a local file and keep it under a bare `file_name`, replacing one of that name.

        A file that is rejected leaves nothing behind. One without text is kept, as `failed`.
        """
        path = BlobPath(owner, file_name)
        reading = await self._ingestion.read(path, source, progress)
        return await _to_the_end(self._keep(path, source, reading))

    async def list_documents(self, owner: Owner) -> list[Document]:
        """The conversation's documents, oldest first."""
        # Records before blobs: a record without a blob is then one whose blob has gone.
        known = {document.path: document for document in await self._catalog.list_in(owner)}
        blobs = {blob.path: blob for blob in await self._blobs.list_in(owner)}
        found = [await self._agree(path, blobs.get(path), known.get(path)) for path in {**known, **blobs}]
        documents = [document for document in found if document is not None]
        return sorted(documents, key=lambda document: (document.created_at, document.blob_name))

    async def delete(self, owner: Owner, document_id: str) -> None:
        """Remove a document and all that was made of it. Raises NotFound for an id not in here."""
        for document in await self._everything(owner):
            if document.document_id == document_id:
                return await self._remove(document)
        raise NotFound("There is no such document in this conversation.")

    async def delete_all(self, owner: Owner) -> None:
        """Remove every document of a conversation."""
        for document in await self._everything(owner):
            await self._remove(document)

    async def ready(self, document: Document, progress: Progress | None = None) -> Document:
        """The record once the text can be searched, or `failed` with the reason why it cannot.

        What failed once is not tried again on the same bytes.
        """
        if document.status in (DocumentStatus.COMPLETED, DocumentStatus.FAILED):
            return document
        return await self._ingestion.ingest(document, progress)

    async def text(self, document: Document, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (all: None), in order."""
        return await self._pages.get(document.document_id, numbers)

    async def close(self) -> None:
        """Wait for ingestion that is still going on."""
        await self._ingestion.close()

    async def _keep(self, path: BlobPath, source: Path, reading: Reading) -> Document:
        async with self._ingestion.writing(path.document_id):
            replaces = await self._blobs.head(path) is not None
            blob = await self._blobs.put(path, source)
            try:
                saved = await self._ingestion.save(blob, reading)
            except BaseException:
                if not replaces:
                    await self._erase(Document.first_seen(blob))
                raise
        return saved or await self._ingestion.reread(Document.first_seen(blob))

    async def _agree(
        self, path: BlobPath, blob: BlobProperties | None, known: Document | None
    ) -> Document | None:
        """The record that matches the blob, made or removed where the two do not agree."""
        if blob is None and known is None:
            return None
        if blob is not None and known is not None and blob.etag == known.etag:
            return known
        async with self._ingestion.writing(path.document_id):
            return await self._make_agree(path)

    async def _make_agree(self, path: BlobPath) -> Document | None:
        known = (await self._known(path.owner, [path.document_id])).get(path.document_id)
        blob = await self._blobs.head(path)
        if blob is None:
            if known is not None:
                await self._forget(known)
            return None
        if known is not None and known.etag == blob.etag:
            return known
        document = Document.first_seen(blob)
        await self._catalog.save(document)
        return document

    async def _known(self, owner: Owner, document_ids: Sequence[str]) -> dict[str, Document]:
        return {document.document_id: document for document in await self._catalog.get(owner, document_ids)}

    async def _everything(self, owner: Owner) -> list[Document]:
        """Whatever there is to remove: blobs without a record, and records without a blob too."""
        records = await self._catalog.list_in(owner)
        unread = map(Document.first_seen, await self._blobs.list_in(owner))
        return list({document.path: document for document in [*unread, *records]}.values())

    async def _remove(self, document: Document) -> None:
        async with self._ingestion.writing(document.document_id):
            await self._erase(document)

    async def _erase(self, document: Document) -> None:
        await self._blobs.delete(document.path)
        await self._forget(document)

    async def _forget(self, document: Document) -> None:
        await self._index.delete(document.document_id)
        await self._pages.delete(document.document_id)
        await self._catalog.delete(document)


async def _to_the_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Await `work`, which also ends when the caller is cancelled: half of it would be worse than all."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if error := task.exception():
            log.warning("upload failed after its caller had gone", exc_info=error)
        raise
