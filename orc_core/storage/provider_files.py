"""Documents as files of an OpenAI-compatible provider: sent once, found again by id, deleted in the end."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from orc_core.documents.catalog import Catalog
from orc_core.documents.ports import PDF, Attachment, BlobStore, plain_name
from orc_core.errors import NotFound, OrcError
from orc_core.llm.later import Later
from orc_core.llm.provider import Provider
from orc_core.models import Document, FileRef, StoredFile, UnwantedFile
from orc_core.names import BlobPath, missing_document

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MARGIN = timedelta(minutes=5)
"""How long before a file expires it is no longer used: a request takes a while, and clocks differ."""
QUICK_SECONDS = 5.0
SWEEP_SECONDS = 3600.0
LISTED_AT_ONCE, LISTED, DELETED = 100, 10_000, 200
"""The most files that one sweep lists at once, lists in total, and deletes."""

Purpose = Literal["assistants", "user_data"]

log = logging.getLogger(__name__)


Locks = WeakValueDictionary[str, asyncio.Lock]
"""One lock for each document, by its id, for which a reference is being made."""


def stored_file(document: Document, file_id: str, expires_at: datetime, provider: str = "") -> StoredFile:
    """A reference that is bound to the document and its present bytes."""
    bound = document.model_dump(include=set(StoredFile.model_fields))
    return StoredFile(**bound, file_id=file_id, expires_at=expires_at, provider=provider)


async def note_unwanted(catalog: Catalog, files: Sequence[StoredFile]) -> list[UnwantedFile]:
    """Note which of these files are to be deleted at a provider. First, so that a crash loses none."""
    unwanted = [UnwantedFile.of(file) for file in files if file.provider]
    if unwanted:
        await catalog.add_unwanted(unwanted)
    return unwanted


def with_reference(document: Document, stored: StoredFile, *, is_new: bool) -> Attachment:
    """The document as text, with this reference."""
    ref = FileRef(file_id=stored.file_id, blob_name=stored.blob_name)
    return Attachment(document, ref, is_new=is_new)


class OpenAIFiles:
    """Keeps PDFs with a provider, and in the catalog the ids under which they are there.

    An id counts for one organization, document, ETag and content, and until shortly before it expires.
    `client` and `provider` are of one account; the methods raise what `orc_core.llm.errors` lists. Names of
    files distinguish them from those of other deployments that share the account.
    """

    def __init__(
        self,
        client: "Later[AsyncOpenAI]",
        provider: Provider,
        *,
        catalog: Catalog,
        blobs: BlobStore,
        ttl_seconds: int,
        clock: Callable[[], datetime],
        deployment: str = "",
        locks: Locks | None = None,
    ) -> None:
        self._client = client
        self._quick = Later(lambda: client.get().with_options(timeout=QUICK_SECONDS, max_retries=0))
        self._breaker = provider.files
        self._host = provider.endpoint.host
        # Azure reads files that were sent for `assistants`, and knows no `user_data`.
        self._purpose: Purpose = "assistants" if provider.endpoint.is_azure else "user_data"
        self._catalog = catalog
        self._blobs = blobs
        self._ttl = timedelta(seconds=ttl_seconds)
        self._clock = clock
        self._provider_expires = True
        self._next_sweep = 0.0
        self._mark = f"orc-{hashlib.sha256(deployment.encode()).hexdigest()[:8]}-"
        self._locks = Locks() if locks is None else locks

    async def ensure(self, document: Document) -> Attachment:
        """As in the port. Raises NotFound if the document's present bytes are no longer stored."""
        async with self._locks.setdefault(document.document_id, asyncio.Lock()):
            live = await self._live(document)
            stored = live or await self._send(document)
        return with_reference(document, stored, is_new=live is None)

    async def drop_lost(self, documents: Sequence[Document]) -> None:
        """Forget the ids of these documents under which the provider has nothing any more."""
        live = [file for document in documents if (file := await self._live(document)) is not None]
        ask = (await self._quick.take()).files.retrieve
        known = await asyncio.gather(*(self._is_known(ask, file.file_id) for file in live))
        lost = [file for file, is_known in zip(live, known, strict=True) if is_known is False]
        await self._catalog.drop_files(lost)

    async def forget(self, path: BlobPath) -> None:
        """Delete a document's files at the provider. Those that it does not confirm are noted for `sweep`."""
        files = await self._catalog.files_of(path)
        await self._dispose(files)
        await self._catalog.drop_files(files)

    async def sweep(self) -> int:
        """Delete noted files, and at most once an hour those that have outlived every reference.

        Returns how many it deleted.
        """
        try:
            noted = await self._delete(await self._catalog.unwanted())
        except OrcError as exc:
            log.warning("noted files were not deleted: %s", exc.code)
            return 0
        return noted + await self._delete_forgotten()

    async def _delete_forgotten(self) -> int:
        if time.monotonic() < self._next_sweep:
            return 0
        self._next_sweep = time.monotonic() + SWEEP_SECONDS
        try:
            forgotten = await self._forgotten()
        except OrcError as exc:
            log.warning("the provider's files were not looked through: %s", exc.code)
            return 0
        deleted = sum([await self._delete_one(file_id) for file_id in forgotten])
        if deleted:
            log.info("deleted %d forgotten files at the provider", deleted)
        return deleted

    async def _live(self, document: Document) -> StoredFile | None:
        live = await self._catalog.live_files([document])
        ours = (self._host, document.sha256)
        return next((file for file in live if (file.provider, file.sha256) == ours), None)

    async def _send(self, document: Document) -> StoredFile:
        content = await read_pdf(self._blobs, document)
        file_id = await self._upload(f"{self._mark}{plain_name(document)}", content)
        stored = stored_file(document, file_id, self._clock() + self._ttl - MARGIN, self._host)
        replaced = await self._catalog.files_of(document.path)
        await self._catalog.save_files([stored])
        await self._dispose(replaced)
        present = await self._catalog.get(document.owner, [document.document_id])
        if not present or present[0].etag != document.etag:
            # Deleted or replaced meanwhile, by a caller that could not know of this file.
            await self._dispose([stored])
            await self._catalog.drop_files([stored])
            raise missing_document(document.blob_name)
        return stored

    async def _upload(self, name: str, content: bytes) -> str:
        from openai import BadRequestError

        async def send(**options: Any) -> str:
            file = (name, content, PDF)
            async with self._breaker.attempt():
                client = await self._client.take()
                return (await client.files.create(file=file, purpose=self._purpose, **options)).id

        if not self._provider_expires:
            return await send()
        try:
            seconds = int(self._ttl.total_seconds())
            return await send(expires_after={"anchor": "created_at", "seconds": seconds})
        except OrcError as exc:
            if not isinstance(exc.__cause__, BadRequestError):
                raise
        file_id = await send()
        self._provider_expires = False
        return file_id

    async def _is_known(self, ask: Callable[[str], Awaitable[object]], file_id: str) -> bool | None:
        """Asks the provider about a file: False if it says that it has none; None if it does not answer."""
        from openai import NotFoundError

        try:
            async with self._breaker.attempt():
                try:
                    await ask(file_id)
                except NotFoundError:
                    return False
        except OrcError as exc:
            log.warning("the provider did not answer about a file: %s", exc.code)
            return None
        return True

    async def _dispose(self, files: Sequence[StoredFile]) -> None:
        await self._delete(await note_unwanted(self._catalog, files))

    async def _delete(self, files: Sequence[UnwantedFile]) -> int:
        """Delete noted files at the provider; returns how many it no longer has.

        Notes of expired files are dropped: the provider, or the hourly sweep, deletes these.
        """
        ours = [file for file in files if file.provider == self._host]
        gone: list[UnwantedFile] = []
        for file in ours:
            if not await self._delete_one(file.file_id):
                log.warning("%d files stay at the provider for now", len(ours) - len(gone))
                break
            gone.append(file)
        expired = [file for file in files if file.expires_at < self._clock()]
        await self._catalog.drop_unwanted([*gone, *expired])
        return len(gone)

    async def _delete_one(self, file_id: str) -> bool:
        """Whether the provider no longer has it."""
        return await self._is_known((await self._quick.take()).files.delete, file_id) is not None

    async def _forgotten(self) -> list[str]:
        born_before = (self._clock() - self._ttl - MARGIN).timestamp()
        found: list[str] = []
        seen = 0
        files = (await self._quick.take()).files
        async with self._breaker.attempt():
            async for file in files.list(purpose=self._purpose, limit=LISTED_AT_ONCE, order="asc"):
                seen += 1
                if file.filename.startswith(self._mark) and file.created_at < born_before:
                    found.append(file.id)
                if seen == LISTED or len(found) == DELETED:
                    break
        return found


async def read_pdf(blobs: BlobStore, document: Document) -> bytes:
    """The bytes that the record describes. Raises NotFound if others or none are stored now."""
    async with blobs.local_copy(document.path) as copy:
        content = await asyncio.to_thread(copy.read_bytes)
    if (await asyncio.to_thread(hashlib.sha256, content)).hexdigest() != document.sha256:
        raise NotFound(f'"{document.blob_name}" has changed meanwhile.')
    return content
