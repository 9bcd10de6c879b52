"""Searches documents that can be read, but not searched, beside those that can: none is out of reach."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.documents.passages import split_pages
from core.documents.ports import PageStore, PassageIndex, Retriever
from core.errors import DependencyDown
from core.models import Hit, Page, Retrieval, RetrievalStep
from core.search.hybrid import fuse_hits
from core.storage.sqlite.passages import search_in_memory

NOTE = "{} of {} documents are not indexed yet; their text was read through."
DOWN_NOTE = "The search does not answer ({}); the text of the documents was read through instead."

log = logging.getLogger(__name__)


class WholeScopeRetriever:
    """A Retriever that leaves out no document whose pages are stored, and works while the search is down."""

    def __init__(self, retriever: Retriever, index: PassageIndex, pages: PageStore) -> None:
        self._retriever = retriever
        self._index = index
        self._pages = pages
        # One at a time, and in no thread that others wait for: a long text takes seconds and much memory.
        self._turn = asyncio.Semaphore(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-through")

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not.

        Raises DependencyDown only where the pages cannot be read either.
        """
        scope = list(dict.fromkeys(document_ids))
        try:
            known = await self._index.indexed(scope)
            found = await self._retriever.search(query, [key for key in scope if key in known], top_k)
        except DependencyDown as exc:
            log.warning("the search does not answer error=%s documents=%d", exc.code, len(scope))
            return await self._without_search(query, scope, top_k, exc.code)
        unindexed = [key for key in scope if key not in known]
        if not unindexed:
            return found
        read = await self._read_through(query, unindexed, top_k)
        note = NOTE.format(len(unindexed), len(scope))
        step = RetrievalStep(method="lexical", hits=len(read), note=note)
        hits = fuse_hits(found.hits, read) if found.hits else read
        return Retrieval(hits=hits[:top_k], steps=[*found.steps, step])

    async def _without_search(self, query: str, scope: list[str], top_k: int, code: str) -> Retrieval:
        read = await self._read_through(query, scope, top_k)
        step = RetrievalStep(method="lexical", hits=len(read), note=DOWN_NOTE.format(code))
        return Retrieval(hits=read, steps=[step])

    async def _read_through(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        async with self._turn:
            pages = {document_id: await self._pages.get(document_id) for document_id in document_ids}
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _split_and_search, query, pages, top_k)


def _split_and_search(query: str, pages: Mapping[str, Sequence[Page]], top_k: int) -> list[Hit]:
    passages = {document_id: split_pages(document_id, texts) for document_id, texts in pages.items()}
    return search_in_memory(query, passages, top_k)
