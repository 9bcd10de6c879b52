"""Gives the passages of a document their vectors, once its text can be searched by words."""

from array import array
from collections.abc import Sequence

from core.documents.ports import Embedder, VectorIndex
from core.models import Passage, Progress

GROUP = 512
"""Passages between two reports of progress; the embedder cuts them into requests of its own."""
WHAT = "Comparing the meaning of passages"


class PassageEmbedder:
    """Embeds passages and keeps their vectors. Nothing is kept of a document that fails half way."""

    def __init__(self, embedder: Embedder, vectors: VectorIndex) -> None:
        self._embedder = embedder
        self._vectors = vectors

    async def index(
        self, document_id: str, passages: Sequence[Passage], progress: Progress | None = None
    ) -> None:
        """Replace the document's vectors. Raises what the embedder raises; then the document has none."""
        # The old ones would lead to passages that are not the ones they were made from.
        await self._vectors.delete(document_id)
        vectors: list[array[float]] = []
        for start in range(0, len(passages), GROUP):
            made = await self._embedder.embed_passages(
                [text_to_embed(p) for p in passages[start : start + GROUP]]
            )
            # Four bytes a number instead of 32 as a list: a long document has millions.
            vectors += [array("f", vector) for vector in made]
            if progress is not None:
                progress(len(vectors), len(passages), WHAT)
        await self._vectors.save(document_id, vectors)


def text_to_embed(passage: Passage) -> str:
    """What a passage says with the headings above it, which say what it is about."""
    return f"{passage.heading}\n\n{passage.text}" if passage.heading else passage.text
