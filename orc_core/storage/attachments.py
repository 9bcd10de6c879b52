"""Sends whole documents to the model: as files if it accepts them, otherwise as text."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from orc_core.documents.catalog import Catalog
from orc_core.documents.ports import PDF, Attachment, BlobStore, ProviderFiles
from orc_core.errors import OrcError
from orc_core.infra.settings import DAY_SECONDS, MIB, CoreSettings
from orc_core.llm.errors import ContextTooLong, FilesNotRead, FilesNotStored, ModelMisconfigured
from orc_core.llm.later import Later
from orc_core.llm.provider import Endpoint, Provider
from orc_core.models import Document
from orc_core.names import BlobPath
from orc_core.storage.provider_files import (
    Locks,
    OpenAIFiles,
    note_unwanted,
    read_pdf,
    stored_file,
    with_reference,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI


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

    async def ensure(self, document: Document) -> Attachment:
        async with self._locks.setdefault(document.document_id, asyncio.Lock()):
            if live := await self._catalog.live_files([document]):
                return with_reference(document, live[0], is_new=False)
            if self._replacing is not None:
                await self._replacing(document.path)
            stored = stored_file(document, f"file-{uuid.uuid4().hex}", self._clock() + self._ttl)
            await self._catalog.save_files([stored])
            if not await self._catalog.get(document.owner, [document.document_id]):
                # Deleted meanwhile, by a caller that could not know of this reference.
                await self._catalog.drop_files([stored])
        return with_reference(document, stored, is_new=True)

    async def attach(self, documents: Sequence[Document]) -> list[Attachment]:
        return [await self.ensure(document) for document in documents]

    async def reattach(self, attachments: Sequence[Attachment], refusal: OrcError) -> None:
        """Text has no other form."""

    async def forget(self, path: BlobPath) -> None:
        """Note files that were sent while a provider was configured: nothing here can delete them."""
        await note_unwanted(self._catalog, await self._catalog.files_of(path))

    async def sweep(self) -> int:
        return 0


SentAs = Literal["file", "base64", "text"]

FILE_TTL_SECONDS = 7 * DAY_SECONDS
"""How long a file reference is valid."""
OPENAI_HOST = "api.openai.com"
MOST_BYTES = {"file": 32 * MIB, "base64": 8 * MIB}
"""Of all files in one request: what providers take, and what is not too much to send with every question."""
MOST_PAGES = 100
"""Of all files in one request: the model is given the text and an image of each."""

log = logging.getLogger(__name__)


def build_provider_files(
    settings: CoreSettings,
    provider: Provider | None,
    *,
    catalog: Catalog,
    blobs: BlobStore,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ttl_seconds: int = FILE_TTL_SECONDS,
) -> ProviderFiles:
    """The adapter for the settings: for text if there is no provider, or none that is known to take files."""
    way = way_of(settings, provider.endpoint if provider else None)
    if provider is None or (way == "text" and settings.provider_files == "auto"):
        return LocalProviderFiles(catalog, ttl_seconds=ttl_seconds, clock=clock)
    # Deployments that share an account differ in the place of their records.
    cosmos = settings.azure_cosmos_endpoint
    deployment = f"{cosmos} {settings.azure_cosmos_database}" if cosmos else str(settings.data_dir.resolve())
    shared: dict[str, Any] = {"ttl_seconds": ttl_seconds, "clock": clock, "locks": Locks()}
    client = Later(partial(_build_client, provider))
    stored = OpenAIFiles(client, provider, catalog=catalog, blobs=blobs, deployment=deployment, **shared)
    local = LocalProviderFiles(catalog, replacing=stored.forget, **shared)
    # Also if documents are sent as text now: files that were sent before have to be deleted.
    return Attachments(way, stored, local, blobs)


def _build_client(provider: Provider) -> "AsyncOpenAI":
    from openai import AsyncOpenAI

    return AsyncOpenAI(
        api_key=provider.key,
        base_url=provider.endpoint.url,
        http_client=provider.http,
        timeout=provider.http.timeout,
        max_retries=provider.retries,
    )


def way_of(settings: CoreSettings, endpoint: Endpoint | None) -> SentAs:
    """The form in which PDFs are sent to the model of this provider."""
    if endpoint is None:
        return "text"
    if settings.provider_files == "auto":
        return "file" if endpoint.is_azure or endpoint.host == OPENAI_HOST else "text"
    return "file" if settings.provider_files == "files" else settings.provider_files


# Why files go by id, and are checked against our text: docs/decisions/files-and-pictures-for-models.md.
class Attachments:
    """Implements ProviderFiles: PDFs go as files, and where that fails as text, with the reason.

    What the provider turns out not to offer is not tried again in this process.
    """

    def __init__(self, way: SentAs, stored: OpenAIFiles, local: LocalProviderFiles, blobs: BlobStore) -> None:
        self._way = way
        self._why = ""
        self._stored = stored
        self._local = local
        self._blobs = blobs

    async def ensure(self, document: Document) -> Attachment:
        return await self._local.ensure(document)

    async def attach(self, documents: Sequence[Document]) -> list[Attachment]:
        while True:
            budget = _Budget()
            attachments = await asyncio.gather(*(self._attach(document, budget) for document in documents))
            if all(attachments):
                return [each for each in attachments if each is not None]
            # The provider stores no files.
            self._give_up("base64", FilesNotStored())

    async def reattach(self, attachments: Sequence[Attachment], refusal: OrcError) -> list[Attachment] | None:
        sent = [each.document for each in attachments if each.sent_as != "text"]
        misconfigured = isinstance(refusal, ModelMisconfigured) and refusal.code != "model_auth"
        if not sent or not (misconfigured or isinstance(refusal, ContextTooLong)):
            return None
        if isinstance(refusal, FilesNotRead):
            self._give_up("text", refusal)
        elif misconfigured:
            await self._stored.drop_lost(sent)
            again = await self.attach([each.document for each in attachments])
            if [each.ref for each in again] != [each.ref for each in attachments]:
                return again
        return [await self._as_text(each.document, refusal.message) for each in attachments]

    async def forget(self, path: BlobPath) -> None:
        await self._stored.forget(path)

    async def sweep(self) -> int:
        return await self._stored.sweep()

    async def _attach(self, document: Document, budget: "_Budget") -> Attachment | None:
        way = self._way
        if document.media_type != PDF:
            return await self._as_text(document)
        if way == "text":
            return await self._as_text(document, self._why)
        if not budget.takes(document, way):
            return await self._as_text(document, self._why or "The files are too large to be sent together.")
        try:
            if way == "file":
                return (await self._stored.ensure(document))._replace(sent_as=way)
            content = await read_pdf(self._blobs, document)
            attached = await self._local.ensure(document)
            return attached._replace(sent_as=way, content=content, reason=self._why)
        except FilesNotStored:
            return None
        except OrcError as exc:
            log.warning("not sent as a file document_id=%s: %s", document.document_id, exc.code)
            return await self._as_text(document, exc.message)

    async def _as_text(self, document: Document, reason: str = "") -> Attachment:
        return (await self._local.ensure(document))._replace(reason=reason)

    def _give_up(self, instead: SentAs, because: OrcError) -> None:
        log.warning("documents go to the model as %s from now on: %s", instead, because.code)
        self._way, self._why = instead, because.message


class _Budget:
    """The files that may still be sent with one request."""

    def __init__(self) -> None:
        self._bytes = self._pages = 0

    def takes(self, document: Document, way: SentAs) -> bool:
        """Whether this document fits too. If it does, its size is subtracted."""
        size, pages = self._bytes + document.size, self._pages + document.pages
        if size > MOST_BYTES[way] or pages > MOST_PAGES:
            return False
        self._bytes, self._pages = size, pages
        return True
