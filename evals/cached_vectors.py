"""Keeps the vectors of texts between runs: embedding thousands of passages takes minutes."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy

from orc_core.documents.ports import Embedder

FOLDER = Path(__file__).parent / "report" / "vectors"


class CachedEmbedder:
    """An Embedder that asks another one for new texts only; there is one file of vectors per text."""

    def __init__(self, embedder: Embedder, folder: Path = FOLDER) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._folder = folder / embedder.name
        self._folder.mkdir(parents=True, exist_ok=True)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if not self._path(text).is_file()]
        for text, vector in zip(new, await self._embedder.embed_passages(new) if new else [], strict=True):
            numpy.save(self._path(text), numpy.asarray(vector, numpy.float32))
        return [numpy.load(self._path(text)).tolist() for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return (await self.embed_passages([text]))[0]

    def _path(self, text: str) -> Path:
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()}.npy"
