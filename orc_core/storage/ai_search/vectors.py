"""The vectors of passages in Azure AI Search, in the items of the passages: one query searches both."""

import asyncio
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orc_core.documents.ports import Neighbour
from orc_core.storage.ai_search import index
from orc_core.storage.ai_search.client import (
    KEY,
    PAGE,
    SCORE,
    Row,
    Search,
    both,
    changed,
    equal,
    is_plain,
    merged,
)
from orc_core.storage.unit_vectors import Unit, unit_vector, unit_vectors

VECTORS_PER_PAGE = 50
"""About 900 KB of JSON, for vectors of 1,536 numbers."""

Numbered = tuple[int, Unit | None]

log = logging.getLogger(__name__)


class AzureVectorIndex:
    """Vectors by document; implements the VectorIndex port. For their visibility see AzurePassageIndex.

    Each embedder and dimension has a separate field: others are kept but never compared. A vector
    without a direction is kept as none at all. Vectors may come before the passages or after them, and go
    with them.
    """

    def __init__(self, search: Search, embedder: str = "") -> None:
        self._search = search
        self._embedder = embedder

    async def save(self, document_id: str, vectors: Sequence[Sequence[float]]) -> None:
        """Replace a document's vectors; ValueError if they differ in length or are not finite.

        Raises DependencyMisconfigured if the index was not made for vectors of this embedder.
        """
        units = await asyncio.to_thread(unit_vectors, vectors)
        await self.delete(document_id)
        if units:
            field = index.Embedding(self._embedder, len(vectors[0])).field
            mark = index.Mark(uuid.uuid4().hex, len(units), vector_field=field)
            await self._write(document_id, mark, enumerate(units))
            await index.set_mark(self._search, document_id, index.VECTORS, mark)

    async def copy(self, source_id: str, target_id: str) -> bool:
        """Replace the target's vectors by the source's, of any embedder; by none if it has none."""
        mark = (await index.read_marks(self._search, [source_id])).vectors.get(source_id)
        is_usable = mark is not None and index.is_of(self._embedder, mark.vector_field)
        if source_id == target_id:
            return is_usable
        await self.delete(target_id)
        if mark is None:
            return False
        copied = mark._replace(version=uuid.uuid4().hex)
        within = index.marked_as({source_id: mark}, index.VECTORS)
        fields = ["ordinal", mark.vector_field]
        for start in range(0, mark.size, VECTORS_PER_PAGE):
            page = both(within, f"ordinal ge {start} and ordinal lt {start + VECTORS_PER_PAGE}")
            rows = await self._search.query(page, select=fields, top=VECTORS_PER_PAGE)
            units = [(row["ordinal"], row[mark.vector_field] or None) for row in rows]
            await self._write(target_id, copied, units)
        await index.set_mark(self._search, target_id, index.VECTORS, copied)
        return is_usable

    async def nearest(
        self, vector: Sequence[float], document_ids: Sequence[str], top_k: int
    ) -> list[Neighbour]:
        """The passages with the highest cosine similarity, best first; equal ones in reading order.

        Which of equal ones are left out at the end is the service's choice.
        """
        unit = unit_vector(vector)
        if not document_ids or top_k < 1 or unit is None:
            return []
        field = index.Embedding(self._embedder, len(unit)).field
        marks = in_field((await index.read_marks(self._search, document_ids)).vectors, field)
        if not marks:
            return []
        rows = await self._search.query(
            index.marked_as(marks, index.VECTORS),
            **by_vector(field, unit, min(top_k, PAGE)),
            select=["document_id", "ordinal"],
            top=min(top_k, PAGE),
        )
        found = [Neighbour(row["document_id"], row["ordinal"], similarity(row)) for row in rows]
        return sorted(found, key=lambda near: (-near.similarity, near.document_id, near.ordinal))

    async def delete(self, document_id: str) -> None:
        """Remove a document's vectors, of any embedder; an absent document is no error."""
        if not is_plain(document_id):
            return
        await index.remove_marks(self._search, document_id, index.VECTORS)
        # No item is deleted: a replica that is behind may show an item without the text that it has now.
        filled = "vector_version ne null"
        within = both(equal("document_id", document_id), equal("part", index.PASSAGE), filled)
        emptied = {index.VERSION[index.VECTORS]: None, "vector_field": None}
        await self._search.clear(
            within,
            lambda row: changed({KEY: row[KEY], **emptied, row["vector_field"]: None}),
            [KEY, "vector_field"],
        )

    async def _write(self, document_id: str, mark: index.Mark, units: Iterable[Numbered]) -> None:
        common = {
            "document_id": document_id,
            "part": index.PASSAGE,
            index.VERSION[index.VECTORS]: mark.version,
            "vector_field": mark.vector_field,
        }
        await self._search.write(
            [
                merged({KEY: index.key_of(document_id, i), **common, "ordinal": i, mark.vector_field: unit})
                for i, unit in units
            ]
        )


def by_vector(field: str, unit: Unit, count: int) -> dict[str, Any]:
    """The options of a query for the items closest to a vector, compared after the filter."""
    query = {"kind": "vector", "vector": unit, "k": count, "fields": field, "exhaustive": True}
    return {"vectorQueries": [query], "vectorFilterMode": "preFilter"}


def in_field(marks: Mapping[str, index.Mark], field: str) -> dict[str, index.Mark]:
    """The marks of vectors in this field, which alone compare with others in it."""
    comparable = {key: mark for key, mark in marks.items() if mark.vector_field == field}
    if count := len(marks) - len(comparable):
        log.warning("vectors of another embedder or dimension are passed over documents=%d", count)
    return comparable


def similarity(row: Row) -> float:
    """The cosine of a row that a vector alone has found: the service returns 1 / (2 - cosine)."""
    return 2 - 1 / float(row[SCORE])
