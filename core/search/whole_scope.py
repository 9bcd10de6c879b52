"""Retrieval over documents of which some have no index yet: those are scanned in full."""

import asyncio
import logging
from collections.abc import Sequence

from core.documents.places import Accessible
from core.documents.ports import PageStore, PassageIndex, PlaceRetriever
from core.errors import DependencyDown
from core.models import Retrieval
from core.search.hybrid import fuse_hits, search_pages

log = logging.getLogger(__name__)

NOTE = "{} of {} documents are not indexed yet; their text was read through."
DOWN_NOTE = "The search does not answer ({}); the text of the documents was read through instead."


class WholeScopeRetriever:
    """A Retriever that covers every document whose pages are stored, even if the index is unavailable."""

    def __init__(self, retriever: PlaceRetriever, index: PassageIndex, pages: PageStore) -> None:
        self._retriever = retriever
        self._index = index
        self._pages = pages

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not.

        Raises DependencyDown only if the pages cannot be read either.
        """
        scope = list(dict.fromkeys(document_ids))
        try:
            known = await self._index.indexed(scope)
            found = await self._retriever.search(query, [key for key in scope if key in known], top_k)
            unindexed = [key for key in scope if key not in known]
            note = NOTE.format(len(unindexed), len(scope))
        except DependencyDown as exc:
            log.warning(
                "search unavailable, scanning the full text error=%s documents=%d", exc.code, len(scope)
            )
            found, unindexed, note = Retrieval(), scope, DOWN_NOTE.format(exc.code)
        if not unindexed:
            return found
        read = await self._scan(query, unindexed, top_k)
        steps = [step.model_copy(update={"note": note}) for step in read.steps]
        return with_more(found, read.model_copy(update={"steps": steps}), top_k)

    async def search_places(self, query: str, accessible: Accessible, top_k: int) -> Retrieval:
        """The best passages of indexed documents: of very many, not all are read through."""
        return await self._retriever.search_places(query, accessible, top_k)

    async def _scan(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        pages = {document_id: await self._pages.get(document_id) for document_id in document_ids}
        return await asyncio.to_thread(search_pages, query, pages, top_k)


def with_more(found: Retrieval, more: Retrieval, top_k: int) -> Retrieval:
    """The results of two searches of different documents as one."""
    hits = fuse_hits(found.hits, more.hits) if found.hits else more.hits
    return Retrieval(hits=hits[:top_k], steps=[*found.steps, *more.steps])
