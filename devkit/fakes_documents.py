"""Hand-written stand-ins behind the ports of the document side."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from weakref import WeakValueDictionary

from devkit.clock import Clock
from devkit.store_pairs import items_here
from orc_core.analysis.service import Analyser, DocumentAnalyses
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.catalog import Catalog
from orc_core.documents.ingestion import Ingestion
from orc_core.documents.service import DocumentService
from orc_core.documents.stores import Stores
from orc_core.documents.text_extraction import TextExtraction
from orc_core.documents.worker import Worker
from orc_core.errors import DependencyDown, UnreadableDocument
from orc_core.extraction.extractor import Extraction, Extractor
from orc_core.infra.sqlite import Database
from orc_core.llm.tokens import TokenCounter
from orc_core.models import Document, Hit, Page, Passage, Progress
from orc_core.names import Owner
from orc_core.storage.folder import FolderBlobStore
from orc_core.storage.sqlite import documents as sqlite_documents
from orc_core.storage.sqlite import queue as sqlite_queue
from orc_core.storage.sqlite.documents import SqlitePageStore
from orc_core.storage.sqlite.queue import SqliteJobQueue
from orc_core.storage.sqlite.tables import TABLES

LEASE_SECONDS = 6.0
Hook = Callable[[], Awaitable[object]]


async def pass_by() -> None:
    """A hook that does nothing."""


async def break_down() -> None:
    """A hook that fails as a store does that is down."""
    raise DependencyDown("The store is down.", dependency="store")


class FakeExtractor(Extractor):
    """Reads text files: form feeds part the pages, and what starts with DAMAGED is rejected.

    `during` runs between the reading of the bytes and the pages.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.media_type = "text/plain"
        self.properties = ""
        self.during: Hook = pass_by

    async def extract(self, source: Path, file_name: str, progress: Progress | None = None) -> Extraction:
        self.calls += 1
        content = await asyncio.to_thread(source.read_bytes)
        await self.during()
        if content.startswith(b"DAMAGED"):
            raise UnreadableDocument(f"{file_name} is damaged. Save it again and upload it again.")
        texts = content.decode().split("\f")
        pages = [Page(number=number, text=text.strip()) for number, text in enumerate(texts, 1)]
        if progress is not None:
            progress(len(pages), len(pages), "Reading pages")
        return Extraction(pages=pages, media_type=self.media_type, properties=self.properties)


class WordCounter(TokenCounter):
    """One token per word. `threads` holds the names of the threads in which it counted."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[str] = set()

    def count(self, text: str) -> int:
        self.threads.add(threading.current_thread().name)
        return len(text.split())

    def warm(self) -> None:
        """Nothing to do."""


class FakeIndex:
    """Passages in memory, scored by how many words of the query they hold. `saves`: what was analysed."""

    def __init__(self) -> None:
        self.passages: dict[str, list[Passage]] = {}
        self.saves: list[str] = []
        self.before_save: Hook = pass_by

    async def save(
        self, document_id: str, name: str, passages: Sequence[Passage], owner: Owner | None = None
    ) -> None:
        await self.before_save()
        self.saves.append(name)
        self.passages[document_id] = list(passages)

    async def get(self, document_id: str, ordinals: Sequence[int] | None = None) -> list[Passage]:
        passages = self.passages.get(document_id, [])
        return [p for number, p in enumerate(passages) if ordinals is None or number in ordinals]

    async def indexed(self, document_ids: Sequence[str]) -> set[str]:
        return set(document_ids) & self.passages.keys()

    async def unplaced(self) -> list[str]:
        return []

    async def place(self, document_id: str, owner: Owner) -> None:
        """Nothing here is found by places."""

    async def search(
        self, query: str, document_ids: Sequence[str], top_k: int, *, widened: bool = False
    ) -> list[Hit]:
        words = query.lower().split()
        inside = [passage for wanted in document_ids for passage in self.passages.get(wanted, [])]
        hits = [Hit(passage=p, score=sum(word in p.text.lower() for word in words)) for p in inside]
        return sorted((hit for hit in hits if hit.score), key=lambda hit: -hit.score)[:top_k]

    async def delete(self, document_id: str) -> None:
        self.passages.pop(document_id, None)


class HookedCatalog(Catalog):
    """The SQLite catalog, with hooks around every save."""

    def __init__(self, database: Database) -> None:
        super().__init__(items_here(database, "documents"))
        self.before_save: Hook = pass_by
        self.after_save: Hook = pass_by

    async def save(self, document: Document) -> None:
        await self.before_save()
        await super().save(document)
        await self.after_save()

    async def advance(self, document: Document) -> bool:
        await self.before_save()
        return await super().advance(document)


class HookedPages(SqlitePageStore):
    """The SQLite page store, with a hook before every save."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.before_save: Hook = pass_by

    async def save(self, document_id: str, pages: Sequence[Page]) -> None:
        await self.before_save()
        await super().save(document_id, pages)


@dataclass
class DocumentSide:
    """The document services over real embedded stores and a fake extractor and index."""

    folder: Path
    database: Database
    index: FakeIndex = field(default_factory=FakeIndex)
    extractor: FakeExtractor = field(default_factory=FakeExtractor)
    counter: WordCounter = field(default_factory=WordCounter)
    clock: Clock = field(default_factory=Clock)
    analyser: Analyser | None = None

    def __post_init__(self) -> None:
        self.blobs = FolderBlobStore(self.folder / "blobs")
        self.catalog = HookedCatalog(self.database)
        self.pages = HookedPages(self.database)
        self.queue = SqliteJobQueue(self.database, clock=self.clock)
        self.analyses = AnalysisStore(items_here(self.database, "analyses"))
        self.stores = Stores(
            blobs=self.blobs,
            catalog=self.catalog,
            pages=self.pages,
            index=self.index,
            analyses=DocumentAnalyses(self.analyses),
            queue=self.queue,
        )
        self.library, self.worker = self.another_process()

    def another_process(self) -> tuple[DocumentService, Worker]:
        """Services over the same stores that share nothing else with the first ones."""
        stores = replace(self.stores, _locks=WeakValueDictionary())
        reader = TextExtraction(stores, self.extractor, self.counter)
        ingestion = Ingestion(stores, reader, analyser=self.analyser, lease_seconds=LEASE_SECONDS)
        self.ingestion = ingestion
        return DocumentService(stores, reader, ingestion), Worker(
            stores, ingestion, lease_seconds=LEASE_SECONDS
        )

    def before_save(self, store: str, hook: Hook) -> None:
        """Set the hook of the `index`, the `catalog` or the `pages`."""
        hooked: dict[str, FakeIndex | HookedCatalog | HookedPages] = {
            "index": self.index,
            "catalog": self.catalog,
            "pages": self.pages,
        }
        hooked[store].before_save = hook

    def file(self, content: str, name: str = "source") -> Path:
        """A local file, such as an upload leaves."""
        source = self.folder / name
        source.write_text(content)
        return source

    async def texts(self, document: Document) -> tuple[str, str]:
        """What the page store and the index hold of a document."""
        pages = await self.pages.get(document.document_id)
        passages = self.index.passages.get(document.document_id, [])
        return " ".join(page.text for page in pages), " ".join(passage.text for passage in passages)


@asynccontextmanager
async def open_document_side(
    folder: Path, extractor: FakeExtractor | None = None
) -> AsyncIterator[DocumentSide]:
    database = Database(folder / "orc.db")
    await database.migrate(
        TABLES["documents"].schema,
        sqlite_documents.PAGES_SCHEMA,
        sqlite_queue.SCHEMA,
        TABLES["analyses"].schema,
    )
    yield DocumentSide(folder, database, extractor=extractor or FakeExtractor())
    await database.close()


class Gate:
    """A hook that reports that it was `reached` and then waits until it is `opened`."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.opened.wait()
