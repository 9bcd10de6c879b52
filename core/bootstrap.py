"""Builds the document side, which all deployables use, from settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from core.analysis.models import AnalysisStore
from core.analysis.service import Analyser, DocumentAnalyses
from core.documents.ingestion import Ingestion
from core.documents.ports import ProviderFiles, Retriever
from core.documents.scope import ScopeTokens, load_or_create_key
from core.documents.service import DocumentService
from core.documents.stores import Stores
from core.documents.text_extraction import TextExtraction
from core.documents.worker import LOCAL, REMOTE, Worker
from core.extraction.sandbox import Extractor
from core.infra.settings import CoreSettings
from core.llm.chat_model import ChatModel
from core.llm.embeddings import OpenAIEmbedder, build_embedder
from core.llm.factory import build_chat_model
from core.llm.provider import Provider, open_provider
from core.llm.tokens import TiktokenCounter, TokenCounter
from core.ocr.ports import Ocr
from core.ocr.service import build_ocr
from core.search.embedding import PassageEmbedder
from core.storage.attachments import build_provider_files
from core.storage.factory import (
    SCHEMAS,
    Backends,
    build_analyses,
    build_blobs,
    build_catalog,
    build_pages,
    build_queue,
    build_search,
    open_backends,
)


@dataclass(frozen=True)
class Engines:
    """What reads files and asks providers. `analyst` analyses pages; without one, patterns do."""

    extractor: Extractor
    ocr: Ocr | None
    provider: Provider | None
    embedder: OpenAIEmbedder | None
    analyst: ChatModel | None


@dataclass(frozen=True)
class Documents:
    """The document side, ready to use. `worker` does nothing unless it is run."""

    library: DocumentService
    stores: Stores
    retriever: Retriever
    files: ProviderFiles
    analyses: AnalysisStore
    worker: Worker
    engines: Engines
    tokens: ScopeTokens
    counter: TokenCounter
    backends: Backends


@asynccontextmanager
async def open_documents(settings: CoreSettings, *, analyser: bool = False) -> AsyncIterator[Documents]:
    """Open stores and helpers; close them when the context ends.

    With `analyser`, for a process that works through the queue, completed documents are analysed page
    by page as the settings say.
    """
    async with AsyncExitStack() as stack:
        backends = open_backends(settings, stack)
        if backends.database is not None:
            await backends.database.migrate(*SCHEMAS)
        counter = TiktokenCounter()
        engines = _open_engines(settings, backends, counter, stack, analyser=analyser)
        # The first count would hold up the first turn.
        warming = asyncio.create_task(asyncio.to_thread(counter.warm))
        stack.push_async_callback(asyncio.wait, [warming])
        yield _assemble(settings, backends, counter, engines, analyser=analyser)


def _open_engines(
    settings: CoreSettings,
    backends: Backends,
    counter: TokenCounter,
    stack: AsyncExitStack,
    *,
    analyser: bool,
) -> Engines:
    extractor = Extractor()
    stack.push_async_callback(extractor.close)
    ocr = build_ocr(settings, backends.credentials)
    if ocr is not None:
        stack.push_async_callback(ocr.close)
    provider = open_provider(settings, backends.credentials)
    if provider is not None:
        stack.push_async_callback(provider.aclose)
    asks_a_model = analyser and provider is not None and settings.page_analysis == "auto"
    return Engines(
        extractor=extractor,
        ocr=ocr,
        provider=provider,
        embedder=build_embedder(settings, counter, provider) if provider else None,
        analyst=build_chat_model(settings, "analyst", counter, provider) if asks_a_model else None,
    )


def _assemble(
    settings: CoreSettings, backends: Backends, counter: TokenCounter, engines: Engines, *, analyser: bool
) -> Documents:
    analysis_store = build_analyses(backends)
    stores, retriever, files = _open_stores(settings, backends, engines, analysis_store)
    reader = TextExtraction(stores, engines.extractor, counter, engines.ocr)
    analyses = analyser and settings.page_analysis != "off"
    embedder = engines.embedder
    ingestion = Ingestion(
        stores,
        reader,
        embedder=PassageEmbedder(embedder, stores.vectors) if embedder and stores.vectors else None,
        analyser=Analyser(analysis_store, engines.analyst) if analyses else None,
        lease_seconds=settings.ingestion_lease_seconds,
        max_bytes=settings.max_upload_bytes,
    )
    worker = Worker(
        stores,
        ingestion,
        lease_seconds=settings.ingestion_lease_seconds,
        at_once=settings.worker_concurrency,
        pace=REMOTE if backends.storage else LOCAL,
    )
    return Documents(
        library=DocumentService(stores, reader, ingestion),
        stores=stores,
        retriever=retriever,
        files=files,
        analyses=analysis_store,
        worker=worker,
        engines=engines,
        tokens=ScopeTokens(_scope_key(settings)),
        counter=counter,
        backends=backends,
    )


def _open_stores(
    settings: CoreSettings, backends: Backends, engines: Engines, analyses: AnalysisStore
) -> tuple[Stores, Retriever, ProviderFiles]:
    catalog, blobs = build_catalog(backends), build_blobs(settings, backends)
    files = build_provider_files(
        settings, engines.provider, catalog=catalog, blobs=blobs, clock=lambda: datetime.now(UTC)
    )
    pages = build_pages(settings, backends)
    index, vectors, retriever = build_search(settings, backends, pages, engines.embedder)
    stores = Stores(
        blobs=blobs,
        catalog=catalog,
        pages=pages,
        index=index,
        analyses=DocumentAnalyses(analyses),
        queue=build_queue(settings, backends),
        vectors=vectors,
        files=files,
    )
    return stores, retriever, files


def _scope_key(settings: CoreSettings) -> str:
    if settings.scope_signing_key is not None:
        return settings.scope_signing_key.get_secret_value()
    return load_or_create_key(settings.data_dir / "scope.key")
