"""File references where no provider stores files: ids of our own, with the same life as a provider's."""

import asyncio
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from core.documents.models import Document, FileRef, StoredFile
from core.documents.ports import Catalog


class LocalProviderFiles:
    """Makes an id per document and bytes, kept in the catalog until it expires."""

    def __init__(self, catalog: Catalog, *, ttl_seconds: int, clock: Callable[[], datetime]) -> None:
        self._catalog = catalog
        self._ttl = timedelta(seconds=ttl_seconds)
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ensure(self, document: Document) -> FileRef:
        async with self._locks.setdefault(document.document_id, asyncio.Lock()):
            stored = await self._live(document) or await self._make(document)
        return FileRef(file_id=stored.file_id, blob_name=stored.blob_name)

    async def _live(self, document: Document) -> StoredFile | None:
        files = await self._catalog.live_files([document])
        return next((file for file in files if file.expires_at > self._clock()), None)

    async def _make(self, document: Document) -> StoredFile:
        stored = StoredFile(
            file_id=f"file-{uuid.uuid4().hex}",
            blob_name=document.blob_name,
            organization_id=document.organization_id,
            user_id=document.user_id,
            conversation_id=document.conversation_id,
            sha256=document.sha256,
            document_id=document.document_id,
            etag=document.etag,
            expires_at=self._clock() + self._ttl,
        )
        await self._catalog.save_files([stored])
        return stored
