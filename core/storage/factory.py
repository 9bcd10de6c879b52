"""Chooses the adapter behind each port of the document side: a service's where one is in use."""

from core.analysis.models import AnalysisStore
from core.documents.ports import (
    BlobStore,
    Catalog,
    Embedder,
    JobQueue,
    PageStore,
    PassageIndex,
    Retriever,
    VectorIndex,
)
from core.infra.settings import CoreSettings
from core.search.full_scan import WholeScopeRetriever
from core.search.hybrid import HybridRetriever
from core.storage.clients import Backends
from core.storage.folder import FolderBlobStore
from core.storage.sqlite import analyses as sqlite_analyses
from core.storage.sqlite import catalog as sqlite_catalog
from core.storage.sqlite import pages as sqlite_pages
from core.storage.sqlite import passages as sqlite_passages
from core.storage.sqlite import queue as sqlite_queue
from core.storage.sqlite import vectors as sqlite_vectors
from core.storage.sqlite.analyses import SqliteAnalysisStore
from core.storage.sqlite.catalog import SqliteCatalog
from core.storage.sqlite.pages import SqlitePageStore
from core.storage.sqlite.passages import SqlitePassageIndex
from core.storage.sqlite.queue import SqliteJobQueue
from core.storage.sqlite.vectors import SqliteVectorIndex

SCHEMAS = (
    sqlite_catalog.SCHEMA,
    sqlite_pages.SCHEMA,
    sqlite_queue.SCHEMA,
    sqlite_vectors.SCHEMA,
    sqlite_analyses.SCHEMA,
    sqlite_passages.SCHEMA,
)

# The services' adapters are imported where they are chosen: their libraries take half a second.


def build_catalog(backends: Backends) -> Catalog:
    """Records of documents."""
    if backends.cosmos is None:
        return SqliteCatalog(backends.file)
    from core.storage.cosmos.catalog import CosmosCatalog

    return CosmosCatalog(backends.cosmos.container("documents"))


def build_analyses(backends: Backends) -> AnalysisStore:
    """What page analysis has found."""
    if backends.cosmos is None:
        return SqliteAnalysisStore(backends.file)
    from core.storage.cosmos.analyses import CosmosAnalysisStore

    return CosmosAnalysisStore(backends.cosmos.container("analyses"))


def build_blobs(settings: CoreSettings, backends: Backends) -> BlobStore:
    """The bytes of documents."""
    if backends.storage is None:
        return FolderBlobStore(settings.blobs_dir)
    from core.storage.blob.documents import AzureBlobStore

    return AzureBlobStore(backends.storage, settings.azure_storage_container)


def build_pages(settings: CoreSettings, backends: Backends) -> PageStore:
    """The text of pages."""
    if backends.storage is None:
        return SqlitePageStore(backends.file)
    from core.storage.blob.pages import BlobPageStore

    return BlobPageStore(backends.storage, settings.azure_storage_derived)


def build_queue(settings: CoreSettings, backends: Backends) -> JobQueue:
    """Work on documents."""
    if backends.storage is None:
        return SqliteJobQueue(backends.file)
    from core.storage.queue.jobs import StorageJobQueue

    return StorageJobQueue(backends.storage, settings.azure_storage_derived)


def build_search(
    settings: CoreSettings, backends: Backends, pages: PageStore, embedder: Embedder | None
) -> tuple[PassageIndex, VectorIndex, Retriever]:
    """The two indexes, and the search over both."""
    # The vectors' index also without an embedder: what an earlier one has left goes with its document.
    name = embedder.name if embedder else ""
    index: PassageIndex
    vectors: VectorIndex
    retriever: Retriever
    if backends.search is None:
        index, vectors = SqlitePassageIndex(backends.file), SqliteVectorIndex(backends.file, name)
        retriever = HybridRetriever(index, vectors if embedder else None, embedder)
    else:
        from core.storage.ai_search.passages import AzurePassageIndex
        from core.storage.ai_search.retriever import AzureSearchRetriever
        from core.storage.ai_search.vectors import AzureVectorIndex

        index, vectors = AzurePassageIndex(backends.search), AzureVectorIndex(backends.search, name)
        retriever = AzureSearchRetriever(backends.search, embedder, semantic=settings.azure_search_semantic)
    return index, vectors, WholeScopeRetriever(retriever, index, pages)
