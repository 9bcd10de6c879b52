"""Chooses the adapter behind each port of the document side: a service's where one is in use."""

from core.backends import Backends
from core.documents import sqlite_catalog, sqlite_pages, sqlite_queue
from core.documents.analysis import sqlite_analyses
from core.documents.analysis.ports import AnalysisStore
from core.documents.analysis.sqlite_analyses import SqliteAnalysisStore
from core.documents.folder_blobs import FolderBlobStore
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
from core.documents.sqlite_catalog import SqliteCatalog
from core.documents.sqlite_pages import SqlitePageStore
from core.documents.sqlite_queue import SqliteJobQueue
from core.search import sqlite_passages, sqlite_vectors
from core.search.retrieval import HybridRetriever
from core.search.sqlite_passages import SqlitePassageIndex
from core.search.sqlite_vectors import SqliteVectorIndex
from core.search.unindexed import WholeScopeRetriever
from core.settings import CoreSettings

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
    from core.documents.azure.cosmos_catalog import CosmosCatalog

    return CosmosCatalog(backends.cosmos.container("documents"))


def build_analyses(backends: Backends) -> AnalysisStore:
    """What page analysis has found."""
    if backends.cosmos is None:
        return SqliteAnalysisStore(backends.file)
    from core.documents.azure.cosmos_analyses import CosmosAnalysisStore

    return CosmosAnalysisStore(backends.cosmos.container("analyses"))


def build_blobs(settings: CoreSettings, backends: Backends) -> BlobStore:
    """The bytes of documents."""
    if backends.storage is None:
        return FolderBlobStore(settings.blobs_dir)
    from core.documents.azure.blob_store import AzureBlobStore

    return AzureBlobStore(backends.storage, settings.azure_storage_container)


def build_pages(settings: CoreSettings, backends: Backends) -> PageStore:
    """The text of pages."""
    if backends.storage is None:
        return SqlitePageStore(backends.file)
    from core.documents.azure.blob_pages import BlobPageStore

    return BlobPageStore(backends.storage, settings.azure_storage_derived)


def build_queue(settings: CoreSettings, backends: Backends) -> JobQueue:
    """Work on documents."""
    if backends.storage is None:
        return SqliteJobQueue(backends.file)
    from core.documents.azure.storage_queue import StorageJobQueue

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
        from core.search.azure.passages import AzurePassageIndex
        from core.search.azure.retriever import AzureSearchRetriever
        from core.search.azure.vectors import AzureVectorIndex

        index, vectors = AzurePassageIndex(backends.search), AzureVectorIndex(backends.search, name)
        retriever = AzureSearchRetriever(backends.search, embedder, semantic=settings.azure_search_semantic)
    return index, vectors, WholeScopeRetriever(retriever, index, pages)
