"""Builds the document side, which all deployables use, from settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from core.documents import sqlite_catalog, sqlite_pages, sqlite_queue
from core.documents.analysis import sqlite_analyses
from core.documents.analysis.analyser import Analyser
from core.documents.analysis.sqlite_analyses import SqliteAnalysisStore
from core.documents.extraction import Extractor
from core.documents.folder_blobs import FolderBlobStore
from core.documents.ingestion import Ingestion
from core.documents.library import DocumentLibrary
from core.documents.local_files import LocalProviderFiles
from core.documents.ocr.factory import build_ocr
from core.documents.ocr.ports import Ocr
from core.documents.ports import Embedder, ProviderFiles, Retriever
from core.documents.sqlite_catalog import SqliteCatalog
from core.documents.sqlite_pages import SqlitePageStore
from core.documents.sqlite_queue import SqliteJobQueue
from core.documents.stores import Stores
from core.documents.texts import TextReader
from core.documents.worker import Worker
from core.llm.embeddings import OpenAIEmbedder, build_embedder
from core.llm.model import ChatModel
from core.llm.tokens import TokenCounter, load_token_counter
from core.scope import ScopeTokens, load_or_create_key
from core.search import sqlite_passages, sqlite_vectors
from core.search.embedding import PassageEmbedder
from core.search.retrieval import HybridRetriever
from core.search.sqlite_passages import SqlitePassageIndex
from core.search.sqlite_vectors import SqliteVectorIndex
from core.search.unindexed import WholeScopeRetriever
from core.settings import CoreSettings
from core.sqlite import Database

SCHEMAS = (
    sqlite_catalog.SCHEMA,
    sqlite_pages.SCHEMA,
    sqlite_queue.SCHEMA,
    sqlite_vectors.SCHEMA,
    sqlite_analyses.SCHEMA,
    sqlite_passages.SCHEMA,
)


@dataclass(frozen=True)
class Documents:
    """The document side, ready to use. `worker` does nothing unless it is run."""

    library: DocumentLibrary
    stores: Stores
    retriever: Retriever
    files: ProviderFiles
    worker: Worker
    embedder: Embedder | None
    ocr: Ocr | None
    tokens: ScopeTokens
    counter: TokenCounter
    database: Database


@dataclass(frozen=True)
class _Engines:
    """What reads files and asks providers; each has something to close."""

    extractor: Extractor
    ocr: Ocr | None
    embedder: OpenAIEmbedder | None
    analyst: ChatModel | None


@asynccontextmanager
async def open_documents(settings: CoreSettings, *, analyser: bool = False) -> AsyncIterator[Documents]:
    """Open stores and helpers; close them when the context ends.

    With `analyser`, for a process that works through the queue, completed documents are analysed page
    by page as the settings say.
    """
    async with AsyncExitStack() as stack:
        database = Database(settings.database_path)
        stack.push_async_callback(database.close)
        await database.migrate(*SCHEMAS)
        counter = load_token_counter(settings.token_cache_dir)
        engines = _open_engines(settings, counter, stack, analyser=analyser)
        # The first count would hold up the first turn.
        warming = asyncio.create_task(asyncio.to_thread(counter.warm))
        stack.push_async_callback(asyncio.wait, [warming])
        yield _assemble(settings, database, counter, engines, analyser=analyser)


def _open_engines(
    settings: CoreSettings, counter: TokenCounter, stack: AsyncExitStack, *, analyser: bool
) -> _Engines:
    engines = _Engines(
        extractor=Extractor(
            seconds=settings.extraction_seconds,
            memory_bytes=settings.extraction_memory_bytes,
            processes=settings.extraction_processes,
        ),
        ocr=build_ocr(settings),
        embedder=build_embedder(settings, counter),
        analyst=_build_analyst(settings, counter) if analyser else None,
    )
    stack.push_async_callback(engines.extractor.close)
    if engines.ocr is not None:
        stack.push_async_callback(engines.ocr.close)
    for model in (engines.embedder, engines.analyst):
        if model is not None:
            stack.push_async_callback(model.aclose)
    return engines


def _assemble(
    settings: CoreSettings, database: Database, counter: TokenCounter, engines: _Engines, *, analyser: bool
) -> Documents:
    stores = _open_stores(settings, database, engines.embedder)
    reader = TextReader(stores, engines.extractor, counter, engines.ocr)
    analyses = analyser and settings.page_analysis != "off"
    ingestion = Ingestion(
        stores,
        reader,
        embedder=_passage_embedder(stores, engines.embedder),
        analyser=Analyser(stores.analyses, engines.analyst) if analyses else None,
        lease_seconds=settings.ingestion_lease_seconds,
    )
    worker = Worker(
        stores,
        ingestion,
        lease_seconds=settings.ingestion_lease_seconds,
        at_once=settings.ingestion_at_once,
    )
    return Documents(
        library=DocumentLibrary(stores, reader, ingestion),
        stores=stores,
        retriever=_open_retriever(stores, engines.embedder),
        files=LocalProviderFiles(
            stores.catalog, ttl_seconds=settings.file_id_ttl_seconds, clock=lambda: datetime.now(UTC)
        ),
        worker=worker,
        embedder=engines.embedder,
        ocr=engines.ocr,
        tokens=ScopeTokens(_scope_key(settings)),
        counter=counter,
        database=database,
    )


def _passage_embedder(stores: Stores, embedder: Embedder | None) -> PassageEmbedder | None:
    return PassageEmbedder(embedder, stores.vectors) if embedder and stores.vectors else None


def _open_stores(settings: CoreSettings, database: Database, embedder: Embedder | None) -> Stores:
    return Stores(
        blobs=FolderBlobStore(settings.blobs_dir),
        catalog=SqliteCatalog(database),
        pages=SqlitePageStore(database),
        index=SqlitePassageIndex(database),
        analyses=SqliteAnalysisStore(database),
        queue=SqliteJobQueue(database),
        # Also without an embedder: what an earlier one has left goes with its document.
        vectors=SqliteVectorIndex(database, embedder.name if embedder else ""),
    )


def _open_retriever(stores: Stores, embedder: Embedder | None) -> Retriever:
    retriever = HybridRetriever(stores.index, stores.vectors if embedder else None, embedder)
    return WholeScopeRetriever(retriever, stores.index, stores.pages)


def _build_analyst(settings: CoreSettings, counter: TokenCounter) -> ChatModel | None:
    """The model that analyses pages; None where patterns do."""
    if settings.page_analysis != "auto" or not settings.has_model:
        return None
    from core.llm.factory import build_chat_model

    return build_chat_model(settings, "analyst", counter)


def _scope_key(settings: CoreSettings) -> str:
    if settings.scope_key is not None:
        return settings.scope_key.get_secret_value()
    return load_or_create_key(settings.data_dir / "scope.key")
