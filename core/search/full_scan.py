"""Searches the full text of documents that are not indexed yet, and of all while the index is unavailable."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.documents.passages import split_pages
from core.documents.ports import PageStore, PassageIndex, Retriever
from core.errors import DependencyDown
from core.models import Hit, Page, Passage, Retrieval, RetrievalStep
from core.search.hybrid import fuse_hits
from core.search.postings import index_passages
from core.search.query import parse_question
from core.search.ranking import rank_passages
from core.search.vocabulary import shipped_vocabularies

NOTE = "{} of {} documents are not indexed yet; their text was read through."
DOWN_NOTE = "The search does not answer ({}); the text of the documents was read through instead."

log = logging.getLogger(__name__)


class WholeScopeRetriever:
    """A Retriever that covers every document whose pages are stored, even if the index is unavailable."""

    def __init__(self, retriever: Retriever, index: PassageIndex, pages: PageStore) -> None:
        self._retriever = retriever
        self._index = index
        self._pages = pages
        # One scan at a time, in its own thread: a long text takes seconds and much memory.
        self._one_at_a_time = asyncio.Semaphore(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="full-scan")

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not.

        Raises DependencyDown only if the pages cannot be read either.
        """
        scope = list(dict.fromkeys(document_ids))
        try:
            known = await self._index.indexed(scope)
            found = await self._retriever.search(query, [key for key in scope if key in known], top_k)
        except DependencyDown as exc:
            log.warning(
                "search unavailable, scanning the full text error=%s documents=%d", exc.code, len(scope)
            )
            return await self._without_search(query, scope, top_k, exc.code)
        unindexed = [key for key in scope if key not in known]
        if not unindexed:
            return found
        read = await self._scan(query, unindexed, top_k)
        note = NOTE.format(len(unindexed), len(scope))
        step = RetrievalStep(method="lexical", hits=len(read), note=note)
        hits = fuse_hits(found.hits, read) if found.hits else read
        return Retrieval(hits=hits[:top_k], steps=[*found.steps, step])

    async def _without_search(self, query: str, scope: list[str], top_k: int, code: str) -> Retrieval:
        read = await self._scan(query, scope, top_k)
        step = RetrievalStep(method="lexical", hits=len(read), note=DOWN_NOTE.format(code))
        return Retrieval(hits=read, steps=[step])

    async def _scan(self, query: str, document_ids: Sequence[str], top_k: int) -> list[Hit]:
        async with self._one_at_a_time:
            pages = {document_id: await self._pages.get(document_id) for document_id in document_ids}
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _search_pages, query, pages, top_k)


def _search_pages(query: str, pages: Mapping[str, Sequence[Page]], top_k: int) -> list[Hit]:
    return search_in_memory(query, [split_pages(key, texts) for key, texts in sorted(pages.items())], top_k)


def search_in_memory(query: str, documents: Sequence[Sequence[Passage]], top_k: int) -> list[Hit]:
    """The best of the passages of some documents without a stored index; blocks while it builds one."""
    question = parse_question(query, shipped_vocabularies())
    matches = rank_passages(question, [index_passages("", passages) for passages in documents], top_k)
    return [Hit(passage=documents[found.document][found.passage], score=found.score) for found in matches]
