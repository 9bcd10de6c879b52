"""Embeds the passages of a document."""

from array import array
from collections.abc import Sequence

from core.documents.ports import Embedder, VectorIndex
from core.models import Passage, Progress

GROUP = 512
"""Passages between two progress reports; the embedder divides them into requests."""
WHAT = "Comparing the meaning of passages"


class PassageEmbedder:
    """Embeds passages and stores their vectors: all of a document, or none."""

    def __init__(self, embedder: Embedder, vectors: VectorIndex) -> None:
        self._embedder = embedder
        self._vectors = vectors

    async def index(
        self, document_id: str, passages: Sequence[Passage], progress: Progress | None = None
    ) -> None:
        """Replace the document's vectors. If the embedder raises an error, the document has none."""
        # The old vectors belong to passages that have been replaced.
        await self._vectors.delete(document_id)
        vectors: list[array[float]] = []
        for start in range(0, len(passages), GROUP):
            made = await self._embedder.embed_passages(
                [text_to_embed(p) for p in passages[start : start + GROUP]]
            )
            # Four bytes a number, and not 32 as in a list: a long document has millions.
            vectors += [array("f", vector) for vector in made]
            if progress is not None:
                progress(len(vectors), len(passages), WHAT)
        await self._vectors.save(document_id, vectors)


def text_to_embed(passage: Passage) -> str:
    """A passage's text with the headings above it, which give its subject."""
    return f"{passage.heading}\n\n{passage.text}" if passage.heading else passage.text
