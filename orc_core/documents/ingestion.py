"""The ingestion pipeline: from the bytes of a document to searchable text."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from orc_core.documents.passages import split_pages
from orc_core.documents.ports import DocumentAnalyser
from orc_core.documents.stores import Stores
from orc_core.documents.text_extraction import UNREAD, ExtractedText, TextExtraction, failure
from orc_core.errors import DocumentRejected, DocumentTooLarge, LeaseLost, Unavailable
from orc_core.infra.resilience import held
from orc_core.models import (
    BlobProperties,
    Document,
    DocumentStatus,
    Job,
    JobKind,
    Passage,
    Progress,
)
from orc_core.names import BlobPath, missing_document

if TYPE_CHECKING:
    from orc_core.search.hybrid import PassageEmbedder

LEASE_SECONDS = 6.0
SHORTEST_WAIT, LONGEST_WAIT = 0.1, 1.0
"""Seconds between polls for another process's progress: on Azure each poll takes seven requests."""
ATTEMPTS = 3
READING_WAIT_SECONDS = 60.0
"""How long a question waits for a text that another process reads: half of what its tool call may take."""

log = logging.getLogger(__name__)


# Why a job is a record with a lease, and who reads what: docs/decisions/uploads-and-jobs.md.
class Ingestion:
    """Two stages, text and index. Both can be repeated, so a crash in between loses nothing.

    A record changes only while its bytes are the same. Work on bytes that were replaced or deleted in the
    meantime ends with LeaseLost, and its results are computed again or removed.
    """

    def __init__(
        self,
        stores: Stores,
        reader: TextExtraction,
        *,
        embedder: "PassageEmbedder | None" = None,
        analyser: DocumentAnalyser | None = None,
        lease_seconds: float = LEASE_SECONDS,
        max_bytes: int | None = None,
        reading_wait_seconds: float = READING_WAIT_SECONDS,
    ) -> None:
        self._stores = stores
        self._reader = reader
        self._embedder = embedder
        self._analyser = analyser
        self._lease_seconds = lease_seconds
        self._max_bytes = max_bytes
        self._reading_wait_seconds = reading_wait_seconds

    async def run(self, job: Job, progress: Progress) -> None:
        """Run a leased job.

        Raises LeaseLost if the lease is lost or the job obsolete, and Unavailable if the job has to wait:
        for a dependency that is down, or for the document's ingestion.
        """
        document = await self._stores.get(job.path)
        if document is None or document.etag != job.etag:
            await self.settle(job.path)
        elif job.kind is JobKind.INGEST:
            await self._ingest(document, progress)
        elif not document.status.is_final:
            # Finishing now could lose the job: ingestion does not queue it again while it is queued.
            raise Unavailable(f'"{document.blob_name}" has not been processed yet.')
        else:
            if job.kind is JobKind.EMBED:
                await self._embed(document, await self._stores.index.get(document.document_id), progress)
            elif (
                self._analyser is not None
                and document.status is DocumentStatus.COMPLETED
                and not await self._copy_analysis(document)
            ):
                pages = await self._stores.pages.get(document.document_id)
                pages = [page for page in pages if not page.is_of_file]
                await self._analyser.analyse(document, pages, progress)
            if not await self._is_present(document):
                await self._restart(document.path)

    def keep_lease(self, job: Job) -> AbstractAsyncContextManager[None]:
        """Keeps the lease of a job alive while the context is open."""
        renew = partial(self._stores.queue.renew, job, self._lease_seconds)
        return held(renew, seconds=self._lease_seconds)

    async def settle(self, path: BlobPath) -> None:
        """Remove the remaining data of a document whose blob is gone."""
        if await self._stores.blobs.head(path) is None:
            await self._stores.forget(path)

    async def after_loss(self, job: Job) -> None:
        """Remove what work on replaced bytes may have left behind.

        A write that was in progress when the lease was lost is ordered before the writes made here.
        """
        document = await self._stores.get(job.path)
        if document is None or document.etag != job.etag:
            await self._stores.restart(job.path)

    async def give_up(self, job: Job, reason: str) -> None:
        """Mark the job's document, or its analysis, as failed."""
        document = await self._stores.get(job.path)
        if document is None or document.etag != job.etag:
            return
        if job.kind is JobKind.ANALYSE:
            await self._stores.analyses.fail(document, reason)
        elif job.kind is JobKind.INGEST:
            failed = document.model_copy(update=failure("processing_failed", reason))
            await self._stores.catalog.advance(failed)

    async def readable(self, document: Document, progress: Progress) -> Document:
        """The record as soon as the text of its pages is stored, or once it is `failed`.

        Extracts the text here, or waits if another process is doing so. Raises NotFound if the document is
        gone, and Unavailable if its bytes keep changing, or if reading takes the other process too long.
        """
        for _ in range(ATTEMPTS):
            with suppress(LeaseLost):
                return await self._until_readable(document.path, progress)
        raise Unavailable(f'"{document.blob_name}" keeps changing while it is read. Try again in a moment.')

    async def store(
        self,
        blob: BlobProperties,
        extracted: ExtractedText,
        replaced: BlobProperties | None,
        at: datetime | None = None,
    ) -> Document | None:
        """Store the text of this blob and queue the rest. The caller holds the write lock.

        `replaced` is the blob that this one replaced. Returns None if the blob has been replaced again.
        """
        stored = await self._reader.store(Document.first_seen(blob, at), extracted, replaced)
        if stored is None or not await self._is_present(stored):
            return None
        await self._stores.catalog.save(stored)
        if stored.status is DocumentStatus.COMPLETED:
            # The same bytes were uploaded again: their results and queued jobs remain valid.
            if JobKind.EMBED in await self._stores.queue.progress(stored.document_id):
                await self._stores.queue.enqueue(stored, JobKind.EMBED)
            await self._stores.analyses.keep_for(stored)
        if stored.status is not DocumentStatus.FAILED:
            await self._stores.queue.enqueue(stored, JobKind.INGEST)
        return stored

    async def _until_readable(self, path: BlobPath, progress: Progress) -> Document:
        wait, end = SHORTEST_WAIT, time.monotonic() + self._reading_wait_seconds
        while True:
            document = await self._stores.get(path)
            if document is None:
                raise missing_document(path.file)
            if document.readable or document.status.is_final:
                return document
            job = await self._stores.queue.claim(document, JobKind.INGEST, self._lease_seconds)
            if job is not None:
                try:
                    async with self.keep_lease(job):
                        return await self._make_readable(document, progress)
                finally:
                    await self._stores.queue.release(job)
            reported = (await self._stores.queue.progress(path.document_id)).get(JobKind.INGEST)
            if reported is not None:
                progress(reported.done, reported.total, reported.what)
            if time.monotonic() > end:
                so_far = ""
                if reported is not None and reported.total:
                    so_far = f": {reported.done:,} of {reported.total:,} pages so far"
                raise Unavailable(
                    f'"{document.blob_name}" is still being read{so_far}. Ask again in a moment.'
                )
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _ingest(self, document: Document, progress: Progress) -> None:
        if not document.status.is_final:
            document = await self._advance(document, {"status": DocumentStatus.PROCESSING})
            if not self._reader.is_whole(document):
                document = await self._make_readable(document, progress)
        if not document.status.is_final:
            await self._make_searchable(document, progress)
            document = await self._advance(document, {"status": DocumentStatus.COMPLETED})
            log.info("document completed document_id=%s pages=%d", document.document_id, document.pages)
        if document.status is DocumentStatus.COMPLETED and self._analyser is not None:
            await self._stores.queue.enqueue(document, JobKind.ANALYSE)

    async def _make_readable(self, document: Document, progress: Progress) -> Document:
        try:
            # Before the bytes are fetched: direct uploads are not limited by the API.
            if self._max_bytes is not None and document.size > self._max_bytes:
                raise DocumentTooLarge(
                    f"The file has {document.size:,} bytes; at most {self._max_bytes:,} are allowed."
                    " Split it into smaller files and upload those."
                )
            async with self._stores.blobs.local_copy(document.path) as source:
                extracted = await self._reader.read(document.path, source, progress, with_ocr=True)
        except DocumentRejected as exc:
            extracted = ExtractedText({**UNREAD, **failure(exc.code, exc.message)}, [])
        async with self._stores.write_lock(document.document_id):
            if not await self._is_present(document):
                await self._restart(document.path)
            read = await self._reader.store(document, extracted)
            if read is None:
                raise LeaseLost("The document with the same bytes is gone.")
            return await self._advance(read, {})

    async def _make_searchable(self, document: Document, progress: Progress) -> None:
        stores, document_id = self._stores, document.document_id
        pages = await stores.pages.get(document_id)
        if not self._reader.is_text_of(document, pages):
            log.warning("pages are not those of the record document_id=%s", document_id)
            await self._restart(document.path)
        progress(0, len(pages), "Making the text searchable")
        passages = await asyncio.to_thread(split_pages, document_id, pages)
        if not await self._copy_vectors(document):
            # Lexical search works without vectors, so a document does not wait for an embedder that is down.
            try:
                await self._embed(document, passages, progress)
            except Unavailable as exc:
                log.warning("passages not embedded yet document_id=%s: %s", document.document_id, exc.code)
                await self._stores.queue.enqueue(document, JobKind.EMBED)
        async with stores.write_lock(document_id):
            await stores.index.save(document_id, document.blob_name, passages, document.owner)
        progress(len(pages), len(pages), "Making the text searchable")

    async def _embed(self, document: Document, passages: Sequence[Passage], progress: Progress) -> None:
        if self._embedder is not None:
            await self._embedder.index(document.document_id, passages, progress)

    async def _copy_vectors(self, document: Document) -> bool:
        """Copy the vectors of a duplicate; False if it has none of this model, or changes meanwhile."""
        vectors = self._stores.vectors
        duplicate = await self._find_processed_duplicate(document) if vectors is not None else None
        if vectors is None or duplicate is None:
            return False
        async with self._stores.write_lock(document.document_id):
            is_usable = await vectors.copy(duplicate.document_id, document.document_id)
        return is_usable and await self._stores.is_current(duplicate)

    async def _copy_analysis(self, document: Document) -> bool:
        """Copy the analysis of a duplicate, if it has one and does not change while it is copied."""
        duplicate = await self._find_processed_duplicate(document)
        if duplicate is None or not await self._stores.analyses.copy(duplicate, document):
            return False
        if await self._stores.is_current(duplicate):
            return True
        await self._stores.analyses.delete(document.document_id)
        return False

    async def _find_processed_duplicate(self, document: Document) -> Document | None:
        """Another document with the same bytes that has been fully processed."""
        for duplicate in await self._reader.duplicates(document.path, document.sha256):
            is_other = duplicate.document_id != document.document_id
            is_done = duplicate.status is DocumentStatus.COMPLETED
            if is_other and is_done and await self._stores.is_current(duplicate):
                return duplicate
        return None

    async def _advance(self, document: Document, update: dict[str, object]) -> Document:
        advanced = document.model_copy(update={**update, "updated_at": datetime.now(UTC)})
        if not await self._stores.catalog.advance(advanced):
            present = await self._stores.get(document.path)
            if present is not None and present.etag == document.etag:
                raise LeaseLost(f"Another process has restarted {document.blob_name}.")
            await self._restart(document.path)
        return advanced

    async def _is_present(self, document: Document) -> bool:
        """Whether the blob still has the bytes of the record."""
        blob = await self._stores.blobs.head(document.path)
        return blob is not None and blob.etag == document.etag

    async def _restart(self, path: BlobPath) -> None:
        await self._stores.restart(path)
        raise LeaseLost(f"{path.file} was replaced or deleted while it was processed.")
