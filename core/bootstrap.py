"""Builds the document side, which both deployables use, from settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from core.documents import search, sqlite_catalog, sqlite_pages
from core.documents.extraction import Extractor
from core.documents.folder_blobs import FolderBlobStore
from core.documents.ingestion import Ingestion
from core.documents.library import DocumentLibrary
from core.documents.local_files import LocalProviderFiles
from core.documents.ports import BlobStore, Catalog, PassageIndex, ProviderFiles
from core.documents.search import SqlitePassageIndex
from core.documents.sqlite_catalog import SqliteCatalog
from core.documents.sqlite_pages import SqlitePageStore
from core.llm.tokens import TokenCounter, load_token_counter
from core.scope import ScopeTokens, load_or_create_key
from core.settings import CoreSettings
from core.sqlite import Database

SCHEMAS = (sqlite_catalog.SCHEMA, sqlite_pages.SCHEMA, search.SCHEMA)


@dataclass(frozen=True)
class Documents:
    """The document side, ready to use."""

    library: DocumentLibrary
    blobs: BlobStore
    catalog: Catalog
    index: PassageIndex
    files: ProviderFiles
    tokens: ScopeTokens
    counter: TokenCounter
    database: Database


@asynccontextmanager
async def open_documents(settings: CoreSettings) -> AsyncIterator[Documents]:
    """Open stores and helpers; close them when the context ends."""
    async with AsyncExitStack() as stack:
        database = Database(settings.database_path)
        stack.push_async_callback(database.close)
        await database.migrate(*SCHEMAS)
        extractor = Extractor(
            seconds=settings.extraction_seconds,
            memory_bytes=settings.extraction_memory_bytes,
            processes=settings.extraction_processes,
        )
        documents = _assemble(settings, database, extractor)
        # Closed in reverse: children end, then the ingestion that waits for them, then the database.
        stack.push_async_callback(documents.library.close)
        stack.push_async_callback(extractor.close)
        # The first count would hold up the first turn.
        warming = asyncio.create_task(asyncio.to_thread(documents.counter.warm))
        stack.push_async_callback(asyncio.wait, [warming])
        yield documents


def _assemble(settings: CoreSettings, database: Database, extractor: Extractor) -> Documents:
    blobs = FolderBlobStore(settings.blobs_dir)
    catalog = SqliteCatalog(database)
    pages = SqlitePageStore(database)
    index = SqlitePassageIndex(database)
    counter = load_token_counter(settings.token_cache_dir)
    ingestion = Ingestion(blobs, catalog, pages, index, extractor, counter)
    return Documents(
        library=DocumentLibrary(blobs, catalog, pages, index, ingestion),
        blobs=blobs,
        catalog=catalog,
        index=index,
        files=LocalProviderFiles(
            catalog, ttl_seconds=settings.file_id_ttl_seconds, clock=lambda: datetime.now(UTC)
        ),
        tokens=ScopeTokens(_scope_key(settings)),
        counter=counter,
        database=database,
    )


def _scope_key(settings: CoreSettings) -> str:
    if settings.scope_key is not None:
        return settings.scope_key.get_secret_value()
    return load_or_create_key(settings.data_dir / "scope.key")
