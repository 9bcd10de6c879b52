"""The documents of a conversation, as routes and tools use them."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from core.documents.ingestion import Ingestion
from core.documents.stores import Stores
from core.documents.text_extraction import ExtractedText, TextExtraction
from core.errors import NotFound
from core.extraction.sniffing import named_format
from core.models import (
    BlobProperties,
    Document,
    DocumentStatus,
    JobKind,
    JobProgress,
    Page,
    PresignedUpload,
    Progress,
)
from core.names import BlobPath, Owner, missing_document, resolve_blob_name

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class DocumentService:
    """Finds, adds and removes documents. Blobs are the truth; records follow them.

    A document is removed blob first and record last: whatever a crash leaves is not shown any more, and
    the next look at the conversation clears it away.
    """

    def __init__(self, stores: Stores, reader: TextExtraction, ingestion: Ingestion) -> None:
        self._stores = stores
        self._reader = reader
        self._ingestion = ingestion

    async def resolve(self, owner: Owner, names: Sequence[str]) -> list[Document]:
        """The records of these names, in order, each document once; `uploaded` where it is yet unread.

        Raises UnsafeName before any I/O, and NotFound for a name without a document.
        """
        wanted = {resolve_blob_name(name, owner): name for name in names}
        known = await self._known(owner, [path.document_id for path in wanted])
        blobs = await asyncio.gather(*(self._stores.blobs.head(path) for path in wanted))
        documents = []
        for (path, name), blob in zip(wanted.items(), blobs, strict=True):
            document = await self._reconcile(path, blob, known.get(path.document_id))
            if document is None:
                raise missing_document(name)
            documents.append(document)
        return documents

    async def find(self, owner: Owner, document_id: str) -> Document:
        """The record of a document of this conversation. Raises NotFound for an id not in here."""
        for document in await self._stores.catalog.get(owner, [document_id]):
            return document
        raise NotFound("There is no such document in this conversation.")

    async def upload(
        self, owner: Owner, file_name: str, source: Path, progress: Progress | None = None
    ) -> Document:
        """Read a local file and keep it under a bare `file_name`, replacing one of that name.

        It can be read at once, and searched once the worker has completed it. A file that is rejected
        leaves nothing behind. One without text is kept, as `failed` if nothing here can recognise it.
        """
        path = BlobPath(owner, file_name)
        extracted = await self._reader.read(path, source, progress)
        return await _run_to_completion(self._store_upload(path, source, extracted))

    async def presign_upload(self, owner: Owner, file_name: str, seconds: int) -> PresignedUpload | None:
        """Leave to put a file under a bare `file_name` past this process; None where that is not offered.

        Once the bytes are there, the next listing or question that sees them catalogues and queues them.
        Raises UnsupportedDocument for a name whose format nobody could read.
        """
        named_format(file_name)
        return await self._stores.blobs.presign_upload(BlobPath(owner, file_name), seconds)

    async def list_documents(self, owner: Owner) -> list[Document]:
        """The conversation's documents, oldest first."""
        # Records before blobs: a record without a blob is then one whose blob has gone.
        known = {document.path: document for document in await self._stores.catalog.list_in(owner)}
        blobs = {blob.path: blob for blob in await self._stores.blobs.list_in(owner)}
        found = [await self._reconcile(path, blobs.get(path), known.get(path)) for path in {**known, **blobs}]
        documents = [document for document in found if document is not None]
        return sorted(documents, key=lambda document: (document.created_at, document.blob_name))

    async def delete(self, owner: Owner, document_id: str) -> None:
        """Remove a document and all that was made of it. Raises NotFound for an id not in here."""
        for path in await self._all_paths(owner):
            if path.document_id == document_id:
                return await self._remove(path)
        raise NotFound("There is no such document in this conversation.")

    async def delete_all(self, owner: Owner) -> None:
        """Remove every document of a conversation."""
        for path in await self._all_paths(owner):
            await self._remove(path)

    async def readable(self, document: Document, progress: Progress | None = None) -> Document:
        """The record once the pages can be read, or `failed` with the reason why they cannot.

        What failed once is not tried again on the same bytes.
        """
        if document.readable or document.status is DocumentStatus.FAILED:
            return document
        return await self._ingestion.readable(document, progress or _ignore_progress)

    async def text(self, document: Document, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (all: None), in order."""
        return await self._stores.pages.get(document.document_id, numbers)

    async def summarised(self, documents: Sequence[Document]) -> set[str]:
        """The ids of those among these documents whose present bytes have been analysed."""
        return await self._stores.analyses.finished(documents)

    async def page_text(self, document_id: str, number: int) -> str:
        """The text of one page; empty where there is none. For ids that a scope has given out only."""
        pages = await self._stores.pages.get(document_id, [number])
        return pages[0].text if pages else ""

    async def page_boxes(self, document_id: str, number: int) -> bytes:
        """Where the words of a page stand, see boxes.py. For ids that a scope has given out only."""
        return await self._stores.pages.boxes(document_id, number)

    async def progress(self, document: Document) -> JobProgress | None:
        """How far the work on a document has come; None where nothing is being done."""
        jobs = await self._stores.queue.progress(document.document_id)
        return jobs.get(JobKind.INGEST) or jobs.get(JobKind.ANALYSE)

    async def _store_upload(self, path: BlobPath, source: Path, extracted: ExtractedText) -> Document:
        async with self._stores.write_lock(path.document_id):
            replaced = await self._stores.blobs.head(path)
            blob = await self._stores.blobs.put(path, source)
            try:
                if stored := await self._ingestion.store(blob, extracted, replaced):
                    return stored
            except BaseException:
                if replaced is None:
                    await self._erase(path)
                raise
            begun = await self._stores.restart(path)
        if begun is None:
            raise missing_document(path.file)
        return await self.readable(begun)

    async def _reconcile(
        self, path: BlobPath, blob: BlobProperties | None, known: Document | None
    ) -> Document | None:
        """The record that matches the blob, made or removed where the two do not agree."""
        if blob is None and known is None:
            return None
        if blob is not None and known is not None and blob.etag == known.etag:
            return known
        async with self._stores.write_lock(path.document_id):
            return await self._reconcile_locked(path)

    async def _reconcile_locked(self, path: BlobPath) -> Document | None:
        known, blob = await self._stores.get(path), await self._stores.blobs.head(path)
        if blob is None:
            if known is not None:
                await self._stores.forget(path)
            return None
        if known is not None and known.etag == blob.etag:
            return known
        return await self._stores.begin(blob)

    async def _known(self, owner: Owner, document_ids: Sequence[str]) -> dict[str, Document]:
        return {
            document.document_id: document for document in await self._stores.catalog.get(owner, document_ids)
        }

    async def _all_paths(self, owner: Owner) -> list[BlobPath]:
        """Whatever there is to remove: blobs without a record, and records without a blob too."""
        records = [document.path for document in await self._stores.catalog.list_in(owner)]
        blobs = [blob.path for blob in await self._stores.blobs.list_in(owner)]
        return list(dict.fromkeys([*records, *blobs]))

    async def _remove(self, path: BlobPath) -> None:
        async with self._stores.write_lock(path.document_id):
            await self._erase(path)

    async def _erase(self, path: BlobPath) -> None:
        await self._stores.blobs.delete(path)
        await self._stores.forget(path)


def _ignore_progress(_done: int, _total: int, _what: str) -> None:
    """Progress that nobody asked for."""


async def _run_to_completion(work: Coroutine[Any, Any, Result]) -> Result:
    """Await `work`, which also ends when the caller is cancelled: half of it would be worse than all."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if error := task.exception():
            log.warning("upload failed after its caller had gone", exc_info=error)
        raise
