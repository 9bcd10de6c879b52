"""Retrieval over documents of which some have no index yet: those are scanned in full.

Parts that a question names, such as page 3 or clause 4.2, are looked up before anything is searched for.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from orc_core.documents.passages import split_pages
from orc_core.documents.places import Accessible
from orc_core.documents.ports import PageStore, PassageIndex, PlaceRetriever
from orc_core.errors import DependencyDown
from orc_core.models import Hit, Page, Passage, Retrieval, RetrievalStep
from orc_core.search.hybrid import LEXICAL_THRESHOLDS, cover, followed_by, fuse_hits, search_pages
from orc_core.text.parts import Find, may_name_parts, named_parts, parts_of_file
from orc_core.text.sentences import split_pieces

log = logging.getLogger(__name__)

MOST_LOOKED_UP = 20
"""Documents in which the parts that a question names are looked up."""
AT_THE_END = 2
"""Pieces of a passage that can end with its page: the last one, or the one above a running footer."""
NAMED = "The question names these parts."
OF_FILE = "The question is about the file: this is what it says of itself."
NOTE = "{} of {} documents are not indexed yet; their text was read through."
DOWN_NOTE = "The search does not answer ({}); the text of the documents was read through instead."


class WholeScopeRetriever:
    """A Retriever that covers every document whose pages are stored, even if the index is unavailable."""

    def __init__(self, retriever: PlaceRetriever, index: PassageIndex, pages: PageStore) -> None:
        self._retriever = retriever
        self._index = index
        self._pages = pages

    async def search(self, query: str, document_ids: Sequence[str], top_k: int) -> Retrieval:
        """The best passages of exactly these documents, indexed or not; those of named parts come first.

        Raises DependencyDown only if the pages cannot be read either.
        """
        scope = list(dict.fromkeys(document_ids))
        found = await self._with_rest(query, await self._search(query, scope, top_k), top_k)
        if not may_name_parts(query) or len(scope) > MOST_LOOKED_UP or top_k < 1:
            return found
        pages = await self._read(scope)
        named, note = await asyncio.to_thread(passages_named, query, pages), NAMED
        if not named:
            named, note = passages_named(query, pages, parts_of_file), OF_FILE
        if not named:
            return found
        best = found.hits[0].score if found.hits else 1.0
        leading = [Hit(passage=passage, score=best) for passage in named[:top_k]]
        step = RetrievalStep(method="lexical", threshold=1.0, hits=len(named), served=True, note=note)
        return Retrieval(hits=followed_by(leading, found.hits)[:top_k], steps=[step, *found.steps])

    async def _search(self, query: str, scope: list[str], top_k: int) -> Retrieval:
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
        pages = await self._read(unindexed)
        read = await asyncio.to_thread(search_pages, query, pages, top_k)
        steps = [step.model_copy(update={"note": note}) for step in read.steps]
        return with_more(found, read.model_copy(update={"steps": steps}), top_k)

    async def _with_rest(self, query: str, found: Retrieval, top_k: int) -> Retrieval:
        """The results with the beginnings of pages on which a sentence goes on that has what is asked for."""
        rest: list[Passage] = []
        for passage in (hit.passage for hit in found.hits):
            cut = [piece.text for piece in split_pieces(passage.text)[-AT_THE_END:] if not piece.is_whole]
            said = [
                Hit(passage=passage.model_copy(update={"text": text, "heading": ""}), score=0) for text in cut
            ]
            if max(cover(query, said), default=0.0) < LEXICAL_THRESHOLDS[0]:
                continue
            pages = await self._pages.get(passage.document_id, [passage.page, passage.page + 1])
            if len(pages) > 1 and not pages[0].text[passage.end :].strip():
                rest += split_pages(passage.document_id, pages[1:])[:1]
        kept = found.hits[: max(top_k - len(rest), 1)]
        more = followed_by(kept, [Hit(passage=passage, score=0) for passage in rest])
        return found.model_copy(update={"hits": more[:top_k]})

    async def search_places(self, query: str, accessible: Accessible, top_k: int) -> Retrieval:
        """The best passages of indexed documents: of very many, not all are read through."""
        return await self._retriever.search_places(query, accessible, top_k)

    async def _read(self, document_ids: Sequence[str]) -> dict[str, list[Page]]:
        return {document_id: await self._pages.get(document_id) for document_id in document_ids}


def passages_named(
    query: str, pages: Mapping[str, Sequence[Page]], find: Find = named_parts
) -> list[Passage]:
    """The passages of the parts that a question names, document by document."""
    named: list[Passage] = []
    for document_id, of_document in pages.items():
        parts = find(query, of_document)
        if parts:
            passages = split_pages(document_id, of_document)
            named += (
                passage
                for part in parts
                for passage in passages
                if passage.page == of_document[part.at].number
                and passage.start < part.end
                and part.start < passage.end
            )
    return list(dict.fromkeys(named))


def with_more(found: Retrieval, more: Retrieval, top_k: int) -> Retrieval:
    """The results of two searches of different documents as one."""
    hits = fuse_hits(found.hits, more.hits) if found.hits else more.hits
    return Retrieval(hits=hits[:top_k], steps=[*found.steps, *more.steps])
