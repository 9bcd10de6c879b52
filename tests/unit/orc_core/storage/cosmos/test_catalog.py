"""The catalog in Cosmos DB where writes are lost, race or fail."""

from datetime import UTC, datetime, timedelta

import pytest

from orc_core.documents.catalog import Catalog
from orc_core.models import BlobProperties, Document, StoredFile
from orc_core.names import BlobPath, Owner
from tests.unit.orc_core.storage.cosmos_containers import Way, pass_by

OWNER = Owner("acme", "ann", "c1")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SEEN = Document.first_seen(BlobProperties(path=BlobPath(OWNER, "a.pdf"), etag="v1", size=3))
READ = SEEN.model_copy(update={"pages": 3, "readable": True})
AFRESH = SEEN.model_copy(update={"generation": "another"})


def stored(file_id: str) -> StoredFile:
    owned = SEEN.model_dump(include={"organization_id", "user_id", "conversation_id", "document_id", "etag"})
    return StoredFile(file_id=file_id, blob_name="a.pdf", expires_at=NOW + timedelta(days=1), **owned)


@pytest.fixture
def catalog(documents: Way) -> Catalog:
    return Catalog(documents.items, clock=lambda: NOW)


async def test_an_advance_whose_answer_is_lost_is_a_success(documents: Way, catalog: Catalog) -> None:
    await catalog.save(SEEN)
    documents.losses = 1
    assert await catalog.advance(READ)
    assert documents.writes == ["execute_item_batch"] * 2
    assert await catalog.list_in(OWNER) == [READ]


async def test_an_advance_that_meets_a_fresh_start_leaves_it(documents: Way, catalog: Catalog) -> None:
    await catalog.save(SEEN)
    documents.before_writes = [lambda: catalog.save(AFRESH)]
    assert not await catalog.advance(READ)
    assert await catalog.list_in(OWNER) == [AFRESH]


async def test_an_advance_that_meets_a_deletion_brings_nothing_back(documents: Way, catalog: Catalog) -> None:
    await catalog.save(SEEN)
    documents.before_writes = [lambda: catalog.delete(SEEN.path)]
    assert not await catalog.advance(READ)
    assert await catalog.list_in(OWNER) == []


async def test_an_advance_that_meets_another_is_made_after_it(documents: Way, catalog: Catalog) -> None:
    await catalog.save(SEEN)
    documents.before_writes = [lambda: catalog.advance(SEEN.model_copy(update={"pages": 1}))]
    assert await catalog.advance(READ)
    assert await catalog.list_in(OWNER) == [READ]


async def test_a_record_and_its_references_go_in_one_write(documents: Way, catalog: Catalog) -> None:
    await catalog.save(SEEN)
    await catalog.save_files([stored("file-1")])
    documents.writes.clear()
    documents.losses = 1
    await catalog.delete(SEEN.path)
    assert documents.writes == ["execute_item_batch"]
    assert (await catalog.list_in(OWNER), await catalog.files_of(SEEN.path)) == ([], [])


async def test_a_deletion_that_meets_another_is_no_error(documents: Way, catalog: Catalog) -> None:
    await catalog.save(SEEN)
    await catalog.save_files([stored("file-1")])
    documents.before_writes = [lambda: catalog.drop_files([stored("file-1")]), pass_by]
    await catalog.delete(SEEN.path)
    assert await catalog.list_in(OWNER) == []


async def test_a_reference_that_takes_the_place_of_a_dropped_one_stays(
    documents: Way, catalog: Catalog
) -> None:
    await catalog.save_files([stored("file-1")])
    documents.before_writes = [lambda: catalog.save_files([stored("file-2")])]
    await catalog.drop_files([stored("file-1")])
    assert await catalog.files_of(SEEN.path) == [stored("file-2")]


async def test_dropping_a_reference_whose_answer_is_lost_is_no_error(
    documents: Way, catalog: Catalog
) -> None:
    await catalog.save_files([stored("file-1")])
    documents.losses = 1
    await catalog.drop_files([stored("file-1")])
    assert await catalog.files_of(SEEN.path) == []


async def test_a_turn_asks_point_reads_of_one_partition(documents: Way, catalog: Catalog) -> None:
    documents_of_a_turn = [SEEN, *(_named(f"{n}.pdf") for n in range(2))]
    ids = [each.document_id for each in documents_of_a_turn]
    for each in documents_of_a_turn:
        await catalog.save(each)
    assert await catalog.get(OWNER, ids) == documents_of_a_turn
    await catalog.live_files(documents_of_a_turn)
    assert documents.reads == ["read_item"] * 6
    await catalog.list_in(OWNER)
    await catalog.get(OWNER, [*ids, *map(str, range(20))])
    assert documents.partitions == [["acme", "ann", "c1"]] * 2


def _named(name: str) -> Document:
    return Document.first_seen(BlobProperties(path=BlobPath(OWNER, name), etag="v1", size=3))
