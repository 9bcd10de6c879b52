"""Searches documents that can be read already, but have not been indexed yet, beside those that have."""

import asyncio
from collections.abc import Sequence

from core.documents.models import Hit, Passage, Retrieval, RetrievalStep
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

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not."""
        scope = list(dict.fromkeys(document_ids))
        openings = await asyncio.gather(*(self._index.get(document_id, [0]) for document_id in scope))
        unindexed = [document_id for document_id, found in zip(scope, openings, strict=True) if not found]
        if not unindexed:
            return await self._retriever.search(query, scope, top_k)
        indexed = [document_id for document_id in scope if document_id not in unindexed]
        found, read = await asyncio.gather(
            self._retriever.search(query, indexed, top_k), self._read_through(query, unindexed, top_k)
        )
        note = NOTE.format(len(unindexed), len(scope))
        step = RetrievalStep(method="lexical", hits=len(read), note=note)
        hits = fuse_hits(found.hits, read) if found.hits else read
        return Retrieval(hits=hits[:top_k], steps=[*found.steps, step])

    async def _read_through(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        passages = dict(zip(document_ids, await asyncio.gather(*map(self._split, document_ids)), strict=True))
        return await asyncio.to_thread(search_in_memory, query, passages, top_k)

    async def _split(self, document_id: str) -> list[Passage]:
        pages = await self._pages.get(document_id)
        return await asyncio.to_thread(split_pages, document_id, pages)
