"""Texts of memories are embedded once; vectors too late for one turn are available in the next."""

import asyncio

import pytest

from orc.memory.recall import TextVectors
from orc_core.errors import DependencyDown, OrcError


class Embedder:
    """Vectors from the letters of a text. It may fail or be slow with passages."""

    name = "letters"

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.error: Exception | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.answered = asyncio.Event()

    async def embed_passages(self, texts: list[str]) -> list[list[float]]:
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        self.embedded += texts
        self.answered.set()
        return [[text.count("a"), text.count("b"), 0.1] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return [text.count("a"), text.count("b"), 0.1]


async def test_similarity_is_the_cosine_and_each_text_is_embedded_once() -> None:
    embedder = Embedder()
    near = TextVectors(embedder)  # type: ignore[arg-type]
    first = await near.compare("aa", ["a", "b", "ab", "a"])
    assert first[0] == first[3] > first[2] > first[1]
    assert first[0] == pytest.approx(1, abs=0.01)
    assert await near.compare("bb", ["b", "c"]) == pytest.approx([1, 0.05], abs=0.01)
    assert embedder.embedded == ["a", "b", "ab", "c"]


async def test_a_slow_embedding_is_available_in_the_next_turn() -> None:
    embedder = Embedder()
    embedder.may_answer.clear()
    near = TextVectors(embedder, seconds=0.02)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        await near.compare("a", ["a"])
    embedder.may_answer.set()
    await embedder.answered.wait()
    assert await near.compare("a", ["a"]) == pytest.approx([1])
    assert embedder.embedded == ["a"]


async def test_running_embeddings_are_cancelled_on_close() -> None:
    embedder = Embedder()
    embedder.may_answer.clear()
    near = TextVectors(embedder, seconds=0.01)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        await near.compare("a", ["a"])
    await near.close()
    assert embedder.embedded == []


async def test_an_unavailable_embedder_is_an_error() -> None:
    embedder = Embedder()
    embedder.error = DependencyDown("It is down.", dependency="model")
    with pytest.raises(DependencyDown):
        await TextVectors(embedder).compare("a", ["a"])  # type: ignore[arg-type]


async def test_the_least_recently_used_texts_are_evicted() -> None:
    embedder = Embedder()
    near = TextVectors(embedder, kept=2)  # type: ignore[arg-type]
    for texts in (["a", "b"], ["a"], ["ab"], ["a"], ["b"]):
        await near.compare("a", texts)
    assert embedder.embedded == ["a", "b", "ab", "b"]
    assert len(await near.compare("a", ["a", "b", "c", "ab"])) == 4


async def test_vectors_of_another_model_are_computed_again() -> None:
    class Longer(Embedder):
        extra: list[float] = []

        async def embed_passages(self, texts: list[str]) -> list[list[float]]:
            return [[*vector, *self.extra] for vector in await super().embed_passages(texts)]

        async def embed_query(self, text: str) -> list[float]:
            return [*await super().embed_query(text), *self.extra]

    embedder = Longer()
    near = TextVectors(embedder)  # type: ignore[arg-type]
    await near.compare("a", ["a"])
    embedder.extra = [0.0]
    with pytest.raises(OrcError, match="other vectors"):
        await near.compare("a", ["a", "b"])
    assert await near.compare("a", ["a"]) == pytest.approx([1])
