"""Stand-ins behind the ports that the tools use, and the documents to fill them with."""

from collections.abc import Sequence

from orc_core.analysis.models import AnalysisStatus, DocumentAnalysis, PageAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.passages import split_pages
from orc_core.documents.places import Accessible, DocumentsPage, PlaceCount, Portion, read_page
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.models import Document, DocumentStatus, Hit, Page, Progress, Retrieval, RetrievalStep
from orc_core.names import BlobPath, Owner

ANN = Owner("acme", "ann", "c-1")
BOB = Owner("acme", "bob", "c-2")


def unheard(done: int, total: int, what: str) -> None:
    """Progress without a listener."""


class FakeLibrary(DocumentService):
    """Documents in memory. `unread` ones become readable on demand; `failed` ones never do."""

    def __init__(self) -> None:
        self.pages: dict[str, list[Page]] = {}
        self.documents: dict[str, Document] = {}

    def add(
        self,
        name: str,
        *texts: str,
        owner: Owner = ANN,
        status: DocumentStatus = DocumentStatus.COMPLETED,
        readable: bool = True,
        reason: str | None = None,
    ) -> Document:
        """A document with these pages."""
        path = BlobPath(owner, name)
        document = Document(
            document_id=path.document_id,
            organization_id=owner.organization_id,
            user_id=owner.user_id,
            conversation_id=owner.conversation_id,
            blob_name=name,
            etag="v1",
            size=1,
            status=status,
            readable=readable,
            reason=reason,
            pages=len(texts),
        )
        self.documents[document.document_id] = document
        self.pages[document.document_id] = [
            Page(number=number, text=text, label=f"Part {number}") for number, text in enumerate(texts, 1)
        ]
        return document

    async def page(
        self,
        accessible: Accessible,
        *,
        after: str = "",
        limit: int,
        name: str = "",
        status: DocumentStatus | None = None,
    ) -> DocumentsPage:
        async def read(portion: Portion, behind: str, most: int) -> list[Document]:
            here = [
                each
                for each in self.documents.values()
                if accessible.origin(each) is portion.place and each.document_id > behind
            ]
            chosen = [each for each in here if name in each.blob_name and status in (None, each.status)]
            return sorted(chosen, key=lambda each: each.document_id)[:most]

        return await read_page(accessible, after, limit, read)

    async def find_accessible(self, accessible: Accessible, document_ids: Sequence[str]) -> list[Document]:
        known = [self.documents[key] for key in document_ids if key in self.documents]
        return [each for each in known if accessible.holds(each)]

    async def count(self, accessible: Accessible) -> list[PlaceCount]:
        found = [
            (
                portion.place,
                [each for each in self.documents.values() if accessible.origin(each) is portion.place],
            )
            for portion in accessible.portions
        ]
        done = DocumentStatus.COMPLETED
        return [
            PlaceCount(place, len(each), sum(d.readable for d in each), sum(d.status is done for d in each))
            for place, each in found
        ]

    async def readable(self, document: Document, progress: Progress | None = None) -> Document:
        if document.status is DocumentStatus.FAILED:
            return document
        return document.model_copy(update={"readable": True})

    async def text(self, document: Document, numbers: Sequence[int] | None = None) -> list[Page]:
        pages = self.pages[document.document_id]
        return [page for page in pages if numbers is None or page.number in numbers]


class Analyses(AnalysisStore):
    """The SQLite store, with a short way to fill it."""

    async def analysed(
        self,
        document: Document,
        *pages: PageAnalysis,
        etag: str = "v1",
        method: str = "a-model",
        note: str = "",
    ) -> None:
        """Store a finished analysis of the document."""
        analysis = DocumentAnalysis(
            document_id=document.document_id,
            etag=etag,
            status=AnalysisStatus.DONE,
            method=method,
            note=note,
            summary="It is about the quay.",
            detailed_summary="Page 1: the quay.",
        )
        await self.save(analysis)
        await self.save_pages(analysis, pages)


async def store_model_analysis(store: AnalysisStore, document: Document, page: PageAnalysis) -> None:
    """Store a finished analysis of one page as if a model had made it."""
    analysis = DocumentAnalysis(
        document_id=document.document_id, etag=document.etag, status=AnalysisStatus.DONE, method="a-model"
    )
    await store.save(analysis)
    await store.save_pages(analysis, [page])


class WordRetriever:
    """Scores passages by how many words of the query they hold. `asked` are the scopes of all searches."""

    def __init__(self, library: FakeLibrary) -> None:
        self._library = library
        self.asked: list[list[str]] = []

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        self.asked.append(list(document_ids))
        words = query.lower().split()
        passages = [p for key in document_ids for p in split_pages(key, self._library.pages[key])]
        hits = [Hit(passage=p, score=sum(word in p.text.lower() for word in words)) for p in passages]
        found = sorted((hit for hit in hits if hit.score), key=lambda hit: -hit.score)[:top_k]
        return Retrieval(hits=found, steps=[RetrievalStep(method="lexical", hits=len(found))])

    async def search_places(self, query: str, accessible: Accessible, top_k: int) -> Retrieval:
        documents = self._library.documents.values()
        ids = [each.document_id for each in documents if accessible.holds(each)]
        return await self.search(query, ids, top_k)


def scope_of(*documents: Document, owner: Owner = ANN) -> Scope:
    """A scope of `owner` that names these documents, also of other owners."""
    return Scope.of_session(owner, list(documents))
