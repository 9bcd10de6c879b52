"""Turns the bytes of a document into text that can be searched, and only then says so in its record."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from core.documents.models import BlobProperties, Document, DocumentStatus, Page, Passage
from core.documents.names import BlobPath, missing_document
from core.documents.passages import split_pages
from core.documents.ports import BlobStore, Catalog, PageStore, PassageIndex, Progress
from core.errors import DocumentRejected, Unavailable

if TYPE_CHECKING:
    from core.documents.extraction import Extraction
    from core.llm.tokens import TokenCounter

NO_TEXT = "no_text"
ATTEMPTS = 3

log = logging.getLogger(__name__)


class TextExtractor(Protocol):
    """Reads the text out of a file of any supported format."""

    async def extract(self, source: Path, file_name: str, progress: Progress | None = None) -> "Extraction":
        """The pages of `source`; DocumentRejected where it cannot become a document."""


@dataclass(frozen=True)
class Reading:
    """All that is to be known of a file's text, computed before anything of it is stored."""

    extraction: "Extraction"
    pages: list[Page]
    passages: list[Passage]

    def describe(self, document: Document) -> Document:
        """The record of a document that was read, as it is once the text has been stored."""
        facts = {
            "sha256": self.extraction.sha256,
            "media_type": self.extraction.media_type,
            "pages": len(self.pages),
            "pages_without_text": self.extraction.pages_without_text,
            "tokens": sum(page.tokens for page in self.pages),
            "updated_at": datetime.now(UTC),
        }
        if self.extraction.has_text:
            return document.model_copy(update={**facts, "status": DocumentStatus.COMPLETED})
        failure = _failure(NO_TEXT, _no_text_reason(len(self.pages)))
        return document.model_copy(update={**facts, **failure})


@dataclass
class _Run:
    """One ingestion, shared by everybody who asks for it while it lasts."""

    listeners: list[Progress] = field(default_factory=list)

    def report(self, done: int, total: int, what: str) -> None:
        for listener in list(self.listeners):
            listener(done, total, what)

    @contextmanager
    def heard_by(self, listener: Progress | None) -> Iterator[None]:
        heard = [] if listener is None else [listener]
        self.listeners += heard
        try:
            yield
        finally:
            for each in heard:
                self.listeners.remove(each)


class Ingestion:
    """Writes the text of documents: pages, then passages, then the record, for one version of the bytes.

    A crash in between leaves a record that does not match the blob's ETag, and the work is redone.
    """

    def __init__(
        self,
        blobs: BlobStore,
        catalog: Catalog,
        pages: PageStore,
        index: PassageIndex,
        extractor: TextExtractor,
        counter: "TokenCounter",
    ) -> None:
        self._blobs = blobs
        self._catalog = catalog
        self._pages = pages
        self._index = index
        self._extractor = extractor
        self._counter = counter
        self._running: dict[tuple[str, str], tuple[_Run, asyncio.Task[Document]]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ingest(self, document: Document, progress: Progress | None = None) -> Document:
        """The record for the blob's present bytes, `completed` or `failed`; nothing is done twice.

        Callers at the same time share one run, which goes on when they are cancelled. Raises NotFound
        where the blob has gone, and Unavailable where it changes again and again.
        """
        run, task = self._running.get((document.document_id, document.etag)) or self._start(document)
        with run.heard_by(progress):
            return await asyncio.shield(task)

    async def read(self, path: BlobPath, source: Path, progress: Progress | None = None) -> Reading:
        """Read a local file as the document at `path`. Stores nothing; raises DocumentRejected."""
        extraction = await self._extractor.extract(source, path.file, progress)
        return await asyncio.to_thread(self._prepare, path.document_id, extraction)

    async def save(self, blob: BlobProperties, reading: Reading) -> Document | None:
        """Store what was read from this blob, with the document's `writing` lock held.

        None where other bytes have taken the blob's place: then it takes a `reread`, without the lock.
        Raises NotFound where the blob has gone.
        """
        document = reading.describe(Document.first_seen(blob))
        return await self._write(document, reading.pages, reading.passages)

    async def reread(self, document: Document) -> Document:
        """Like `ingest`, whatever the record says."""
        return await self._read_until_stored(document, _Run().report)

    async def close(self) -> None:
        """Wait until the runs that are going on have ended."""
        await asyncio.gather(*(task for _, task in self._running.values()), return_exceptions=True)

    def writing(self, document_id: str) -> asyncio.Lock:
        """The lock under which this process changes what is stored of one document."""
        return self._locks.setdefault(document_id, asyncio.Lock())

    def _start(self, document: Document) -> tuple[_Run, asyncio.Task[Document]]:
        run, key = _Run(), (document.document_id, document.etag)
        task = asyncio.create_task(self._ingest(document, run.report))
        self._running[key] = run, task

        def forget(ended: asyncio.Task[Document]) -> None:
            del self._running[key]
            if not ended.cancelled() and (error := ended.exception()):
                log.info(
                    "ingestion ended document_id=%s error=%s", document.document_id, type(error).__name__
                )

        task.add_done_callback(forget)
        return run, task

    async def _ingest(self, document: Document, progress: Progress) -> Document:
        blob = await self._present(document)
        for known in await self._catalog.get(document.owner, [document.document_id]):
            if known.etag == blob.etag and known.status is DocumentStatus.COMPLETED:
                return known
        return await self._read_until_stored(document, progress)

    async def _read_until_stored(self, document: Document, progress: Progress) -> Document:
        for _ in range(ATTEMPTS):
            seen = Document.first_seen(await self._present(document))
            seen = seen.model_copy(update={"created_at": document.created_at})
            if stored := await self._ingest_bytes(seen, progress):
                return stored
        raise Unavailable(f'"{document.blob_name}" keeps changing while it is read. Try again in a moment.')

    async def _present(self, document: Document) -> BlobProperties:
        blob = await self._blobs.head(document.path)
        if blob is None:
            raise missing_document(document.blob_name)
        return blob

    async def _ingest_bytes(self, document: Document, progress: Progress) -> Document | None:
        try:
            async with self._blobs.local_copy(document.path) as source:
                reading = await self.read(document.path, source, progress)
        except DocumentRejected as exc:
            failure = _failure(exc.code, exc.message)
            failed = document.model_copy(update={**failure, "updated_at": datetime.now(UTC)})
            async with self.writing(document.document_id):
                return await self._write(failed, [], [])
        progress(len(reading.pages), len(reading.pages), "Making the text searchable")
        async with self.writing(document.document_id):
            return await self._write(reading.describe(document), reading.pages, reading.passages)

    async def _write(
        self, document: Document, pages: Sequence[Page], passages: Sequence[Passage]
    ) -> Document | None:
        await self._pages.save(document.document_id, pages)
        await self._index.save(document.document_id, document.blob_name, passages)
        # Another process may have replaced or deleted the blob meanwhile, and have stored its text before
        # ours: then ours lies over it, and no record may call that complete.
        blob = await self._blobs.head(document.path)
        if blob is None:
            await self._index.delete(document.document_id)
            await self._pages.delete(document.document_id)
            raise missing_document(document.blob_name)
        if blob.etag != document.etag:
            await self._catalog.save(Document.first_seen(blob))
            return None
        await self._catalog.save(document)
        log.info("document %s document_id=%s pages=%d", document.status, document.document_id, len(pages))
        return document

    def _prepare(self, document_id: str, extraction: "Extraction") -> Reading:
        pages = [
            page.model_copy(update={"tokens": self._counter.count(page.text)}) for page in extraction.pages
        ]
        return Reading(extraction, pages, split_pages(document_id, pages) if extraction.has_text else [])


def _failure(code: str, reason: str) -> dict[str, object]:
    return {"status": DocumentStatus.FAILED, "reason_code": code, "reason": reason}


def _no_text_reason(pages: int) -> str:
    if pages == 1:
        what = "Its only page has no text and looks scanned"
    else:
        what = f"None of its {pages} pages has text; they look scanned"
    return f"{what}. Run OCR over the file and upload it again."
