"""The ports of the document side. Adapters: a folder and SQLite here, Azure's services elsewhere."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from core.errors import OrcError
from core.models import (
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
    StoredFile,
)
from core.names import BlobPath, Owner


class BlobStore(Protocol):
    """The bytes of documents, by path."""

    async def put(self, path: BlobPath, source: Path) -> BlobProperties:
        """Store a local file whole or not at all, replacing what was there."""

    async def head(self, path: BlobPath) -> BlobProperties | None:
        """The blob's properties, or None where there is none."""

    def local_copy(self, path: BlobPath) -> AbstractAsyncContextManager[Path]:
        """A readable local file with the blob's bytes, for as long as the context is open.

        Raises NotFound where there is no such blob.
        """

    async def list_in(self, owner: Owner) -> list[BlobProperties]:
        """Every blob of a conversation, by name."""

    async def delete(self, path: BlobPath) -> None:
        """Remove the blob; an absent one is no error."""

    async def presign_upload(self, path: BlobPath, seconds: int) -> PresignedUpload | None:
        """Leave to put this one blob without passing its bytes through us; None where that is not offered.

        It neither reads nor lists nor deletes, and holds for no other path.
        """

    async def ping(self) -> None:
        """Raise DependencyDown unless the store can be used now."""


class Catalog(Protocol):
    """Records of documents, and the provider's references to their files."""

    async def get(self, owner: Owner, document_ids: Sequence[str]) -> list[Document]:
        """The owner's records among these ids, in the order asked; others are left out."""

    async def list_in(self, owner: Owner) -> list[Document]:
        """All of a conversation's records, oldest first."""

    async def save(self, document: Document) -> None:
        """Insert or replace a record."""

    async def advance(self, document: Document) -> bool:
        """Replace the record if it is still of the same bytes and generation; whether it was."""

    async def duplicates(self, organization_id: str, sha256: str) -> list[Document]:
        """The organization's readable documents with these bytes, whoever they belong to."""

    async def unfinished(self) -> list[Document]:
        """Every record that is neither completed nor failed, of all owners, oldest first.

        One that is no record to this version is logged and left out: it must not hold up the others.
        """

    async def delete(self, path: BlobPath) -> None:
        """Remove the record and its file references; an absent one is no error."""

    async def live_files(self, documents: Sequence[Document]) -> list[StoredFile]:
        """Unexpired file references that were made from exactly these documents' present bytes."""

    async def save_files(self, files: Sequence[StoredFile]) -> None:
        """Insert references, replacing earlier ones of the same documents."""

    async def files_of(self, path: BlobPath) -> list[StoredFile]:
        """Every file reference of a document, those that expired or are of earlier bytes too."""

    async def drop_files(self, files: Sequence[StoredFile]) -> None:
        """Remove these references, unless others have taken their place."""

    async def ping(self) -> None:
        """Raise DependencyDown unless the catalog can be used now."""


class PageStore(Protocol):
    """The extracted text of documents, page by page."""

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        """Replace all pages of a document at once."""

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (all: None), in order and without boxes; absent ones are left out."""

    async def boxes(self, document_id: str, number: int) -> bytes:
        """Where the words of a page stand (see boxes.py); empty where that is not known."""

    async def copy(self, source_id: str, target_id: str) -> None:
        """Replace all pages of the target by those of a document with the same bytes."""

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
    """Lexical search over passages. The documents in reach are part of every query, inside the engine."""

    async def save(self, document_id: str, name: str, passages: Sequence[Passage]) -> None:
        """Replace all passages of a document at once. `name`, the file's, says what it is about."""

    async def copy(self, source_id: str, target_id: str, name: str) -> None:
        """Replace all passages of the target by those of a document with the same bytes."""

    async def get(self, document_id: str, ordinals: Sequence[int] | None = None) -> list[Passage]:
        """A document's passages at these places in its reading order, from 0 (all: None), in order."""

    async def indexed(self, document_ids: Sequence[str]) -> set[str]:
        """Those of these documents that were saved here, with passages or without."""

    async def search(
        self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        """The best passages of these documents, best first; no documents, no hits.

        `widened` also takes words that only resemble those of the query.
        """

    async def delete(self, document_id: str) -> None:
        """Remove all passages of a document."""


class Neighbour(NamedTuple):
    """A passage whose vector is close to that of a query."""

    document_id: str
    ordinal: int
    similarity: float


class VectorIndex(Protocol):
    """Vectors of passages, compared exactly over the documents in reach."""

    async def save(self, document_id: str, vectors: Sequence[Sequence[float]]) -> None:
        """Replace a document's vectors by these, one for each passage in reading order."""

    async def copy(self, source_id: str, target_id: str) -> None:
        """Replace the target's vectors by those of a document with the same bytes."""

    async def nearest(
        self, vector: Sequence[float], document_ids: Sequence[str], top_k: int
    ) -> list[Neighbour]:
        """The passages of these documents with the highest cosine similarity, best first."""

    async def delete(self, document_id: str) -> None:
        """Remove a document's vectors."""


class Embedder(Protocol):
    """Texts to vectors. Raises DependencyDown where the model does not answer."""

    name: str

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text."""

    async def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""


class Retriever(Protocol):
    """The search that answers are made from: lexical, and by vectors where an embedder is configured."""

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, and every step that was taken to find them."""


class JobQueue(Protocol):
    """Work on documents: at most one job of a kind for each, done by one worker at a time.

    A lease that is not renewed ends, and the job goes to the next who asks. Jobs with the same bytes in
    an organization are never leased at the same time, so that the second can use what the first has made.
    """

    async def enqueue(self, document: Document, kind: JobKind) -> None:
        """Have it done. Nothing changes where it is queued already; a job for other bytes is replaced."""

    async def lease(self, seconds: float) -> Job | None:
        """The next job that nobody holds, ingestion first; None where there is none."""

    async def claim(self, document: Document, kind: JobKind, seconds: float) -> Job | None:
        """This very job, queued or not; None while somebody holds it."""

    async def renew(self, job: Job, seconds: float) -> None:
        """Hold it for longer. Raises LeaseLost where it is not held any more."""

    async def finish(self, job: Job) -> None:
        """It is done; nothing happens where it is not held any more."""

    async def release(self, job: Job, delay_seconds: float = 0.0) -> None:
        """Let others have it, after a delay; nothing happens where it is not held any more.

        A lease that was given back does not count: `Job.leases` grows by those whose holder died.
        """

    async def report(self, job: Job, progress: JobProgress) -> None:
        """Tell how far it has come."""

    async def progress(self, document_id: str) -> dict[JobKind, JobProgress]:
        """How far the document's jobs have come; jobs that have ended are not in it."""

    async def sweep(self) -> None:
        """Find jobs that would not come up by themselves any more, if there can be any."""

    async def delete(self, document_id: str) -> None:
        """Drop the document's jobs that nobody holds; who holds one will see that the document is gone."""


class Attachment(NamedTuple):
    """How a document that is read whole reaches the model, and under which reference it is known.

    `content` is the file itself where it goes along within the request; `reason` says, for people, why a
    PDF goes as text although files were asked for.
    """

    document: Document
    ref: FileRef
    sent_as: Literal["file", "base64", "text"] = "text"
    content: bytes = b""
    reason: str = ""


class ProviderFiles(Protocol):
    """Hands documents to whoever answers, and remembers under which id it did."""

    async def ensure(self, document: Document) -> FileRef:
        """A live reference to the document's present bytes; made anew only where there is none."""

    async def attach(self, documents: Sequence[Document]) -> list[Attachment]:
        """How each of these, all for one request, goes to the model. Sends what its provider lacks."""

    async def reattach(self, handed: Sequence[Attachment], refusal: OrcError) -> list[Attachment] | None:
        """What may work after the model refused these: lost files sent anew, or the text; None: nothing."""

    async def forget(self, path: BlobPath) -> None:
        """Have the provider delete a document's files. Where it cannot be reached, `sweep` does it later."""

    async def sweep(self) -> int:
        """Delete what the provider holds of ours beyond its life; how many files. Never fails, seldom works:
        call it as often as you like."""
