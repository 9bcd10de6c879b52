"""Stores page analyses: a document is a partition, its analysis an item, each page's another."""

import asyncio
import json
import uuid
from collections.abc import Sequence
from functools import partial

from orc_core.analysis.models import DocumentAnalysis, PageAnalysis
from orc_core.infra.items import (
    MOST_CHANGES,
    Change,
    Item,
    Items,
    Raced,
    Where,
    delete,
    equal,
    over,
    remove,
    unraced,
    upsert,
)
from orc_core.infra.slices import slices

ANALYSIS = "analysis"
MOST_SINGLE_READS = 8
IDS_PER_QUERY = 500
BATCH_BYTES = 500_000
"""A quarter of what one batch may have: a write of more uses up a container's throughput for seconds."""
PIECE_CHARACTERS = 24_000
"""Of an overview in one item, so that items stay below 100 KB in every script."""

_PAGES = Where("id", "starts", "page:")
_WRITE, _BATCH, _PIECES = "write", "batch", "pieces"

_Version = tuple[str, str]
"""The ETag of the bytes and the method that analysed them."""


class AnalysisStore:
    """Items `analysis`, `page:{number}` and `overview:{write}:{n}` in the partition [document].

    The analysis item names the batch that has changed it last, so that a repeated batch knows its own, and
    the write that made it: a detailed summary too long for it goes on in pieces of that same write. Whatever
    else is written depends on its version; if one batch cannot take it all, it comes last.
    """

    def __init__(self, items: Items) -> None:
        self._items = items

    async def save(self, analysis: DocumentAnalysis) -> None:
        """Insert or replace the document's analysis; its pages stay as they are."""
        await self._store(analysis, [], None)

    async def save_pages(self, analysis: DocumentAnalysis, analyses: Sequence[PageAnalysis]) -> bool:
        """Insert or replace the analyses of these pages together with the document's own, in one step.

        Stores nothing and returns False if the stored analysis is gone or has another etag or method.
        """
        of_document = {"document_id": analysis.document_id}
        pages = [
            {"id": _page_key(each.page), **of_document, **each.model_dump(mode="json")} for each in analyses
        ]
        return await self._store(analysis, pages, (analysis.etag, analysis.method))

    async def get(self, document_ids: Sequence[str]) -> dict[str, DocumentAnalysis]:
        """The analyses of these documents by id; documents without one are left out."""
        wanted, heads = list(dict.fromkeys(document_ids)), list[Item]()
        if len(wanted) <= MOST_SINGLE_READS:
            found = await asyncio.gather(*map(self._head, wanted))
            heads = [head for head in found if head is not None]
        else:
            for some in slices(wanted, IDS_PER_QUERY):
                among = Where("document_id", "in", some)
                heads += await self._items.query([], equal(id=ANALYSIS), among)
        analyses = await asyncio.gather(*map(self._whole, heads))
        return {analysis.document_id: analysis for analysis in analyses if analysis is not None}

    async def pages(self, document_id: str, numbers: Sequence[int] | None = None) -> list[PageAnalysis]:
        """The analyses of the pages with these numbers (all: None), in order; absent ones are left out."""
        if numbers is None:
            found = await self._items.query([document_id], _PAGES)
        else:
            found = await self._items.read_some([document_id], [_page_key(each) for each in numbers])
        return sorted(map(PageAnalysis.model_validate, found), key=lambda page: page.page)

    async def copy(self, source_id: str, target: DocumentAnalysis) -> None:
        """Replace the target's analysis by `target`, and its pages by those of the source document."""
        document_id = target.document_id
        if source_id == document_id:
            await self.save(target)
            return
        found = await self._items.query([source_id], _PAGES)
        await self.delete(document_id)
        pages = [{**_without_system_fields(item), "document_id": document_id} for item in found]
        await self._store(target, pages, None)

    async def delete(self, document_id: str) -> None:
        """Remove the analysis of a document and of its pages."""

        async def work() -> None:
            # Until none is found: pages may be added before the analysis item is deleted.
            while found := await self._items.query([document_id], fields=["id"]):
                # The analysis item comes first: without it, no process adds a page.
                for some in slices(sorted(item["id"] for item in found), MOST_CHANGES):
                    await self._items.write([document_id], *map(delete, some))

        await unraced(work)

    async def _whole(self, head: Item) -> DocumentAnalysis | None:
        """The analysis with this item; if it was replaced meanwhile, the one that is there now."""
        document_id, found = head["document_id"], [head]

        async def work() -> DocumentAnalysis | None:
            head = found.pop() if found else await self._head(document_id)
            if head is None:
                return None
            pieces = await self._items.read_some([document_id], _piece_keys(head)) if head[_PIECES] else []
            if len(pieces) < head[_PIECES]:
                raise Raced
            texts = {piece["id"]: piece["text"] for piece in pieces}
            detailed = "".join([head["detailed_summary"], *(texts[key] for key in _piece_keys(head))])
            return DocumentAnalysis.model_validate({**head, "detailed_summary": detailed})

        return await unraced(work)

    async def _store(
        self, analysis: DocumentAnalysis, pages: Sequence[Item], version: _Version | None
    ) -> bool:
        """The analysis item in the last batch. Earlier batches change only its ETag."""
        head, *pieces = _items(analysis)
        *earlier, last = _batches([upsert(item) for item in (*pieces, *pages)])
        write = partial(self._write, analysis.document_id, version)
        for operations in earlier:
            if not await write(None, uuid.uuid4().hex, operations):
                return False
        return await write(head, head[_BATCH], last)

    async def _write(
        self,
        document_id: str,
        version: _Version | None,
        head: Item | None,
        mark: str,
        operations: Sequence[Change],
    ) -> bool:
        """One batch, which is named `mark`; False if the stored analysis has gone or has another version."""
        replaced = list[str]()

        async def work() -> bool:
            stored = await self._head(document_id)
            if stored is not None and stored[_BATCH] == mark:
                return True
            if version is not None and (stored is None or (stored["etag"], stored["method"]) != version):
                return False
            # Replace the stored analysis item by the new one, or for None by itself.
            item = head or (stored and _without_system_fields(stored))
            await self._items.write(
                [document_id], *([] if item is None else [over(stored, {**item, _BATCH: mark})]), *operations
            )
            if head is not None and stored is not None:
                replaced.extend(_piece_keys(stored))
            return True

        async def left() -> list[Item]:
            return [{"id": item["id"]} for item in await self._items.read_some([document_id], replaced)]

        is_written = await unraced(work)
        if replaced:
            # A process that is killed before leaves pieces that nothing refers to.
            await remove(self._items, [document_id], left)
        return is_written

    async def _head(self, document_id: str) -> Item | None:
        return await self._items.read([document_id], ANALYSIS)


def _items(analysis: DocumentAnalysis) -> list[Item]:
    """The analysis item, and the pieces that the rest of its detailed summary takes."""
    document_id, text, write = analysis.document_id, analysis.detailed_summary, uuid.uuid4().hex
    rest = [text[at : at + PIECE_CHARACTERS] for at in range(PIECE_CHARACTERS, len(text), PIECE_CHARACTERS)]
    head = {
        "id": ANALYSIS,
        **analysis.model_dump(mode="json"),
        "detailed_summary": text[:PIECE_CHARACTERS],
        _PIECES: len(rest),
        _WRITE: write,
        _BATCH: write,
    }
    pieces = zip(_piece_keys(head), rest, strict=True)
    return [head, *({"id": key, "document_id": document_id, "text": piece} for key, piece in pieces)]


def _piece_keys(head: Item) -> list[str]:
    return [f"overview:{head[_WRITE]}:{number}" for number in range(head[_PIECES])]


def _page_key(number: int) -> str:
    return f"page:{number}"


def _without_system_fields(item: Item) -> Item:
    return {name: value for name, value in item.items() if not name.startswith("_")}


def _batches(operations: Sequence[Change]) -> list[list[Change]]:
    """At least one batch, each with space for the analysis item."""
    batches: list[list[Change]] = [[]]
    spent = 0
    for operation in operations:
        size = len(json.dumps(operation.item))
        if len(batches[-1]) == MOST_CHANGES - 1 or (batches[-1] and spent + size > BATCH_BYTES):
            batches.append([])
            spent = 0
        batches[-1].append(operation)
        spent += size
    return batches
