"""Blobs of one container as the adapters use them: whole writes, and reads that are bound to a version.

The SDK's types, retries and exceptions stop here. Names are passed as they are, and the SDK would follow
`..` in them: callers check them first.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobBlock, BlobProperties, ContentSettings
from azure.storage.blob.aio import BlobClient, BlobLeaseClient, ContainerClient

from orc_core.errors import Unavailable
from orc_core.infra.resilience import CircuitBreaker, guarded
from orc_core.storage.blob.account import BLOCK_BYTES

ATTEMPTS = 20
"""How often a read or write starts again because another process writes the same blob."""

SINGLE_BYTES = 1024 * 1024
"""Up to here one request stores a blob; aiohttp would send more of it without letting others in between."""

# Bytes and nothing else: a browser that is led to one must not show it as a page.
_NEUTRAL = ContentSettings(content_type="application/octet-stream")
PRECONDITION_FAILED = 412


class Changed(Exception):
    """A read met another version than the one it was bound to, or none. Never leaves an adapter."""


class Found(NamedTuple):
    """The properties of a blob as the service reports them; the ETag without its quotes."""

    name: str
    etag: str
    size: int


class Part(NamedTuple):
    """Some of a blob's bytes, and of which version they are."""

    etag: str
    content: bytes


class Blobs:
    """The blobs of one container. Only the service's word that a blob is absent counts as absence."""

    def __init__(self, container: ContainerClient, breaker: CircuitBreaker) -> None:
        self._container = container
        self._breaker = breaker

    async def put(self, name: str, source: BinaryIO) -> Found:
        """Store a file from its start, whole or not at all, in place of what is there."""
        for _ in range(ATTEMPTS):
            await asyncio.to_thread(source.seek, 0)
            try:
                client = self._container.get_blob_client(name)
                first = await asyncio.to_thread(source.read, BLOCK_BYTES)
                if len(first) <= SINGLE_BYTES:
                    return Found(name, await self._upload(client, first), len(first))
                return await self._put_in_blocks(client, first, source)
            except _Discarded:
                continue
        raise busy()

    @guarded
    async def head(self, name: str) -> Found | None:
        """The properties of the blob, or None if there is none."""
        with absence_allowed():
            return _found(await self._container.get_blob_client(name).get_blob_properties())
        return None

    async def read(self, name: str, length: int) -> Part | None:
        """The first `length` bytes, or fewer if there are fewer, of a blob that is not empty; or None."""
        try:
            return await self._read(name, 0, length)
        except Changed:
            return None

    async def read_from(self, name: str, etag: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` to `end` of this version, in blocks; raises Changed if it has gone."""
        for first in range(start, end, BLOCK_BYTES):
            yield (await self._read(name, first, min(BLOCK_BYTES, end - first), etag)).content

    async def download(self, name: str, target: BinaryIO) -> bool:
        """Write all bytes of one version into an empty file; False if there is no such blob."""
        for _ in range(ATTEMPTS):
            if (found := await self.head(name)) is None:
                return False
            try:
                async for block in self.read_from(name, found.etag, 0, found.size):
                    await asyncio.to_thread(target.write, block)
                return True
            except Changed:
                target.seek(0)
                target.truncate()
        raise busy()

    @guarded
    async def list_in(self, folder: str) -> list[Found]:
        """The blobs right in a folder, whose name ends in a slash; not those in folders below it."""
        walk = self._container.walk_blobs(name_starts_with=folder, delimiter="/")
        return [_found(each) async for each in walk if isinstance(each, BlobProperties)]

    @guarded
    async def list_all(self) -> list[Found]:
        """All blobs of the container."""
        return [_found(each) async for each in self._container.list_blobs()]

    @guarded
    async def delete(self, name: str, etag: str | None = None) -> None:
        """Remove a blob, or only this version of it, with its snapshots; an absent one is no error."""
        client = self._container.get_blob_client(name)
        remove = partial(client.delete_blob, delete_snapshots="include", **bound_to(etag or ""))
        with absence_allowed(), suppress(ResourceModifiedError):
            try:
                await remove()
            except HttpResponseError as exc:
                if getattr(exc, "error_code", None) != "LeaseIdMissing":
                    raise
                # The holder of a presigned URL may lease the blob: that must not prevent its deletion.
                await BlobLeaseClient(client).break_lease(lease_break_period=0)
                await remove()

    async def _put_in_blocks(self, client: BlobClient, block: bytes, source: BinaryIO) -> Found:
        # Blocks wait under the blob's name until they are listed: those of another put must not be taken
        # for ours.
        put, blocks, size = uuid.uuid4().hex, list[BlobBlock](), 0
        while block:
            blocks.append(BlobBlock(f"{put}-{len(blocks):05}"))
            await self._stage(client, str(blocks[-1].id), block)
            size += len(block)
            block = await asyncio.to_thread(source.read, BLOCK_BYTES)
        return Found(client.blob_name, await self._commit(client, blocks), size)

    @guarded
    async def _upload(self, client: BlobClient, content: bytes) -> str:
        written = await client.upload_blob(content, overwrite=True, content_settings=_NEUTRAL)
        return plain(str(written["etag"]))

    @guarded
    async def _stage(self, client: BlobClient, block_id: str, block: bytes) -> None:
        await client.stage_block(block_id, BytesIO(block), len(block))

    @guarded
    async def _commit(self, client: BlobClient, blocks: list[BlobBlock]) -> str:
        try:
            written = await client.commit_block_list(blocks, content_settings=_NEUTRAL)
        except HttpResponseError as exc:
            if getattr(exc, "error_code", None) == "InvalidBlockList":
                raise _Discarded from exc
            raise
        return plain(str(written["etag"]))

    @guarded
    async def _read(self, name: str, start: int, length: int, etag: str = "") -> Part:
        client = self._container.get_blob_client(name)
        with absence_allowed():
            try:
                # The bytes as they are stored, whatever encoding an uploader says they have.
                stream = await client.download_blob(start, length, decompress=False, **bound_to(etag))
                return Part(plain(stream.properties.etag), await stream.readall())
            except HttpResponseError as exc:
                if exc.status_code != PRECONDITION_FAILED:
                    raise
        raise Changed


def busy() -> Unavailable:
    """The error for a blob that other processes keep writing while it is read or written."""
    return Unavailable("A document keeps changing while it is used. Try again in a moment.")


class _Discarded(Exception):
    """Another put of the same blob has dropped our blocks, as the service does when a blob is written."""


def bound_to(etag: str) -> dict[str, Any]:
    """The options that bind a call to a version; none for an empty ETag (any version)."""
    return {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified} if etag else {}


@contextmanager
def absence_allowed() -> Iterator[None]:
    """Ends the block if a blob is absent; raises as before if its container or account is."""
    try:
        yield
    except ResourceNotFoundError as exc:
        if getattr(exc, "error_code", None) != "BlobNotFound":
            raise


def _found(properties: BlobProperties) -> Found:
    return Found(properties.name, plain(properties.etag), properties.size)


def plain(etag: str) -> str:
    """An ETag without quotes: listings have none, other responses have."""
    return etag.strip('"')
