"""The documents of a conversation: upload, list, read and delete. See docs/decisions/deletion.md."""

import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

from orc_core.documents.catalog import Catalog
from orc_core.documents.consistency import Differences, compare
from orc_core.documents.ingestion import Ingestion
from orc_core.documents.places import Accessible, DocumentsPage, PlaceCount
from orc_core.documents.stores import Stores
from orc_core.documents.text_extraction import ExtractedText, TextExtraction
from orc_core.documents.unknown_files import similar_name
from orc_core.errors import Conflict, NotFound, StorageFull
from orc_core.models import (
    BlobProperties,
    Document,
    DocumentStatus,
    JobKind,
    JobProgress,
    Page,
    PresignedUpload,
    Progress,
)
from orc_core.names import BlobPath, Owner, missing_document, resolve_blob_name

READING_SECONDS = 10.0
"""How long a request waits for the text of its files; the worker reads what is left."""

_no_such_document = partial(NotFound, "There is no such document in this conversation.")

log = logging.getLogger(__name__)
KEPT_SECONDS = 30.0
"""How long a sum is used without reading it again, as long as it admits what is to be stored."""


class DocumentService:
    """Finds, adds and removes documents. Blobs are the source of truth; records follow them.

    Deleting removes the blob first and the record last: what a crash leaves is not shown, and the next
    listing of the conversation removes it.
    """

    def __init__(
        self, stores: Stores, reader: TextExtraction, ingestion: Ingestion, *, most_bytes: int = sys.maxsize
    ) -> None:
        """`most_bytes`: how many an organization may store."""
        self._stores = stores
        self._quota = StorageQuota(stores.catalog, most_bytes)
        self._reader = reader
        self._ingestion = ingestion

    async def resolve(self, owner: Owner, names: Sequence[str]) -> list[Document]:
        """The records for these names, in order, each document once.

        Raises UnsafeName before any I/O, and NotFound for a name without a document.
        """
        if not names:
            return []
        wanted = {resolve_blob_name(name, owner): name for name in names}
        blobs, records = await asyncio.gather(
            asyncio.gather(*map(self._stores.blobs.head, wanted)),
            self._stores.catalog.get(owner, [path.document_id for path in wanted]),
        )
        known = {document.document_id: document for document in records}
        documents = []
        for (path, name), blob in zip(wanted.items(), blobs, strict=True):
            document = await self._reconcile(path, blob, known.get(path.document_id))
            if document is None:
                others = [each.blob_name for each in await self._stores.catalog.list_in(owner)]
                raise missing_document(name, similar_name(name, others))
            documents.append(document)
        return documents

    async def find(self, owner: Owner, document_id: str) -> Document:
        """The record of a document of this conversation. Raises NotFound for any other id."""
        if records := await self._stores.catalog.get(owner, [document_id]):
            return records[0]
        raise _no_such_document()

    async def upload(
        self,
        owner: Owner,
        file_name: str,
        source: Path,
        progress: Progress | None = None,
        *,
        seconds: float | None = None,
        replaces: bool = True,
        at: datetime | None = None,
    ) -> Document:
        """Extract and store a local file under a bare `file_name`, replacing an existing document.

        Without `replaces` an existing document is kept, and Conflict is raised.

        Its text can be read at once, and searched after the worker has indexed it. A file that has not been
        read after `seconds` is stored as `processing`, and the worker reads it. A rejected file leaves
        nothing behind, one that is too much for the organization raises StorageFull. A file without text is
        stored; it is `failed` if no OCR is set up. `at` is its place in listings, by default that of now.
        """
        path, size = BlobPath(owner, file_name), (await asyncio.to_thread(source.stat)).st_size
        async with self._quota.hold(owner.organization_id, size):
            extracted = await self._read_within(seconds, path, source, progress)
            return await self._store_upload(path, source, extracted, at, replaces=replaces)

    async def presign_upload(
        self, owner: Owner, file_name: str, size: int, seconds: int
    ) -> PresignedUpload | None:
        """Create a presigned URL for uploading a file directly to the store; None if it offers none.

        The next listing or question after the upload catalogues and queues the document, whatever its format.
        Raises StorageFull for a file that is too much for the organization.
        """
        async with self._quota.hold(owner.organization_id, size):
            return await self._stores.blobs.presign_upload(BlobPath(owner, file_name), seconds)

    async def list_documents(self, owner: Owner) -> list[Document]:
        """The conversation's documents, oldest first."""
        # Records before blobs: then a record without a blob is one whose blob has been deleted.
        known = {document.path: document for document in await self._stores.catalog.list_in(owner)}
        blobs = {blob.path: blob for blob in await self._stores.blobs.list_in(owner)}
        found = [await self._reconcile(path, blobs.get(path), known.get(path)) for path in {**known, **blobs}]
        documents = [document for document in found if document is not None]
        return sorted(documents, key=lambda document: (document.created_at, document.blob_name))

    async def recorded(self, owner: Owner) -> list[Document]:
        """The records of the conversation's documents, oldest first. Blobs are not looked at."""
        return await self._stores.catalog.list_in(owner)

    async def page(
        self,
        accessible: Accessible,
        *,
        after: str = "",
        limit: int,
        name: str = "",
        status: DocumentStatus | None = None,
    ) -> DocumentsPage:
        """Accessible records, a page at a time. Blobs without a record are not looked for."""
        return await self._stores.catalog.page(accessible, after=after, limit=limit, name=name, status=status)

    async def latest(self, accessible: Accessible, limit: int) -> list[Document]:
        """The latest accessible records of readable documents, at most `limit`, oldest first."""
        return await self._stores.catalog.latest(accessible, limit)

    async def find_accessible(self, accessible: Accessible, document_ids: Sequence[str]) -> list[Document]:
        """The records of those of these documents that are accessible, in this order."""
        return await self._stores.catalog.find(accessible, document_ids)

    async def count(self, accessible: Accessible) -> list[PlaceCount]:
        """How many documents are accessible through each place."""
        return await self._stores.catalog.count(accessible)

    async def delete(self, owner: Owner, document_id: str, *, etag: str | None = None) -> None:
        """Remove a document and all its data. Raises NotFound for an id of another conversation.

        With an `etag` only those bytes; Conflict is raised if they were replaced.
        """
        records = await self._stores.catalog.get(owner, [document_id])
        # What a crash left behind may have no record.
        paths = [record.path for record in records] or await self._all_paths(owner)
        for path in paths:
            if path.document_id == document_id:
                return await self._remove(path, etag)
        raise _no_such_document()

    async def delete_all(self, owner: Owner) -> bool:
        """Remove every document of a conversation; whether there was one."""
        for path in (paths := await self._all_paths(owner)):
            await self._remove(path)
        return bool(paths)

    async def retry_failed(self, owner: Owner) -> int:
        """Queue the documents that could not be read again; returns how many."""
        return await self._each_failed(owner, lambda each: self._stores.restart(each.path))

    async def delete_failed(self, owner: Owner) -> int:
        """Remove the documents that could not be read; returns how many."""
        return await self._each_failed(owner, lambda each: self._erase(each.path, each.etag))

    async def _each_failed(self, owner: Owner, act: Callable[[Document], Awaitable[object]]) -> int:
        """Act on each document that has failed, unless it was replaced or read meanwhile."""
        done = 0
        for document in await self._stores.catalog.list_in(owner):
            if document.status is not DocumentStatus.FAILED:
                continue
            async with self._stores.write_lock(document.document_id):
                stored = await self._stores.blobs.head(document.path) or document
                if stored.etag == document.etag and await self._stores.get(document.path) == document:
                    await act(document)
                    done += 1
        return done

    async def compared(self) -> Differences:
        """Where the records of all owners do not fit their files, texts and index entries."""
        return await compare(self._stores)

    async def readable(self, document: Document, progress: Progress | None = None) -> Document:
        """The record as soon as its pages can be read, or `failed` with the reason.

        A failure is not retried for the same bytes.
        """
        if document.readable or document.status is DocumentStatus.FAILED:
            return document
        return await self._ingestion.readable(document, progress or (lambda *_: None))

    def local_copy(self, document: Document) -> AbstractAsyncContextManager[Path]:
        """A local file with the document's bytes while the context is open. Raises NotFound without them."""
        return self._stores.blobs.local_copy(document.path)

    async def text(self, document: Document, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (None: all), in order."""
        return await self._stores.pages.get(document.document_id, numbers)

    async def summarised(self, documents: Sequence[Document]) -> set[str]:
        """The ids of the documents whose current bytes have been analysed."""
        return await self._stores.analyses.finished(documents)

    async def page_of(self, document_id: str, number: int) -> Page | None:
        """One page, or None. Only for ids from a verified scope."""
        pages = await self._stores.pages.get(document_id, [number])
        return pages[0] if pages else None

    async def page_boxes(self, document_id: str, number: int) -> bytes:
        """The word boxes of a page, see word_boxes.py. Only for ids from a verified scope."""
        return await self._stores.pages.boxes(document_id, number)

    async def progress(self, document: Document) -> JobProgress | None:
        """Progress of the work on a document; None if there is none."""
        jobs = await self._stores.queue.progress(document.document_id)
        return jobs.get(JobKind.INGEST) or jobs.get(JobKind.ANALYSE)

    async def _read_within(
        self, seconds: float | None, path: BlobPath, source: Path, progress: Progress | None
    ) -> ExtractedText | None:
        """The text of the file; None if it has not been read in time."""
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await self._reader.read(path, source, progress)
        except TimeoutError:
            if not limit.expired():
                raise
        log.info("upload is left to the worker document_id=%s", path.document_id)
        return None

    async def _store_upload(
        self,
        path: BlobPath,
        source: Path,
        extracted: ExtractedText | None,
        at: datetime | None,
        *,
        replaces: bool,
    ) -> Document:
        async with self._stores.write_lock(path.document_id):
            replaced = await self._stores.blobs.head(path)
            if replaced is not None and not replaces:
                message = f'There is a document "{path.file}" already. Rename the file, or replace it.'
                raise Conflict(message, code="name_taken")
            blob = await self._stores.blobs.put(path, source)
            await self._stores.forget_pictures(path.document_id)
            try:
                if extracted is None:
                    return await self._stores.begin(blob, DocumentStatus.PROCESSING, at)
                if stored := await self._ingestion.store(blob, extracted, replaced, at):
                    return stored
            except BaseException:
                if replaced is None:
                    await self._erase(path, blob.etag)
                raise
            begun = await self._stores.restart(path)
        if begun is None:
            raise missing_document(path.file)
        return await self.readable(begun)

    async def _reconcile(
        self, path: BlobPath, blob: BlobProperties | None, known: Document | None
    ) -> Document | None:
        """The record for the blob; creates, updates or removes it if the two differ."""
        if _fits(known, blob):
            return known
        async with self._stores.write_lock(path.document_id):
            known, blob = await self._stores.get(path), await self._stores.blobs.head(path)
            if _fits(known, blob):
                return known
            if blob is not None:
                return await self._stores.begin(blob)
            await self._stores.forget(path)
            return None

    async def _all_paths(self, owner: Owner) -> list[BlobPath]:
        """All paths with data, including blobs without a record and records without a blob."""
        records = [document.path for document in await self._stores.catalog.list_in(owner)]
        blobs = [blob.path for blob in await self._stores.blobs.list_in(owner)]
        return list(dict.fromkeys([*records, *blobs]))

    async def _remove(self, path: BlobPath, etag: str | None = None) -> None:
        async with self._stores.write_lock(path.document_id):
            blob = await self._stores.blobs.head(path) if etag is not None else None
            is_meant = blob is None or blob.etag == etag
            if not (is_meant and await self._erase(path, etag)) and etag is not None:
                raise Conflict(f'"{path.file}" was replaced since.', code="changed_meanwhile")

    async def _erase(self, path: BlobPath, etag: str | None = None) -> bool:
        """Remove the bytes, with an ETag only that version; False if there are others, which begin again."""
        # A database that cannot be written refuses here, before any byte is gone.
        await self._stores.make_unsearchable(path.document_id)
        await self._stores.blobs.delete(path, etag)
        return await self._stores.restart(path) is None


def _fits(document: Document | None, blob: BlobProperties | None) -> bool:
    """Whether the record, or its absence, is right for this blob or its absence."""
    return (document.etag if document else None) == (blob.etag if blob else None)


class StorageQuota:
    """Admits uploads while an organization stores at most `most` bytes of files.

    Uploads under way in this process count. Those of other processes count from when they are stored, up to
    KEPT_SECONDS late.
    """

    def __init__(self, catalog: Catalog, most: int) -> None:
        self._catalog = catalog
        self._most = most
        self._sums: dict[str, tuple[float, int]] = {}
        self._under_way: Counter[str] = Counter()

    @asynccontextmanager
    async def hold(self, organization_id: str, size: int) -> AsyncIterator[None]:
        """Count `size` bytes while the context is open. Raises StorageFull if they are too many."""
        self._under_way[organization_id] += size
        try:
            read_at, stored = self._sums.get(organization_id, (float("-inf"), 0))
            is_recent = time.monotonic() - read_at < KEPT_SECONDS
            if not is_recent or stored + self._under_way[organization_id] > self._most:
                stored = await self._catalog.stored_bytes(organization_id)
                self._sums[organization_id] = (time.monotonic(), stored)
                if stored + self._under_way[organization_id] > self._most:
                    raise StorageFull(
                        f"Your organization may store {self._most:,} bytes, and {stored:,} are stored."
                        " Delete documents that are no longer needed."
                    )
            yield
            read_at, stored = self._sums[organization_id]
            self._sums[organization_id] = (read_at, stored + size)
        finally:
            self._under_way[organization_id] -= size
            if not self._under_way[organization_id]:
                del self._under_way[organization_id]
