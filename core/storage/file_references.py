"""File references where no provider stores files: ids of our own, with the same life as a provider's."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from core.documents.ports import Attachment, Catalog
from core.errors import OrcError
from core.models import Document, FileRef, StoredFile
from core.names import BlobPath


class Locks:
    """One lock for each document that somebody makes a reference to."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, document: Document) -> asyncio.Lock:
        """The document's lock."""
        return self._locks.setdefault(document.document_id, asyncio.Lock())


class LocalProviderFiles:
    """Makes an id per document and bytes, kept in the catalog until it expires. The model gets the text.

    `replacing` is awaited before an id takes the place of whatever the document had.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        ttl_seconds: int,
        clock: Callable[[], datetime],
        locks: Locks | None = None,
        replacing: Callable[[BlobPath], Awaitable[None]] | None = None,
    ) -> None:
        self._catalog = catalog
        self._ttl = timedelta(seconds=ttl_seconds)
        self._clock = clock
        self._locks = Locks() if locks is None else locks
        self._replacing = replacing

    async def ensure(self, document: Document) -> FileRef:
        async with self._locks.of(document):
            stored = await self._live(document) or await self._make(document)
        return FileRef(file_id=stored.file_id, blob_name=stored.blob_name)

    async def attach(self, documents: Sequence[Document]) -> list[Attachment]:
        return [Attachment(document, await self.ensure(document)) for document in documents]

    async def reattach(self, handed: Sequence[Attachment], refusal: OrcError) -> None:
        """Text has no other form."""

    async def forget(self, path: BlobPath) -> None:
        """Nothing lies elsewhere."""

    async def sweep(self) -> int:
        return 0

    async def _live(self, document: Document) -> StoredFile | None:
        return next(iter(await self._catalog.live_files([document])), None)

    async def _make(self, document: Document) -> StoredFile:
        if self._replacing is not None:
            await self._replacing(document.path)
        stored = stored_file(document, f"file-{uuid.uuid4().hex}", self._clock() + self._ttl)
        await self._catalog.save_files([stored])
        if not await self._catalog.get(document.owner, [document.document_id]):
            # Deleted meanwhile, by somebody who could not know of this reference.
            await self._catalog.drop_files([stored])
        return stored


def stored_file(document: Document, file_id: str, expires_at: datetime, provider: str = "") -> StoredFile:
    """A reference that is bound to the document and its present bytes."""
    return StoredFile(
        file_id=file_id,
        blob_name=document.blob_name,
        organization_id=document.organization_id,
        user_id=document.user_id,
        conversation_id=document.conversation_id,
        document_id=document.document_id,
        etag=document.etag,
        sha256=document.sha256,
        provider=provider,
        expires_at=expires_at,
    )
