"""Builds the document side, which all deployables use, from settings."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from orc_core.analysis.service import Analyser, DailyTokens, DocumentAnalyses
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.catalog import Catalog
from orc_core.documents.ingestion import Ingestion
from orc_core.documents.pictures import PagePictures, PictureFolder
from orc_core.documents.ports import PassageIndex, PlaceRetriever, ProviderFiles
from orc_core.documents.scope import ScopeTokens
from orc_core.documents.service import DocumentService
from orc_core.documents.stores import Stores
from orc_core.documents.text_extraction import TextExtraction
from orc_core.documents.worker import LOCAL, REMOTE, Worker
from orc_core.errors import OrcError
from orc_core.extraction.extractor import PRELOADED, Extractor, PageDrawer
from orc_core.infra.data_directory import in_use
from orc_core.infra.keys import Keys, load_keys
from orc_core.infra.sandbox import Sandbox
from orc_core.infra.settings import CoreSettings
from orc_core.infra.temporary_folders import remove_left_over
from orc_core.llm.embeddings import OpenAIEmbedder, build_embedder
from orc_core.llm.factory import ChatModels, build_chat_model
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.provider import Provider, open_provider
from orc_core.llm.tokens import TokenCounter
from orc_core.ocr.ports import Ocr
from orc_core.ocr.service import build_ocr
from orc_core.search.hybrid import PassageEmbedder
from orc_core.storage.attachments import build_provider_files
from orc_core.storage.factory import (
    SCHEMAS,
    StorageClients,
    build_contents,
    build_search,
    open_clients,
)

log = logging.getLogger(__name__)


# One container for each side, wired in one function: docs/decisions/layers-and-wiring.md.
@dataclass(frozen=True)
class Documents:
    """The document side, ready to use. `worker` does nothing unless it is run."""

    library: DocumentService
    stores: Stores
    retriever: PlaceRetriever
    files: ProviderFiles
    analyses: AnalysisStore
    worker: Worker
    ocr: Ocr | None
    provider: Provider | None
    embedder: OpenAIEmbedder | None
    keys: Keys
    tokens: ScopeTokens
    counter: TokenCounter
    clients: StorageClients
    sandbox: Sandbox
    pictures: PagePictures

    def model_catalogue(self, settings: CoreSettings) -> ModelCatalogue:
        """What is known about the models, with what their server says."""
        return ModelCatalogue(settings.model_catalog, self.provider.served if self.provider else None)

    async def warm(self, models: ChatModels) -> None:
        """Make what the first question would otherwise wait for: the numbers of tokens, and the models."""
        await asyncio.to_thread(self.counter.warm)
        await models.warm()


@asynccontextmanager
async def open_documents(settings: CoreSettings, *, analyser: bool = False) -> AsyncIterator[Documents]:
    """Open the stores and all that reads documents; close them when the context ends.

    `analyser`: whether the jobs of this process also analyse pages, if the settings ask for that.
    """
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(remove_left_over)
        clients = open_clients(settings, stack)
        if clients.database is not None:
            stack.enter_context(in_use(settings.data_dir))
            await clients.database.migrate(*SCHEMAS)
        counter = TokenCounter(tools_as_json=settings.has_other_server)
        records = Catalog(await clients.items("documents")), AnalysisStore(await clients.items("analyses"))
        documents = _build(settings, clients, records, counter, stack, analyser=analyser)
        await _place_earlier_documents(documents, stack)
        yield documents


async def _place_earlier_documents(documents: Documents, stack: AsyncExitStack) -> None:
    """Before anything is searched; in the background if the index is a service, which may be down."""
    stores = documents.stores
    if documents.clients.search is None:
        await place_documents(stores.catalog, stores.index)
        return

    async def work() -> None:
        try:
            # A service lists so many at once.
            while await place_documents(stores.catalog, stores.index):
                pass
        except OrcError as exc:
            log.warning("documents of an earlier version are placed later: %s", exc.code)

    task = asyncio.create_task(work())

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)


def _build(
    settings: CoreSettings,
    clients: StorageClients,
    records: tuple[Catalog, AnalysisStore],
    counter: TokenCounter,
    stack: AsyncExitStack,
    *,
    analyser: bool,
) -> Documents:
    sandbox = Sandbox(*PRELOADED)
    stack.push_async_callback(sandbox.close)
    if (ocr := build_ocr(settings, clients.credentials, sandbox)) is not None:
        stack.push_async_callback(ocr.close)
    if (provider := open_provider(settings, clients.credentials)) is not None:
        stack.push_async_callback(provider.aclose)
    embedder = build_embedder(settings, counter, provider)
    catalog, analyses = records
    blobs, pages, queue = build_contents(settings, clients)
    files = build_provider_files(settings, provider, catalog=catalog, blobs=blobs)
    index, vectors, retriever = build_search(settings, clients, pages, embedder)
    pictures = PictureFolder(settings.data_dir / "pictures")
    stores = Stores(
        blobs=blobs,
        catalog=catalog,
        pages=pages,
        index=index,
        analyses=DocumentAnalyses(analyses),
        queue=queue,
        vectors=vectors,
        files=files,
        pictures=pictures,
    )
    extraction = TextExtraction(stores, Extractor(sandbox), counter, ocr)
    ingestion = Ingestion(
        stores,
        extraction,
        embedder=PassageEmbedder(embedder, vectors) if embedder else None,
        analyser=_build_analyser(settings, analyses, counter, provider) if analyser else None,
        lease_seconds=settings.ingestion_lease_seconds,
        max_bytes=settings.max_upload_bytes,
    )
    return Documents(
        library=DocumentService(stores, extraction, ingestion, most_bytes=settings.bytes_per_organization),
        stores=stores,
        retriever=retriever,
        files=files,
        analyses=analyses,
        worker=_build_worker(settings, clients, stores, ingestion),
        ocr=ocr,
        provider=provider,
        embedder=embedder,
        keys=(keys := load_keys(settings)),
        tokens=ScopeTokens(keys),
        counter=counter,
        clients=clients,
        sandbox=sandbox,
        pictures=PagePictures(stores.blobs, PageDrawer(sandbox), pictures),
    )


def _build_worker(
    settings: CoreSettings, clients: StorageClients, stores: Stores, ingestion: Ingestion
) -> Worker:
    return Worker(
        stores,
        ingestion,
        lease_seconds=settings.ingestion_lease_seconds,
        at_once=settings.worker_concurrency,
        pace=REMOTE if clients.storage else LOCAL,
        upkeep=clients.database.empty_log if clients.database else None,
    )


def _build_analyser(
    settings: CoreSettings,
    analyses: AnalysisStore,
    counter: TokenCounter,
    provider: Provider | None,
) -> Analyser | None:
    """Analyses pages with the model if one is configured, else with rules; None if switched off."""
    if settings.page_analysis == "off":
        return None
    uses_model = provider is not None and settings.page_analysis == "auto"
    model = build_chat_model(settings, "analyst", counter, provider) if uses_model else None
    return Analyser(analyses, model, tokens=DailyTokens(settings.analysis_tokens_per_day))


async def place_documents(catalog: Catalog, index: PassageIndex) -> int:
    """Note in the index where each document is stored, if it does not say so yet; returns how many were new.

    It can be interrupted and repeated. Documents without a record are left out.
    """
    missing, placed = set(await index.unplaced()), 0
    if not missing:
        return 0
    for document in await catalog.completed():
        if document.document_id in missing:
            await index.place(document.document_id, document.owner)
            placed += 1
    log.info("documents are found by places now count=%d", placed)
    return placed
