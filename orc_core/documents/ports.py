"""Ports of the document side. orc_core.storage has the adapters: SQLite and folders, or Azure services."""

import re
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from orc_core.documents.places import Accessible
from orc_core.errors import OrcError
from orc_core.models import (
    BlobProperties,
    Document,
    FileRef,
    Hit,
    Job,
    JobKind,
    JobProgress,
    Page,
    Passage,
    PresignedUpload,
    Progress,
    Retrieval,
)
from orc_core.names import BlobPath, Owner

PDF = "application/pdf"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class BlobStore(Protocol):
    """The bytes of documents, by path."""

    async def put(self, path: BlobPath, source: Path) -> BlobProperties:
        """Store a local file atomically, replacing an existing blob."""

    async def head(self, path: BlobPath) -> BlobProperties | None:
        """The blob's properties, or None if there is no such blob."""

    def local_copy(self, path: BlobPath) -> AbstractAsyncContextManager[Path]:
        """A readable local file with the blob's bytes while the context is open.

        Raises NotFound if there is no such blob.
        """

    async def list_in(self, owner: Owner) -> list[BlobProperties]:
        """All blobs of a conversation, sorted by name."""

    async def list_all(self) -> list[BlobProperties]:
        """All blobs of all owners, in any order."""

    async def delete(self, path: BlobPath, etag: str | None = None) -> None:
        """Remove the blob; with an ETag only that version, in one step. A missing one is no error."""

    async def presign_upload(self, path: BlobPath, seconds: int) -> PresignedUpload | None:
        """Create a presigned URL for uploading this blob; None if the store does not offer that.

        The URL permits no reading, listing or deleting, and no other path.
        """

    async def ping(self) -> None:
        """Raise DependencyDown if the store cannot be used now."""


class PageStore(Protocol):
    """The extracted text of documents by page."""

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        """Replace all pages of a document in one step."""

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (None: all), in order, without boxes; missing ones are left out."""

    async def boxes(self, document_id: str, number: int) -> bytes:
        """The word boxes of a page, see word_boxes.py; empty if unknown."""

    async def copy(self, source_id: str, target_id: str) -> None:
        """Replace the target's pages by those of a document with the same bytes."""

    async def delete(self, document_id: str) -> None:
        """Remove all pages of a document."""


class DocumentAnalyses(Protocol):
    """Page analyses, as far as storing and removing documents concerns them."""

    async def finished(self, documents: Sequence[Document]) -> set[str]:
        """The ids of the documents whose present bytes have been analysed."""

    async def copy(self, source: Document, target: Document) -> bool:
        """Copy a finished analysis of the same bytes; False if there is none."""

    async def keep_for(self, document: Document) -> None:
        """Keep the analysis of a document whose same bytes were stored again, under a new ETag."""

    async def fail(self, document: Document, reason: str) -> None:
        """Mark the analysis of this document as failed, for a reason shown to people."""

    async def delete(self, document_id: str) -> None:
        """Remove the analysis of a document and of its pages."""


class DocumentAnalyser(Protocol):
    """Analyses the pages of a document and stores the result."""

    async def analyse(self, document: Document, pages: Sequence[Page], progress: Progress) -> object:
        """Complete the analysis. Raises Unavailable or BudgetExceeded if another attempt may succeed."""


class PassageIndex(Protocol):
    """Lexical search over passages. Every query is restricted to given documents inside the engine."""

    async def save(
        self, document_id: str, name: str, passages: Sequence[Passage], owner: Owner | None = None
    ) -> None:
        """Replace all passages of a document in one step. The file `name` is searched too.

        With its owner the document is also found by places.
        """

    async def unplaced(self) -> list[str]:
        """The documents that are not found by places, because an earlier version saved them."""

    async def place(self, document_id: str, owner: Owner) -> None:
        """Let a saved document be found by places."""

    async def get(self, document_id: str, ordinals: Sequence[int] | None = None) -> list[Passage]:
        """A document's passages with these ordinals (from 0, in reading order; None: all), in order."""

    async def indexed(self, document_ids: Sequence[str]) -> set[str]:
        """The ids of the documents that have been saved, even if without passages."""

    async def search(
        self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        """The best passages of these documents, best first; without documents, none.

        `widened` also matches words that are similar to those of the query.
        """

    async def delete(self, document_id: str) -> None:
        """Remove all passages of a document."""


class Neighbour(NamedTuple):
    """A passage with a vector close to that of a query."""

    document_id: str
    ordinal: int
    similarity: float


class DocumentFinder(Protocol):
    """The first stage of a search over very many documents."""

    async def candidates(self, query: str, accessible: Accessible) -> list[str]:
        """The accessible documents whose passages are worth ranking; all, if they are few."""


class VectorIndex(Protocol):
    """Vectors of passages; all vectors of the given documents are compared."""

    async def save(self, document_id: str, vectors: Sequence[Sequence[float]]) -> None:
        """Replace a document's vectors: one for each passage, in reading order."""

    async def copy(self, source_id: str, target_id: str) -> bool:
        """Replace the target's vectors by those of a document with the same bytes.

        Vectors of any embedder are copied. Returns whether they are of the present one.
        """

    async def nearest(
        self, vector: Sequence[float], document_ids: Sequence[str], top_k: int
    ) -> list[Neighbour]:
        """The passages of these documents with the highest cosine similarity, best first.

        Raises DependencyDown if they cannot be compared; search then uses words only.
        """

    async def delete(self, document_id: str) -> None:
        """Remove a document's vectors."""


class Embedder(Protocol):
    """Turns texts into vectors. Raises DependencyDown if the model does not answer."""

    name: str

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order."""

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""


class Retriever(Protocol):
    """The search for answers: lexical, and by vectors if an embedder is configured."""

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, and the steps that found them."""


class PlaceRetriever(Retriever, Protocol):
    """A Retriever that also searches very many documents."""

    async def search_places(self, query: str, accessible: Accessible, top_k: int) -> Retrieval:
        """The best passages of very many accessible documents; the engine compares their places."""


class JobQueue(Protocol):
    """Jobs for documents: at most one of each kind per document, leased to one worker at a time.

    A lease that is not renewed expires, and another worker can take the job. Jobs for the same bytes in
    one organization are never leased at the same time, so the second can use the results of the first.
    """

    async def enqueue(self, document: Document, kind: JobKind) -> None:
        """Queue a job. An existing job is kept, unless it is for other bytes: then it is replaced."""

    async def lease(self, seconds: float, besides: Collection[str] = ()) -> Job | None:
        """Lease the next free job, ingestion first; None if there is none.

        Jobs of the organizations `besides` are passed over.
        """

    async def claim(self, document: Document, kind: JobKind, seconds: float) -> Job | None:
        """Lease this job, queued or not; None while another worker holds it."""

    async def renew(self, job: Job, seconds: float) -> None:
        """Extend the lease. Raises LeaseLost if it has been lost."""

    async def finish(self, job: Job) -> None:
        """Remove the finished job; does nothing if the lease has been lost."""

    async def release(self, job: Job, delay_seconds: float = 0.0) -> None:
        """End the lease; another worker can take the job after the delay. Does nothing if the lease is lost.

        Released leases do not count: `Job.leases` counts those whose holder died.
        """

    async def report(self, job: Job, progress: JobProgress) -> None:
        """Store the progress of a job."""

    async def progress(self, document_id: str) -> dict[JobKind, JobProgress]:
        """Progress of the document's unfinished jobs."""

    async def sweep(self) -> None:
        """Queue again the jobs whose queue message was lost, if the adapter can lose any."""

    async def delete(self, document_id: str) -> None:
        """Remove the document's free jobs; a worker that holds one will notice that the document is gone."""


class Attachment(NamedTuple):
    """How a document whose full text is used is sent to the model, and its file reference.

    `content` is the file itself if it is part of the request. `reason` tells people why a PDF is sent as
    text although files are configured. `is_new`: the reference was created now.
    """

    document: Document
    ref: FileRef
    sent_as: Literal["file", "base64", "text"] = "text"
    content: bytes = b""
    reason: str = ""
    is_new: bool = False


class ProviderFiles(Protocol):
    """Attaches documents to model requests and remembers their file ids."""

    async def ensure(self, document: Document) -> Attachment:
        """The document as text, with a reference to its current bytes; a new one only if none is valid."""

    async def attach(self, documents: Sequence[Document]) -> list[Attachment]:
        """How each of these documents is sent in one request. Uploads files that the provider lacks."""

    async def reattach(self, attachments: Sequence[Attachment], refusal: OrcError) -> list[Attachment] | None:
        """What to retry with after a refusal: files uploaded again, or text; None if nothing would help."""

    async def forget(self, path: BlobPath) -> None:
        """Delete a document's files at the provider. Those that it does not confirm are noted for `sweep`."""

    async def sweep(self) -> int:
        """Delete noted and expired files at the provider; returns how many.

        Never raises. Limits its own rate, so it may be called at any time."""


def plain_name(document: Document) -> str:
    """The file name that a model sees, of plain characters only."""
    stem = _UNSAFE.sub("_", document.blob_name.removesuffix(".pdf"))[:80].strip("._-") or "document"
    return f"{document.document_id.replace('-', '')[:12]}-{stem}.pdf"
