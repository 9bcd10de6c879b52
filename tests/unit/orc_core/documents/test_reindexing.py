"""Vectors that are made again, after a change of the embedding model or for documents without any."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from devkit.fakes_documents import DocumentSide, open_document_side
from orc_core.documents.ingestion import Ingestion
from orc_core.documents.reindexing import follow, queue_vectors
from orc_core.documents.text_extraction import TextExtraction
from orc_core.documents.worker import Worker
from orc_core.models import JobKind
from orc_core.names import BlobPath, Owner
from orc_core.search.hybrid import PassageEmbedder
from orc_core.storage.sqlite.vectors import SCHEMA, SqliteVectorIndex

OWNERS = (Owner("acme", "ann", "c1"), Owner("globex", "bob", "c2"))


@dataclass
class Directions:
    """An embedding model with one direction for all texts."""

    name: str
    direction: list[float]
    texts: list[str] = field(default_factory=list)

    async def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [self.direction] * len(texts)

    async def embed_query(self, text: str) -> list[float]:
        return self.direction


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[DocumentSide]:
    async with open_document_side(tmp_path) as opened:
        await opened.database.migrate(SCHEMA)
        for owner in OWNERS:
            await opened.blobs.put(BlobPath(owner, "a.txt"), opened.file("The quay opens at seven."))
            await opened.library.resolve(owner, ["a.txt"])
        await opened.worker.drain()
        yield opened


def worker_with(side: DocumentSide, model: Directions) -> Worker:
    """A worker that was started with this model."""
    embedder = PassageEmbedder(model, SqliteVectorIndex(side.database, model.name))
    reader = TextExtraction(side.stores, side.extractor, side.counter)
    return Worker(side.stores, Ingestion(side.stores, reader, embedder=embedder), lease_seconds=60)


async def found(side: DocumentSide, model: Directions) -> set[str]:
    ids = [BlobPath(owner, "a.txt").document_id for owner in OWNERS]
    vectors = SqliteVectorIndex(side.database, model.name)
    return {each.document_id for each in await vectors.nearest(model.direction, ids, 5)}


async def test_documents_without_vectors_and_those_of_an_earlier_model_get_new_ones(
    side: DocumentSide,
) -> None:
    first, second = Directions("first", [1.0, 0.0]), Directions("second", [0.0, 1.0, 0.0])
    assert await found(side, first) == set()
    for model in (first, second):
        queued = await queue_vectors(side.stores)
        assert len(queued) == len(OWNERS)
        await worker_with(side, model).drain()
        assert await found(side, model) == {each.document_id for each in queued}


@pytest.mark.slow
@pytest.mark.parametrize("is_deleted", [False, True])
async def test_vectors_of_bytes_that_a_user_has_already_are_copied_unless_they_go_meanwhile(
    side: DocumentSide, *, is_deleted: bool
) -> None:
    model, copied = Directions("first", [1.0, 0.0]), list[str]()
    owner, other = OWNERS[0], Owner("acme", "ann", "c9")

    class Vectors(SqliteVectorIndex):
        async def copy(self, source_id: str, target_id: str) -> bool:
            if is_deleted:
                await side.library.delete(owner, source_id)
            copied.append(target_id)
            return await super().copy(source_id, target_id)

    await queue_vectors(side.stores)
    await worker_with(side, model).drain()
    side.stores = replace(side.stores, vectors=Vectors(side.database, model.name))
    await side.blobs.put(BlobPath(other, "b.txt"), side.file("The quay opens at seven."))
    await side.library.resolve(other, ["b.txt"])
    await worker_with(side, model).drain()
    assert copied == [BlobPath(other, "b.txt").document_id]
    assert len(model.texts) == len(OWNERS) + is_deleted
    vectors = SqliteVectorIndex(side.database, model.name)
    assert [each.document_id for each in await vectors.nearest(model.direction, copied, 5)] == copied


@pytest.mark.parametrize("earlier", [None, "first"])
async def test_bytes_whose_first_upload_has_no_vectors_of_the_model_get_them_with_the_second(
    side: DocumentSide, earlier: str | None
) -> None:
    if earlier is not None:
        await queue_vectors(side.stores)
        await worker_with(side, Directions(earlier, [1.0, 0.0])).drain()
    model, again = Directions("second", [0.0, 1.0, 0.0]), BlobPath(Owner("acme", "ann", "c9"), "b.txt")
    vectors = SqliteVectorIndex(side.database, model.name)
    side.stores = replace(side.stores, vectors=vectors)
    await side.blobs.put(again, side.file("The quay opens at seven."))
    await side.library.resolve(again.owner, ["b.txt"])
    await worker_with(side, model).drain()
    near = await vectors.nearest(model.direction, [again.document_id], 5)
    assert [each.document_id for each in near] == [again.document_id]


async def test_only_one_conversation_can_be_asked_for(side: DocumentSide) -> None:
    model = Directions("first", [1.0, 0.0])
    await queue_vectors(side.stores, OWNERS[1].conversation_id)
    await worker_with(side, model).drain()
    assert await found(side, model) == {BlobPath(OWNERS[1], "a.txt").document_id}


async def test_a_repeated_command_goes_on_with_what_is_queued(side: DocumentSide) -> None:
    model = Directions("first", [1.0, 0.0])
    for _ in range(3):
        await queue_vectors(side.stores)
    await worker_with(side, model).drain()
    assert len(model.texts) == len(OWNERS)


async def test_progress_is_reported_until_no_job_is_left(side: DocumentSide) -> None:
    documents = await queue_vectors(side.stores)
    worker, reports = worker_with(side, Directions("first", [1.0, 0.0])), list[tuple[int, int]]()

    async def work(_seconds: float) -> None:
        assert JobKind.EMBED in await side.queue.progress(documents[0].document_id)
        await worker.drain()

    await follow(side.stores, documents, lambda done, total, _now: reports.append((done, total)), work)
    assert reports == [(0, 2), (2, 2)]
