"""Page analyses in Cosmos DB: a document is a partition, its analysis an item, each page's another."""

import asyncio
import json
import uuid
from collections.abc import Sequence
from functools import partial

from orc_core.analysis.models import DocumentAnalysis, PageAnalysis
from orc_core.infra.slices import slices
from orc_core.storage.cosmos import client as cosmos
from orc_core.storage.cosmos.catalog import read_some

ANALYSIS = "analysis"
OPERATIONS_PER_BATCH = 100
BATCH_BYTES = 500_000
"""A quarter of what one batch may have: a write of more uses up a container's throughput for seconds."""
PIECE_CHARACTERS = 24_000
"""Of an overview in one item, so that items stay below 100 KB in every script."""

_PAGES = "SELECT * FROM c WHERE STARTSWITH(c.id, 'page:')"
_IDS = "SELECT c.id FROM c"
_WRITE, _BATCH, _PIECES = "write", "batch", "pieces"

_Version = tuple[str, str]
"""The ETag of the bytes and the method that analysed them."""


class CosmosAnalysisStore:
    """Items `analysis`, `page:{number}` and `overview:{write}:{n}` in the partition [document].

    The analysis item names the batch that has changed it last, so that a repeated batch knows its own, and
    the write that made it: a detailed summary too long for it goes on in pieces of that same write. Whatever
    else is written depends on its version; if one batch cannot take it all, it comes last.
    """

    def __init__(self, container: cosmos.Container) -> None:
        self._container = container

    async def save(self, analysis: DocumentAnalysis) -> None:
        await self._store(analysis, [], None)

    async def save_pages(self, analysis: DocumentAnalysis, analyses: Sequence[PageAnalysis]) -> bool:
        of_document = {"document_id": analysis.document_id}
        pages = [
            {"id": _page_key(each.page), **of_document, **each.model_dump(mode="json")} for each in analyses
        ]
        return await self._store(analysis, pages, (analysis.etag, analysis.method))

    async def get(self, document_ids: Sequence[str]) -> dict[str, DocumentAnalysis]:
        wanted = list(dict.fromkeys(document_ids))
        found = await asyncio.gather(*(self._get(document_id) for document_id in wanted))
        return {analysis.document_id: analysis for analysis in found if analysis is not None}

    async def pages(self, document_id: str, numbers: Sequence[int] | None = None) -> list[PageAnalysis]:
        if numbers is None:
            found = await self._container.query(_PAGES, {}, [document_id])
        else:
            found = await read_some(self._container, [document_id], [_page_key(each) for each in numbers])
        return sorted(map(PageAnalysis.model_validate, found), key=lambda page: page.page)

    async def copy(self, source_id: str, target: DocumentAnalysis) -> None:
        document_id = target.document_id
        if source_id == document_id:
            await self.save(target)
            return
        found = await self._container.query(_PAGES, {}, [source_id])
        head, *others = _items(target)
        others += [{**_without_system_fields(item), "document_id": document_id} for item in found]

        await self._take_place(head, others)

    @cosmos.repeated_if_raced
    async def delete(self, document_id: str) -> None:
        # Until none is found: pages may be added before the analysis item is deleted.
        while ids := await self._ids(document_id):
            # The analysis item comes first: without it, no process adds a page.
            for some in slices(sorted(ids), OPERATIONS_PER_BATCH):
                await self._container.batch([cosmos.delete(each) for each in some], [document_id])

    @cosmos.repeated_if_raced
    async def _get(self, document_id: str) -> DocumentAnalysis | None:
        head = await self._head(document_id)
        if head is None:
            return None
        pieces = await read_some(self._container, [document_id], _piece_keys(head))
        if len(pieces) < head[_PIECES]:
            raise cosmos.Raced
        texts = {piece["id"]: piece["text"] for piece in pieces}
        detailed = "".join([head["detailed_summary"], *(texts[key] for key in _piece_keys(head))])
        return DocumentAnalysis.model_validate({**head, "detailed_summary": detailed})

    async def _store(
        self, analysis: DocumentAnalysis, pages: Sequence[cosmos.Item], version: _Version | None
    ) -> bool:
        """The analysis item in the last batch. Earlier batches change only its ETag."""
        head, *pieces = _items(analysis)
        *earlier, last = _batches([cosmos.upsert(item) for item in (*pieces, *pages)])
        write = partial(self._write, analysis.document_id, version)
        for operations in earlier:
            if not await write(None, uuid.uuid4().hex, operations):
                return False
        return await write(head, head[_BATCH], last)

    @cosmos.repeated_if_raced
    async def _write(
        self,
        document_id: str,
        version: _Version | None,
        head: cosmos.Item | None,
        mark: str,
        operations: Sequence[cosmos.Operation],
    ) -> bool:
        """One batch, which is named `mark`; False if the stored analysis has gone or has another version."""
        stored = await self._head(document_id)
        if stored is not None and stored[_BATCH] == mark:
            return True
        if version is not None and (stored is None or (stored["etag"], stored["method"]) != version):
            return False
        await self._container.batch([*_over(stored, head, mark), *operations], [document_id])
        if head is not None and stored is not None:
            # A process that is killed before leaves pieces that nothing refers to.
            for key in _piece_keys(stored):
                await self._container.delete(key, [document_id])
        return True

    @cosmos.repeated_if_raced
    async def _take_place(self, head: cosmos.Item, others: Sequence[cosmos.Item]) -> None:
        """Have these items instead of all that there are, unless this very write has been made."""
        partition = [head["document_id"]]
        stored = await self._head(head["document_id"])
        if stored is not None and stored[_BATCH] == head[_BATCH]:
            return
        kept = {ANALYSIS, *(item["id"] for item in others)}
        surplus = [cosmos.delete(each) for each in await self._ids(head["document_id"]) if each not in kept]
        batches = _batches([*surplus, *map(cosmos.upsert, others)])
        if len(batches) == 1:
            batches = [[*_over(stored, head, head[_BATCH]), *batches[0]]]
        else:
            removal = [] if stored is None else [[cosmos.delete(ANALYSIS, stored[cosmos.ETAG])]]
            batches = [*removal, *batches, [cosmos.create(head)]]
        for operations in batches:
            await self._container.batch(operations, partition)

    async def _head(self, document_id: str) -> cosmos.Item | None:
        return await self._container.read(ANALYSIS, [document_id])

    async def _ids(self, document_id: str) -> list[str]:
        return [item["id"] for item in await self._container.query(_IDS, {}, [document_id])]


def _items(analysis: DocumentAnalysis) -> list[cosmos.Item]:
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


def _piece_keys(head: cosmos.Item) -> list[str]:
    return [f"overview:{head[_WRITE]}:{number}" for number in range(head[_PIECES])]


def _page_key(number: int) -> str:
    return f"page:{number}"


def _over(stored: cosmos.Item | None, head: cosmos.Item | None, mark: str) -> list[cosmos.Operation]:
    """Replace the stored analysis item by the new one, or for None by itself."""
    if stored is not None:
        item = head or _without_system_fields(stored)
        return [cosmos.replace({**item, _BATCH: mark}, stored[cosmos.ETAG])]
    return [] if head is None else [cosmos.create(head)]


def _without_system_fields(item: cosmos.Item) -> cosmos.Item:
    return {name: value for name, value in item.items() if not name.startswith("_")}


def _batches(operations: Sequence[cosmos.Operation]) -> list[list[cosmos.Operation]]:
    """At least one batch, each with space for the analysis item."""
    batches: list[list[cosmos.Operation]] = [[]]
    spent = 0
    for operation in operations:
        size = len(json.dumps(operation.item))
        if len(batches[-1]) == OPERATIONS_PER_BATCH - 1 or (batches[-1] and spent + size > BATCH_BYTES):
            batches.append([])
            spent = 0
        batches[-1].append(operation)
        spent += size
    return batches
