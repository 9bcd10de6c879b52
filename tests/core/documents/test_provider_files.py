"""References to files are reused until they expire or the bytes change."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.documents.local_files import LocalProviderFiles
from core.documents.models import BlobProperties, Document
from core.documents.names import BlobPath, Owner
from core.documents.sqlite_catalog import SCHEMA, SqliteCatalog
from core.sqlite import Database

TTL = 3600
OWNER = Owner("acme", "ann", "c1")


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[SqliteCatalog]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(SCHEMA)
    yield SqliteCatalog(database)
    await database.close()


@pytest.fixture
def files(catalog: SqliteCatalog, clock: Clock) -> LocalProviderFiles:
    return LocalProviderFiles(catalog, ttl_seconds=TTL, clock=clock)


def document(name: str = "a.pdf", owner: Owner = OWNER, etag: str = "v1") -> Document:
    return Document.first_seen(BlobProperties(path=BlobPath(owner, name), etag=etag, size=3))


async def test_a_reference_names_the_file_and_tells_nothing_else(files: LocalProviderFiles) -> None:
    made = await files.ensure(document())
    assert made.blob_name == "a.pdf"
    assert made.file_id.startswith("file-")
    assert document().document_id not in made.file_id


async def test_a_live_reference_is_reused_by_this_process_and_the_next(
    files: LocalProviderFiles, catalog: SqliteCatalog, clock: Clock
) -> None:
    made = await files.ensure(document())
    clock.now += timedelta(seconds=TTL - 1)
    assert await files.ensure(document()) == made
    assert await LocalProviderFiles(catalog, ttl_seconds=TTL, clock=clock).ensure(document()) == made


async def test_an_expired_reference_is_made_anew(files: LocalProviderFiles, clock: Clock) -> None:
    made = await files.ensure(document())
    clock.now += timedelta(seconds=TTL)
    remade = await files.ensure(document())
    assert remade != made
    assert await files.ensure(document()) == remade


async def test_other_bytes_get_another_reference(files: LocalProviderFiles) -> None:
    assert await files.ensure(document(etag="v2")) != await files.ensure(document(etag="v1"))


async def test_documents_do_not_share_references(files: LocalProviderFiles) -> None:
    same_name_elsewhere = document(owner=Owner("acme", "ann", "c2"))
    made = [await files.ensure(each) for each in (document(), document("b.pdf"), same_name_elsewhere)]
    assert len({reference.file_id for reference in made}) == 3


async def test_calls_at_the_same_time_make_one_reference(files: LocalProviderFiles) -> None:
    made = await asyncio.gather(*(files.ensure(document()) for _ in range(20)))
    assert len({reference.file_id for reference in made}) == 1
