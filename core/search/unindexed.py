"""Searches documents that can be read already, but have not been indexed yet, beside those that have."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.documents.models import Hit, Page, Retrieval, RetrievalStep
from core.documents.passages import split_pages
from core.documents.ports import PageStore, PassageIndex, Retriever
from core.search.retrieval import fuse_hits
from core.search.sqlite_passages import search_in_memory

NOTE = "{} of {} documents are not indexed yet; their text was read through."


class WholeScopeRetriever:
    """A Retriever that leaves out no document whose pages are stored."""

    def __init__(self, retriever: Retriever, index: PassageIndex, pages: PageStore) -> None:
        self._retriever = retriever
        self._index = index
        self._pages = pages
        # One at a time, and in no thread that others wait for: a long text takes seconds and much memory.
        self._turn = asyncio.Semaphore(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-through")

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not."""
        scope = list(dict.fromkeys(document_ids))
        known = await self._index.indexed(scope)
        unindexed = [document_id for document_id in scope if document_id not in known]
        if not unindexed:
            return await self._retriever.search(query, scope, top_k)
        indexed = [document_id for document_id in scope if document_id in known]
        found, read = await asyncio.gather(
            self._retriever.search(query, indexed, top_k), self._read_through(query, unindexed, top_k)
        )
        note = NOTE.format(len(unindexed), len(scope))
        step = RetrievalStep(method="lexical", hits=len(read), note=note)
        hits = fuse_hits(found.hits, read) if found.hits else read
        return Retrieval(hits=hits[:top_k], steps=[*found.steps, step])

    async def _read_through(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        async with self._turn:
            pages = {document_id: await self._pages.get(document_id) for document_id in document_ids}
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _split_and_search, query, pages, top_k)


def _split_and_search(query: str, pages: Mapping[str, Sequence[Page]], top_k: int) -> list[Hit]:
    passages = {document_id: split_pages(document_id, texts) for document_id, texts in pages.items()}
    return search_in_memory(query, passages, top_k)
