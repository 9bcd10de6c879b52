"""What every blob store must do."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.azure.storage import fresh_container
from devkit.azure.targets import Target
from devkit.blob_steps import Write, content, source_in
from orc_core.documents.ports import BlobStore
from orc_core.errors import NotFound
from orc_core.names import BlobPath, Owner
from orc_core.storage.blob.documents import AzureBlobStore
from orc_core.storage.folder import FolderBlobStore

pytestmark = pytest.mark.contract("blob store")

OWNER = Owner("acme", "ann", "c1")
NEIGHBOURS = [
    Owner("globex", "ann", "c1"),
    Owner("acme", "bob", "c1"),
    Owner("acme", "ann", "c2"),
    Owner("acme", "ann", "c11"),
]
PATH = BlobPath(OWNER, "a.txt")
LARGE = 9 * 1024 * 1024 + 1
"""More than any store takes in one piece."""
ODD_NAMES = [
    "50 # of?.pdf",
    "a+b & c;d=e@f:g,h!.pdf",
    "~'quoted' (1) [2] {3} $^`.pdf",
    "..two dots.pdf",
    "ends in a dot.",
    "naïve – 日本語 😀.pdf",
    "क्\u200dष.txt",
    "x" * 251 + ".pdf",
]


@pytest.fixture(params=["folder", "azurite"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def store(target: Target | None, tmp_path: Path) -> AsyncIterator[BlobStore]:
    if target is None:
        yield FolderBlobStore(tmp_path / "blobs")
    else:
        async with fresh_container(target) as container:
            yield AzureBlobStore(*container)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return source_in(tmp_path)


async def test_an_absent_blob_is_none_and_cannot_be_opened(store: BlobStore) -> None:
    assert await store.head(PATH) is None
    with pytest.raises(NotFound):
        await content(store, PATH)


async def test_a_put_replaces_and_changes_the_etag(store: BlobStore, write: Write) -> None:
    seen = [(await store.put(PATH, write(bytes([number])))).etag for number in range(50)]
    assert len(set(seen)) == 50
    assert await content(store, PATH) == bytes([49])


async def test_the_etag_stays_while_the_bytes_do(store: BlobStore, write: Write) -> None:
    put = await store.put(PATH, write(b"hello"))
    await content(store, PATH)
    await store.put(BlobPath(OWNER, "b.txt"), write(b"other"))
    assert await store.head(PATH) == put


async def test_a_listing_holds_one_conversation_by_name(store: BlobStore, write: Write) -> None:
    for name in ("b.txt", "ä.txt", "a.txt", "B.txt"):
        await store.put(BlobPath(OWNER, name), write(name.encode()))
    for neighbour in NEIGHBOURS:
        await store.put(BlobPath(neighbour, "theirs.txt"), write(b"theirs"))
    listed = await store.list_in(OWNER)
    assert [blob.path.file for blob in listed] == ["B.txt", "a.txt", "b.txt", "ä.txt"]
    assert listed[1] == await store.head(PATH)
    assert await store.list_in(Owner("acme", "ann", "c3")) == []


@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=str)
async def test_the_same_name_of_another_owner_is_another_blob(
    store: BlobStore, write: Write, neighbour: Owner
) -> None:
    theirs = BlobPath(neighbour, PATH.file)
    await store.put(PATH, write(b"mine"))
    assert await store.head(theirs) is None
    await store.delete(theirs)
    await store.put(theirs, write(b"theirs"))
    assert await content(store, PATH) == b"mine"
    await store.delete(PATH)
    assert await content(store, theirs) == b"theirs"


async def test_a_deleted_blob_is_gone_and_deleting_twice_is_no_error(store: BlobStore, write: Write) -> None:
    await store.put(PATH, write(b"hello"))
    await store.delete(PATH)
    await store.delete(PATH)
    assert await store.head(PATH) is None
    assert await store.list_in(OWNER) == []


async def test_only_the_version_that_is_meant_is_deleted(store: BlobStore, write: Write) -> None:
    first = await store.put(PATH, write(b"first"))
    second = await store.put(PATH, write(b"second"))
    await store.delete(PATH, first.etag)
    assert await content(store, PATH) == b"second"
    await store.delete(PATH, second.etag)
    await store.delete(PATH, second.etag)
    assert await store.head(PATH) is None


@pytest.mark.slow
async def test_puts_and_deletes_at_the_same_time_lose_nothing(store: BlobStore, write: Write) -> None:
    source = write(b"hello")

    async def come_and_go(number: int) -> None:
        passing = BlobPath(OWNER, f"passing-{number}.txt")
        for _ in range(40):
            await store.put(passing, source)
            await store.delete(passing)
        await store.put(BlobPath(OWNER, f"kept-{number}.txt"), source)

    await asyncio.gather(*(come_and_go(number) for number in range(8)))
    assert [blob.path.file for blob in await store.list_in(OWNER)] == [f"kept-{n}.txt" for n in range(8)]


async def test_concurrent_puts_each_return_the_properties_of_their_bytes(
    store: BlobStore, tmp_path: Path
) -> None:
    sources = [tmp_path / f"{size}" for size in range(1, 25)]
    for size, source in enumerate(sources, 1):
        source.write_bytes(b"x" * size)
    for _ in range(5):
        put = await asyncio.gather(*(store.put(PATH, source) for source in sources))
        assert [blob.size for blob in put] == list(range(1, 25))
        assert len({blob.etag for blob in put}) == 24
        assert await store.head(PATH) in put


async def test_a_reader_never_sees_half_of_a_put(store: BlobStore, write: Write) -> None:
    versions = [bytes([number]) * 3_000_000 for number in range(5)]
    await store.put(PATH, write(versions[0]))

    async def replace() -> None:
        for version in versions:
            await store.put(PATH, write(version))

    replacing = asyncio.create_task(replace())
    while not replacing.done():
        assert await content(store, PATH) in versions
    await replacing


async def test_ping_passes_if_the_store_works(store: BlobStore) -> None:
    await store.ping()


@pytest.mark.parametrize("size", [0, 1, LARGE], ids=["empty", "small", "large"])
async def test_files_of_any_size_come_back_as_they_were(store: BlobStore, write: Write, size: int) -> None:
    before = os.urandom(size)
    put = await store.put(PATH, write(before))
    assert put.size == size
    assert await store.head(PATH) == put
    assert await store.list_in(OWNER) == [put]
    assert await content(store, PATH) == before


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_name_that_looks_url_encoded_is_taken_literally(
    store: BlobStore, write: Write, name: str
) -> None:
    path = BlobPath(OWNER, name)
    put = await store.put(path, write(b"odd"))
    assert await store.list_in(OWNER) == [put]
    assert await content(store, path) == b"odd"
    await store.delete(path)
    assert await store.head(path) is None


async def test_large_puts_of_one_blob_at_the_same_time_leave_one_of_them_whole(
    store: BlobStore, tmp_path: Path
) -> None:
    sources = [tmp_path / str(number) for number in range(3)]
    for source in sources:
        source.write_bytes(os.urandom(LARGE))
    put = await asyncio.gather(*(store.put(PATH, source) for source in sources))
    assert await store.head(PATH) in put
    assert await content(store, PATH) in [source.read_bytes() for source in sources]


async def test_an_open_copy_stays_as_it_is_when_the_blob_is_replaced(store: BlobStore, write: Write) -> None:
    await store.put(PATH, write(b"before"))
    async with store.local_copy(PATH) as local, asyncio.timeout(10):
        with local.open("rb") as file:
            await store.put(PATH, write(b"after"))
            await store.delete(PATH)
            assert file.read() == b"before"
