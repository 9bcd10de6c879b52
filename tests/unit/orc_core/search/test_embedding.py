"""A document has the vectors of all its passages, or none."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from devkit.doubles.bag_of_words import bag_of_words
from orc_core.errors import DependencyDown
from orc_core.infra.sqlite import Database
from orc_core.models import Passage
from orc_core.search.hybrid import GROUP, PassageEmbedder, text_to_embed
from orc_core.storage.sqlite.vectors import SCHEMA, SqliteVectorIndex


class WordEmbedder:
    """An embedder by words that fails from text number `fails_at` on."""

    name = "words"

    def __init__(self, fails_at: int | None = None) -> None:
        self.texts: list[str] = []
        self.fails_at = fails_at

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        if self.fails_at is not None and len(self.texts) > self.fails_at:
            raise DependencyDown("The model is down.", dependency="model")
        return [bag_of_words(text, 256) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return bag_of_words(text, 256)


@pytest.fixture
async def vectors(tmp_path: Path) -> AsyncIterator[SqliteVectorIndex]:
    database = Database(tmp_path / "test.db")
    await database.migrate(SCHEMA)
    yield SqliteVectorIndex(database, "words")
    await database.close()


def passage(text: str, heading: str = "") -> Passage:
    return Passage(document_id="d1", page=1, start=0, end=len(text), text=text, heading=heading)


async def places(vectors: SqliteVectorIndex, text: str) -> list[int]:
    return [found.ordinal for found in await vectors.nearest(bag_of_words(text, 256), ["d1"], 3)]


async def test_passages_are_embedded_with_their_headings(
    vectors: SqliteVectorIndex,
) -> None:
    passages = [passage("harbour fees"), passage("ships at anchor", "Mooring > Rules"), passage("lunch")]
    await PassageEmbedder(WordEmbedder(), vectors).index("d1", passages)
    assert (await places(vectors, "harbour fees"))[0] == 0
    assert (await places(vectors, "lunch"))[0] == 2
    assert (await places(vectors, "mooring"))[0] == 1


def test_a_passage_without_a_heading_is_embedded_alone() -> None:
    assert text_to_embed(passage("ships")) == "ships"
    assert text_to_embed(passage("ships", "Rules")) == "Rules\n\nships"


async def test_a_long_document_is_embedded_in_groups_with_progress(
    vectors: SqliteVectorIndex,
) -> None:
    passages = [passage(f"number{i}") for i in range(2 * GROUP + 1)]
    reported: list[tuple[int, int]] = []
    embedder = WordEmbedder()
    await PassageEmbedder(embedder, vectors).index(
        "d1", passages, lambda done, total, what: reported.append((done, total))
    )
    assert reported == [(GROUP, len(passages)), (2 * GROUP, len(passages)), (len(passages), len(passages))]
    assert embedder.texts == [p.text for p in passages]
    assert len(await vectors.nearest(bag_of_words("x", 256), ["d1"], 9999)) == len(passages)


async def test_a_failed_embedding_leaves_no_vectors(
    vectors: SqliteVectorIndex,
) -> None:
    passages = [passage("harbour")] * (GROUP + 1)
    await PassageEmbedder(WordEmbedder(), vectors).index("d1", passages)
    with pytest.raises(DependencyDown):
        await PassageEmbedder(WordEmbedder(fails_at=GROUP), vectors).index("d1", passages)
    assert await places(vectors, "harbour") == []


async def test_a_document_without_passages_needs_no_embedder(vectors: SqliteVectorIndex) -> None:
    await PassageEmbedder(WordEmbedder(), vectors).index("d1", [passage("harbour")])
    embedder = WordEmbedder()
    await PassageEmbedder(embedder, vectors).index("d1", [])
    assert embedder.texts == []
    assert await places(vectors, "harbour") == []
