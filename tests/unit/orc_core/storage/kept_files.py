"""Documents with bytes and records, for tests of how they are sent to a provider."""

import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from openai import AsyncOpenAI

from devkit.clock import Clock
from devkit.store_pairs import items_here
from orc_core.documents.catalog import Catalog
from orc_core.infra.sqlite import Database
from orc_core.llm.later import Later
from orc_core.llm.provider import Provider
from orc_core.models import Document
from orc_core.names import BlobPath, Owner
from orc_core.storage.attachments import Attachments, LocalProviderFiles, SentAs
from orc_core.storage.folder import FolderBlobStore
from orc_core.storage.provider_files import OpenAIFiles
from orc_core.storage.sqlite.tables import TABLES

TTL = 3600
PDF = b"%PDF-1.4 the quay opens at seven"


@dataclass
class KeptFiles:
    """A folder of blobs and a catalog that goes by the `clock`."""

    folder: Path
    database: Database
    clock: Clock = field(default_factory=lambda: Clock(time.time()))

    def __post_init__(self) -> None:
        self.blobs = FolderBlobStore(self.folder / "blobs")
        self.catalog = Catalog(items_here(self.database, "documents"), clock=self.clock.utc)

    def openai_files(self, provider: Provider) -> OpenAIFiles:
        """The files at a provider, as a separate process would keep them."""
        client = AsyncOpenAI(
            api_key=provider.key,
            base_url=provider.endpoint.url,
            http_client=provider.http,
            max_retries=provider.retries,
        )
        return OpenAIFiles(
            Later(lambda: client),
            provider,
            catalog=self.catalog,
            blobs=self.blobs,
            ttl_seconds=TTL,
            clock=self.clock.utc,
        )

    def attachments(self, way: SentAs, provider: Provider) -> Attachments:
        """What chooses how documents reach the model of this provider."""
        stored = self.openai_files(provider)
        local = LocalProviderFiles(
            self.catalog, ttl_seconds=TTL, clock=self.clock.utc, replacing=stored.forget
        )
        return Attachments(way, stored, local, self.blobs)

    async def put(
        self, name: str, content: bytes = PDF, *, pages: int = 1, conversation: str = "c1"
    ) -> Document:
        """Store these bytes and a record of them."""
        source = self.folder / "source"
        source.write_bytes(content)
        path = BlobPath(Owner("acme", "ann", conversation), name)
        blob = await self.blobs.put(path, source)
        known = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "media_type": "application/pdf" if name.endswith(".pdf") else "text/plain",
            "readable": True,
            "pages": pages,
        }
        document = Document.first_seen(blob).model_copy(update=known)
        await self.catalog.save(document)
        return document

    async def document(self, name: str) -> Document:
        """The record of a document of the first conversation."""
        path = BlobPath(Owner("acme", "ann", "c1"), name)
        [document] = await self.catalog.get(path.owner, [path.document_id])
        return document


@asynccontextmanager
async def open_kept_files(folder: Path) -> AsyncIterator[KeptFiles]:
    database = Database(folder / "orc.db")
    await database.migrate(TABLES["documents"].schema)
    yield KeptFiles(folder, database)
    await database.close()
