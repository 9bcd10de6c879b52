"""Documents in Blob Storage: the blob's name is the document's path."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from core.errors import UnsafeName
from core.models import BlobProperties, PresignedUpload
from core.names import BlobPath, Owner, missing_document
from core.storage.blob.account import Storage
from core.storage.blob.client import Blobs, Found


class AzureBlobStore:
    """The blobs of one container, those too that others put there under a name that a document may have."""

    def __init__(self, storage: Storage, container: str) -> None:
        self._storage = storage
        self._container = container
        self._blobs = Blobs(storage.container(container), storage.blobs)

    async def put(self, path: BlobPath, source: Path) -> BlobProperties:
        file = await asyncio.to_thread(source.open, "rb")
        with file:
            return _properties(path, await self._blobs.put(str(path), file))

    async def head(self, path: BlobPath) -> BlobProperties | None:
        found = await self._blobs.head(str(path))
        return _properties(path, found) if found else None

    @asynccontextmanager
    async def local_copy(self, path: BlobPath) -> AsyncIterator[Path]:
        with tempfile.TemporaryDirectory(prefix="orc-blob-") as folder:
            copy = Path(folder) / "copy"
            with copy.open("wb") as file:
                if not await self._blobs.download(str(path), file):
                    raise missing_document(path.file)
            yield copy

    async def list_in(self, owner: Owner) -> list[BlobProperties]:
        found = {
            blob.name.removeprefix(owner.prefix): blob for blob in await self._blobs.list_in(owner.prefix)
        }
        paths = [(_path(owner, name), blob) for name, blob in sorted(found.items())]
        return [_properties(path, blob) for path, blob in paths if path is not None]

    async def delete(self, path: BlobPath) -> None:
        await self._blobs.delete(str(path))

    async def presign_upload(self, path: BlobPath, seconds: int) -> PresignedUpload:
        expires_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
        url = await self._storage.upload_url(self._container, str(path), expires_at)
        return PresignedUpload(url=url, headers={"x-ms-blob-type": "BlockBlob"}, expires_at=expires_at)

    async def ping(self) -> None:
        await self._blobs.ping()


def _properties(path: BlobPath, found: Found) -> BlobProperties:
    return BlobProperties(path=path, etag=found.etag, size=found.size)


def _path(owner: Owner, name: str) -> BlobPath | None:
    try:
        return BlobPath(owner, name)
    except UnsafeName:
        return None
