"""Similarity of remembered texts to a question by embeddings, if an embedder is configured."""

import asyncio
import logging
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from core.documents.ports import Embedder
from core.errors import OrcError

logger = logging.getLogger(__name__)

KEPT_VECTORS = 4096
"""Vectors cached per process; 25 MB at 1,536 numbers each."""
SECONDS = 1.0
"""How long a turn waits. Embeddings that arrive later are cached for the next turns."""

Vectors: TypeAlias = "dict[str, array[float]]"


class TextVectors:
    """A TextSimilarity that caches the embedding of each text while it is used."""

    def __init__(self, embedder: Embedder, *, seconds: float = SECONDS, kept: int = KEPT_VECTORS) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._most = kept
        self._kept: OrderedDict[str, array[float]] = OrderedDict()
        self._running: set[asyncio.Task[Vectors]] = set()

    async def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text with the question."""
        known = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        async with asyncio.timeout(self._seconds):
            asked, made = await asyncio.gather(self._embedder.embed_query(question), self._made(new))
        vectors = known | made
        if any(len(vector) != len(asked) for vector in vectors.values()):
            # Vectors of the previous model cannot be compared with those of this one.
            self._kept.clear()
            raise OrcError("The embedding model gives other vectors than before.")
        self._keep(vectors)
        return _cosines(asked, [vectors[text] for text in texts])

    async def close(self) -> None:
        """Cancel embeddings that are under way."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _made(self, texts: list[str]) -> Vectors:
        if not texts:
            return {}
        task = asyncio.create_task(self._embed(texts))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def _embed(self, texts: list[str]) -> Vectors:
        made = await self._embedder.embed_passages(texts)
        vectors = {text: array("f", vector) for text, vector in zip(texts, made, strict=True)}
        self._keep(vectors)
        return vectors

    def _ended(self, task: asyncio.Task[Vectors]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("remembered texts were not embedded: %s", type(error).__name__)

    def _keep(self, vectors: Vectors) -> None:
        for text, vector in vectors.items():
            self._kept[text] = vector
            self._kept.move_to_end(text)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


def _cosines(asked: list[float], vectors: Sequence["array[float]"]) -> list[float]:
    rows, question = np.array(vectors, dtype=np.float32), np.array(asked, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(question)
    return [float(each) for each in rows @ question / np.maximum(lengths, np.finfo(np.float32).tiny)]
