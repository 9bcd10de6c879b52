"""The vectors of passages in SQLite, one row per document; a search compares all of its scope."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from orc_core.documents.ports import Neighbour
from orc_core.infra.sqlite import IN_LIST, Database

# numpy is imported on first use, so that a process without an embedder does not load it.
if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Matrix = NDArray[numpy.float32]

# Not WITHOUT ROWID: with rows as long as these, a search took ten times as long.
SCHEMA = """
CREATE TABLE IF NOT EXISTS passage_vectors (
    document_id TEXT PRIMARY KEY,
    embedder TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    vectors BLOB NOT NULL
)
"""
_STORED = "<f4"
_IN_SCOPE = f" FROM passage_vectors WHERE document_id {IN_LIST}"
_DELETE = "DELETE FROM passage_vectors WHERE document_id = ?"
_IS_OF_EMBEDDER = "SELECT 1 FROM passage_vectors WHERE document_id = ? AND embedder = ?"
_COLUMNS = "embedder, dimension, vectors"
_COPY = f"INSERT INTO passage_vectors SELECT ?, {_COLUMNS} FROM passage_vectors WHERE document_id = ?"

log = logging.getLogger(__name__)


class SqliteVectorIndex:
    """A VectorIndex with one row per document; equal similarities come in reading order.

    Vectors of another embedder or dimension are kept, but never compared: their documents count as
    having none.
    """

    def __init__(self, database: Database, embedder: str = "") -> None:
        self._database = database
        self._embedder = embedder

    async def save(self, document_id: str, vectors: Sequence[Sequence[float]]) -> None:
        """Replace a document's vectors; raises ValueError if they differ in length or are not finite."""
        if not vectors:
            await self.delete(document_id)
            return
        matrix = await asyncio.to_thread(_unit_rows, vectors)
        row = (document_id, self._embedder, matrix.shape[1], matrix.astype(_STORED).tobytes())
        await self._database.execute(("REPLACE INTO passage_vectors VALUES (?, ?, ?, ?)", row))

    async def copy(self, source_id: str, target_id: str) -> bool:
        if source_id != target_id:
            await self._database.execute((_DELETE, (target_id,)), (_COPY, (target_id, source_id)))
        return bool(await self._database.rows(_IS_OF_EMBEDDER, (target_id, self._embedder)))

    async def nearest(
        self, vector: Sequence[float], document_ids: Sequence[str], top_k: int
    ) -> list[Neighbour]:
        if not document_ids or top_k < 1:
            return []
        scope = json.dumps(list(document_ids))
        return await self._database.read(
            lambda connection: _nearest(connection, self._embedder, vector, scope, top_k)
        )

    async def delete(self, document_id: str) -> None:
        await self._database.execute((_DELETE, (document_id,)))


def _nearest(
    connection: sqlite3.Connection, embedder: str, vector: Sequence[float], scope: str, top_k: int
) -> list[Neighbour]:
    import numpy

    (wanted,) = _unit_rows([vector])
    rows = connection.execute(
        f"SELECT document_id, vectors{_IN_SCOPE} AND embedder = ? AND dimension = ? ORDER BY document_id",
        (scope, embedder, len(vector)),
    )
    # One document at a time: a wide scope is gigabytes of vectors, but only megabytes of similarities.
    compared = [
        (row["document_id"], numpy.frombuffer(row["vectors"], _STORED).reshape(-1, len(vector)) @ wanted)
        for row in rows
    ]
    (stored,) = connection.execute(f"SELECT count(*){_IN_SCOPE}", (scope,)).fetchone()
    if ignored := stored - len(compared):
        log.warning("vectors of another embedder or dimension are ignored documents=%d", ignored)
    if not compared:
        return []
    similarities = numpy.concatenate([similarity for _, similarity in compared])
    ends = numpy.cumsum([len(similarity) for _, similarity in compared])
    found = []
    for place in numpy.argsort(-similarities, kind="stable")[:top_k]:
        document = int(numpy.searchsorted(ends, place, side="right"))
        ordinal = int(place - (ends[document - 1] if document else 0))
        found.append(Neighbour(compared[document][0], ordinal, float(similarities[place])))
    return found


def _unit_rows(vectors: Sequence[Sequence[float]]) -> "Matrix":
    """The vectors as rows of length one, so that a product is a cosine; zeros stay zeros."""
    import numpy

    matrix = numpy.asarray(vectors, numpy.float64)
    if matrix.ndim != 2 or not numpy.isfinite(matrix).all():
        raise ValueError("vectors must be of one length and finite")
    lengths = numpy.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / numpy.where(lengths == 0, 1, lengths)).astype(numpy.float32)
