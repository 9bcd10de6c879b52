"""The ports of the document side. Adapters: a folder and SQLite here, Azure's services elsewhere."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from core.documents.models import BlobProperties, Document, FileRef, Hit, Page, Passage, StoredFile
from core.documents.names import BlobPath, Owner

Progress = Callable[[int, int, str], None]
"""Called with (done, total, what is being done); total is 0 while it is not known."""


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

    async def delete(self, document: Document) -> None:
        """Remove the record and its file references; an absent one is no error."""

    async def live_files(self, documents: Sequence[Document]) -> list[StoredFile]:
        """Unexpired file references that were made from exactly these documents' present bytes."""

    async def save_files(self, files: Sequence[StoredFile]) -> None:
        """Insert references, replacing earlier ones of the same documents."""

    async def ping(self) -> None:
        """Raise DependencyDown unless the catalog can be used now."""


class PageStore(Protocol):
    """The extracted text of documents, page by page."""

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        """Replace all pages of a document at once."""

    async def get(self, document_id: str, numbers: Sequence[int] | None = None) -> list[Page]:
        """The pages with these numbers (all: None), in order; absent ones are left out."""

    async def delete(self, document_id: str) -> None:
        """Remove all pages of a document."""


class PassageIndex(Protocol):
    """Search over passages. The documents in reach are part of every query, inside the engine."""

    async def save(self, document_id: str, passages: Sequence[Passage]) -> None:
        """Replace all passages of a document at once."""

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        """The best passages of these documents, best first; no documents, no hits."""

    async def delete(self, document_id: str) -> None:
        """Remove all passages of a document."""


class ProviderFiles(Protocol):
    """Hands documents to whoever answers, and remembers under which id it did."""

    async def ensure(self, document: Document) -> FileRef:
        """A live reference to the document's present bytes; made anew only where there is none."""
