"""The vectors of passages in Upstash Vector, each with its document in the metadata, which queries filter by.

A document has one more item, its mark: the version of its vectors that counts, and how many they are. A save
writes a new version, waits until queries find it, and then sets the mark. Queries name the documents and the
versions of their marks, and what they return is compared with the marks again.
See docs/decisions/search-services.md.
"""

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple

from orc_core.documents.ports import Neighbour
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.infra.slices import slices
from orc_core.storage.unit_vectors import Unit, unit_vector, unit_vectors
from orc_core.storage.upstash.client import PAGE, VECTORS, Item, UpstashVector, among, is_plain

QUERY_SECONDS = 6.5
DOCUMENTS_PER_QUERY = 50
MOST_COMPARED = 2000
"""Vectors that are read and compared here if the service returns fewer than there are."""

log = logging.getLogger(__name__)


class Mark(NamedTuple):
    """A version of a document's vectors, `stored` of them; vectors without a direction are not stored."""

    version: str
    embedder: str
    dimension: int
    stored: int


Marks = Mapping[str, Mark]


class UpstashVectorIndex:
    """Vectors by document; implements the VectorIndex port.

    Vectors of all embedders are in one index, the shorter ones filled up with zeros, which leaves their
    cosine as it is. Vectors of another embedder or dimension are kept, but never compared.
    """

    def __init__(self, index: UpstashVector, embedder: str = "") -> None:
        self._index = index
        self._embedder = embedder

    async def save(self, document_id: str, vectors: Sequence[Sequence[float]]) -> None:
        """Replace a document's vectors; ValueError if they differ in length or are not finite.

        Raises DependencyMisconfigured if they are longer than those of the index, and DependencyDown if
        queries do not find them soon; the document then has the vectors that it had.
        """
        units = await asyncio.to_thread(unit_vectors, vectors)
        if not units:
            await self.delete(document_id)
            return
        filled = [(i, await self._filled(unit)) for i, unit in enumerate(units) if unit is not None]
        await self._replace(document_id, Mark("", self._embedder, len(vectors[0]), len(filled)), filled)

    async def copy(self, source_id: str, target_id: str) -> bool:
        """Replace the target's vectors by the source's, of any embedder; by none if it has none."""
        mark = (await self._marks([source_id])).get(source_id)
        is_usable = mark is not None and mark.embedder == self._embedder
        if source_id == target_id:
            return is_usable
        if mark is None:
            await self.delete(target_id)
            return False
        found = [(item["metadata"]["ordinal"], item["vector"]) for item in await self._read(source_id, mark)]
        if len(found) != mark.stored:
            raise DependencyDown("Upstash Vector is behind. Try again shortly.", dependency=VECTORS)
        await self._replace(target_id, mark, found)
        return is_usable

    async def nearest(
        self, vector: Sequence[float], document_ids: Sequence[str], top_k: int
    ) -> list[Neighbour]:
        """The passages with the highest cosine similarity, best first; equal ones in reading order.

        The service compares approximately. It may return fewer vectors than a filter fits; those of a scope
        of up to MOST_COMPARED are then compared here. Raises DependencyDown after QUERY_SECONDS at most.
        """
        unit = unit_vector(vector)
        if unit is None or top_k < 1:
            return []
        try:
            async with asyncio.timeout(QUERY_SECONDS):
                found = await self._nearest(unit, await self._marks(document_ids), min(top_k, PAGE))
        except TimeoutError as exc:
            message = "Upstash Vector did not answer in time. Try again shortly."
            raise DependencyDown(message, dependency=VECTORS) from exc
        found.sort(key=lambda near: (-near.similarity, near.document_id, near.ordinal))
        return found[:top_k]

    async def delete(self, document_id: str) -> None:
        """Remove a document's vectors, of any embedder; an absent one is no error."""
        if not is_plain(document_id):
            return
        await self._index.delete(ids=[_mark_id(document_id)])
        await self._index.delete(prefix=f"{document_id}/")

    async def _nearest(self, unit: Unit, known: Marks, limit: int) -> list[Neighbour]:
        of_one_kind = (self._embedder, len(unit))
        marks = {key: mark for key, mark in known.items() if (mark.embedder, mark.dimension) == of_one_kind}
        if count := len(known) - len(marks):
            log.warning("vectors of another embedder or dimension are ignored documents=%d", count)
        stored = sum(mark.stored for mark in marks.values())
        if not stored:
            return []
        vector = await self._filled(unit)
        queries = []
        for some in slices(sorted(marks), DOCUMENTS_PER_QUERY):
            versions = among("version", (marks[key].version for key in some))
            within = f"{among('file_id', some)} AND {versions}"
            queries.append({"vector": vector, "topK": limit, "filter": within})
        answers = await self._index.query(queries)
        found = [
            Neighbour(item["metadata"]["file_id"], item["metadata"]["ordinal"], 2 * item["score"] - 1)
            for items in answers
            for item in items
            if _is_current(item, marks)
        ]
        if len(found) >= min(limit, stored):
            return found
        if stored <= MOST_COMPARED:
            return await self._compare(vector, marks)
        log.warning("the vector index returned too few found=%d stored=%d", len(found), stored)
        if not found:
            raise DependencyDown("Upstash Vector finds nothing. Try again shortly.", dependency=VECTORS)
        return found

    async def _compare(self, vector: Unit, marks: Marks) -> list[Neighbour]:
        """Every vector of these documents, with its cosine computed here."""
        found = []
        for document_id, mark in marks.items():
            for item in await self._read(document_id, mark):
                cosine = sum(map(mul, vector, item["vector"]))
                found.append(Neighbour(document_id, item["metadata"]["ordinal"], cosine))
        return found

    async def _replace(self, document_id: str, like: Mark, vectors: Sequence[tuple[int, Unit]]) -> None:
        mark = like._replace(version=uuid.uuid4().hex)
        items: list[Item] = []
        for ordinal, unit in vectors:
            metadata = {"file_id": document_id, "version": mark.version, "ordinal": ordinal}
            items.append(
                {"id": f"{_prefix(document_id, mark)}{ordinal}", "vector": unit, "metadata": metadata}
            )
        earlier = (await self._marks([document_id])).get(document_id)
        await self._index.upsert(items)
        if items:
            last = f"version = '{mark.version}' AND ordinal = {items[-1]['metadata']['ordinal']}"
            await self._index.wait_until_found(items[-1], last)
        where = {"id": _mark_id(document_id), "vector": await self._filled([1.0])}
        await self._index.upsert([{**where, "metadata": {"mark_of": document_id, **mark._asdict()}}])
        if earlier is not None:
            await self._index.delete(prefix=_prefix(document_id, earlier))

    async def _read(self, document_id: str, mark: Mark) -> list[Item]:
        return [item async for page in self._index.scan(_prefix(document_id, mark)) for item in page]

    async def _marks(self, document_ids: Sequence[str]) -> dict[str, Mark]:
        """The marks of those of these documents that have vectors."""
        plain = [key for key in dict.fromkeys(document_ids) if is_plain(key)]
        found = [item["metadata"] for item in await self._index.fetch([_mark_id(key) for key in plain])]
        return {each["mark_of"]: Mark(*(each[name] for name in Mark._fields)) for each in found}

    async def _filled(self, unit: Unit) -> Unit:
        """The vector at the length of those of the index."""
        missing = await self._index.dimension() - len(unit)
        if missing < 0:
            sizes = f"{len(unit) + missing} numbers, not {len(unit)}"
            message = f"The index in Upstash Vector takes vectors of {sizes}."
            raise DependencyMisconfigured(message, dependency=VECTORS)
        return [*unit, *[0.0] * missing]


def _is_current(item: Item, marks: Marks) -> bool:
    # The scope holds even if the service did not apply the filter.
    mark = marks.get(item["metadata"].get("file_id"))
    return mark is not None and mark.version == item["metadata"]["version"]


def _prefix(document_id: str, mark: Mark) -> str:
    return f"{document_id}/{mark.version}/"


def _mark_id(document_id: str) -> str:
    # Not below the prefix of any document, which a deletion removes.
    return f"{document_id}@mark"
