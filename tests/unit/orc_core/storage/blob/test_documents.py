"""What the blob store on Azure does besides what every blob store does: versions, faults, tickets."""

import asyncio
import os
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import httpx
import pytest
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import BlobLeaseClient

from devkit.azure.storage import Container, behind_proxy, fresh_container
from devkit.azure.targets import Target
from devkit.blob_steps import Write, content
from devkit.faults.messages import Request
from devkit.faults.rules import STORAGE, Kind, Refusal, Rules
from orc_core.errors import DependencyDown, NotFound, Unavailable
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.models import PresignedUpload
from orc_core.names import BlobPath, Owner
from orc_core.storage.blob.account import BLOCK_BYTES
from orc_core.storage.blob.documents import AzureBlobStore

OWNER = Owner("acme", "ann", "c1")
PATH = BlobPath(OWNER, "a.txt")
OTHER = BlobPath(OWNER, "b.txt")
LARGE = 2 * BLOCK_BYTES + 1
ALWAYS = 1.0
REFUSED_ONLY = Rules((Refusal(503, headers={"x-ms-error-code": "ServerBusy"}),), (Kind.STATUS,))
AMBIGUOUS_ONLY = Rules(kinds=(Kind.RESET_AFTER,))


@pytest.fixture
async def container(storage_target: Target) -> AsyncIterator[Container]:
    async with fresh_container(storage_target) as opened:
        yield opened


@pytest.fixture
def store(container: Container) -> AzureBlobStore:
    return AzureBlobStore(*container)


class Meanwhile:
    """Replaces a blob just before the proxy passes on these reads of its bytes, counted from 1."""

    def __init__(self, store: AzureBlobStore, source: Path, reads: Collection[int]) -> None:
        self.store = store
        self.source = source
        self.reads = reads
        self.seen = 0

    async def __call__(self, request: Request) -> None:
        if request.head.method == "GET":
            self.seen += 1
            if self.seen in self.reads:
                await self.store.put(PATH, self.source)


async def read_meanwhile(target: Target, container: Container, meanwhile: Meanwhile) -> bytes:
    async with behind_proxy(target, on_request=meanwhile) as (storage, _):
        return await content(AzureBlobStore(storage, container.name), PATH)


@pytest.mark.parametrize("reads", [{1}, {2}, {3}, {2, 4, 7}], ids=str)
async def test_a_copy_is_of_one_version_when_the_blob_is_replaced_between_its_parts(
    storage_target: Target, container: Container, store: AzureBlobStore, tmp_path: Path, reads: set[int]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"1" * LARGE)
    second.write_bytes(b"2" * LARGE)
    await store.put(PATH, first)
    read = await read_meanwhile(storage_target, container, Meanwhile(store, second, reads))
    assert read == second.read_bytes()


async def test_a_blob_that_never_rests_is_given_up(
    storage_target: Target, container: Container, store: AzureBlobStore, write: Write
) -> None:
    source = write(b"hello")
    await store.put(PATH, source)
    with pytest.raises(Unavailable, match="keeps changing"):
        await read_meanwhile(storage_target, container, Meanwhile(store, source, range(1000)))


async def test_a_blob_deleted_while_it_is_read_is_absent(
    storage_target: Target, container: Container, store: AzureBlobStore, write: Write
) -> None:
    async def delete(request: Request) -> None:
        if request.head.method == "GET":
            await store.delete(PATH)

    await store.put(PATH, write(b"hello"))
    async with behind_proxy(storage_target, on_request=delete) as (storage, _):
        with pytest.raises(NotFound):
            await content(AzureBlobStore(storage, container.name), PATH)


async def test_a_refusal_is_never_taken_for_an_absent_blob(
    storage_target: Target, container: Container, store: AzureBlobStore, write: Write
) -> None:
    await store.put(PATH, write(b"hello"))
    async with behind_proxy(storage_target, REFUSED_ONLY) as (storage, proxy):
        through = AzureBlobStore(storage, container.name)
        proxy.rate = ALWAYS
        for ask in (through.head(PATH), through.list_in(OWNER), content(through, PATH), through.delete(PATH)):
            with pytest.raises(DependencyDown) as failed:
                await ask
            assert failed.value.dependency == "blobs"
        with pytest.raises(DependencyDown):
            await through.ping()
        proxy.rate = 0.0
        await asyncio.sleep(1.1)
        assert await content(through, PATH) == b"hello"


async def test_a_container_that_is_missing_is_no_empty_one(container: Container) -> None:
    missing = AzureBlobStore(container.storage, f"{container.name}-not")
    for ask in (missing.head(PATH), missing.list_in(OWNER), content(missing, PATH), missing.ping()):
        with pytest.raises(DependencyMisconfigured):
            await ask
    with pytest.raises(DependencyMisconfigured):
        await missing.delete(PATH)


@pytest.mark.parametrize("rules", [STORAGE, AMBIGUOUS_ONLY], ids=["any fault", "done but not confirmed"])
@pytest.mark.parametrize("size", [10, LARGE], ids=["small", "large"])
async def test_what_was_acknowledged_is_there_however_often_it_took(
    storage_target: Target, container: Container, write: Write, rules: Rules, size: int
) -> None:
    source = write(os.urandom(size))
    async with behind_proxy(storage_target, rules, seed=size) as (storage, proxy):
        through = AzureBlobStore(storage, container.name)
        proxy.rate = 0.3
        for path in (PATH, OTHER, PATH):
            put = await through.put(path, source)
            assert await through.head(path) == put
            assert await content(through, path) == source.read_bytes()
        await through.delete(PATH)
        assert [blob.path for blob in await through.list_in(OWNER)] == [OTHER]
        assert proxy.counts.total()


async def test_a_put_that_is_cut_off_leaves_what_was_there(
    storage_target: Target, container: Container, store: AzureBlobStore, write: Write
) -> None:
    before = await store.put(PATH, write(b"before"))
    started = asyncio.Event()

    async def see(request: Request) -> None:
        if "blockid" in request.head.target:
            started.set()

    async with behind_proxy(storage_target, on_request=see) as (storage, proxy):
        putting = asyncio.create_task(AzureBlobStore(storage, container.name).put(PATH, write(b"x" * LARGE)))
        await started.wait()
        await proxy.black_out()
        with pytest.raises(DependencyDown):
            await putting
    assert await store.head(PATH) == before
    assert await content(store, PATH) == b"before"


async def test_a_put_never_takes_the_blocks_of_another_for_its_own(
    storage_target: Target, container: Container, store: AzureBlobStore, tmp_path: Path
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.write_bytes(b"1" * LARGE)
    theirs.write_bytes(b"2" * LARGE)
    commits = 0

    async def put_first(request: Request) -> None:
        nonlocal commits
        if "comp=blocklist" in request.head.target:
            commits += 1
            if commits == 1:
                await store.put(PATH, theirs)

    async with behind_proxy(storage_target, on_request=put_first) as (storage, _):
        put = await AzureBlobStore(storage, container.name).put(PATH, mine)
    assert await store.head(PATH) == put
    assert await content(store, PATH) == mine.read_bytes()
    assert commits == 2


async def test_what_others_put_there_is_a_blob_if_a_document_may_have_its_name(
    container: Container, store: AzureBlobStore
) -> None:
    client = container.storage.container(container.name)
    odd = ("50%.txt", "cafe\u0301.txt", "bidi\u202e.txt", " space.txt", "below/it.txt", "back\\slash.txt", "")
    for name in ("by hand.txt", *odd):
        await client.upload_blob(OWNER.prefix + name, b"x")
    await client.upload_blob(OWNER.prefix.rstrip("/"), b"x")
    await client.upload_blob(OWNER.prefix.rstrip("/") + "1/theirs.txt", b"x")
    assert [blob.path.file for blob in await store.list_in(OWNER)] == ["by hand.txt"]


async def test_bytes_come_back_as_they_are_stored_whatever_the_uploader_called_them(
    container: Container, store: AzureBlobStore
) -> None:
    called = ContentSettings(content_type="text/html", content_encoding="gzip")
    client = container.storage.container(container.name)
    await client.upload_blob(str(PATH), b"no gzip at all", content_settings=called)
    assert await content(store, PATH) == b"no gzip at all"


async def test_a_stored_document_is_never_shown_as_a_page(
    container: Container, store: AzureBlobStore, write: Write
) -> None:
    for size in (10, LARGE):
        await store.put(PATH, write(b"x" * size))
        stored = (
            await container.storage.container(container.name).get_blob_client(str(PATH)).get_blob_properties()
        )
        assert stored.content_settings.content_type == "application/octet-stream"


async def test_a_delete_removes_snapshots_and_leased_blobs(
    container: Container, store: AzureBlobStore, write: Write
) -> None:
    before = await store.put(PATH, write(b"before"))
    put = await store.put(PATH, write(b"hello"))
    client = container.storage.container(container.name).get_blob_client(str(PATH))
    await client.create_snapshot()
    await BlobLeaseClient(client).acquire()
    await store.delete(PATH, before.etag)
    assert await store.head(PATH) == put
    await store.delete(PATH, put.etag)
    left = container.storage.container(container.name).list_blobs(include=["snapshots"])
    assert [blob.name async for blob in left] == []


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as opened:
        yield opened


async def send(client: httpx.AsyncClient, ticket: PresignedUpload, body: bytes) -> int:
    return (await client.put(ticket.url, content=body, headers=ticket.headers)).status_code


async def test_a_ticket_stores_and_replaces_its_blob(
    store: AzureBlobStore, client: httpx.AsyncClient
) -> None:
    ticket = await store.presign_upload(PATH, 60)
    assert await send(client, ticket, b"first") == 201
    first = await store.head(PATH)
    assert await send(client, ticket, b"second") == 201
    second = await store.head(PATH)
    assert first and second
    assert first.etag != second.etag
    assert await content(store, PATH) == b"second"


@pytest.mark.parametrize("name", ["50 # of?.pdf", "a+b & c=d.pdf", "naïve – 日本語 😀.pdf"])
async def test_a_ticket_holds_for_odd_names(
    store: AzureBlobStore, client: httpx.AsyncClient, name: str
) -> None:
    path = BlobPath(OWNER, name)
    assert await send(client, await store.presign_upload(path, 60), b"odd") == 201
    assert [blob.path for blob in await store.list_in(OWNER)] == [path]


async def test_a_ticket_is_for_writing_its_blob_alone(
    store: AzureBlobStore, client: httpx.AsyncClient, write: Write
) -> None:
    await store.put(PATH, write(b"mine"))
    await store.put(OTHER, write(b"other"))
    ticket = await store.presign_upload(PATH, 60)
    address, signature = ticket.url.split("?")
    container = address.removesuffix(f"/{PATH}")
    other = f"{container}/{OTHER}?{signature}"
    refused = [
        await client.get(ticket.url),
        await client.head(ticket.url),
        await client.delete(ticket.url),
        await client.get(f"{ticket.url}&comp=tags"),
        await client.get(f"{container}?restype=container&comp=list&{signature}"),
        await client.delete(f"{container}?restype=container&{signature}"),
        await client.get(other),
        await client.put(other, content=b"x", headers=ticket.headers),
        await client.put(f"{container}/new.txt?{signature}", content=b"x", headers=ticket.headers),
        await client.put(ticket.url.replace("sp=cw", "sp=rcwd"), content=b"x", headers=ticket.headers),
        await client.put(address, content=b"x", headers=ticket.headers),
    ]
    assert {response.status_code for response in refused} <= {401, 403, 404}
    assert await content(store, PATH) == b"mine"
    assert await content(store, OTHER) == b"other"


async def test_a_ticket_ends(store: AzureBlobStore, client: httpx.AsyncClient) -> None:
    ticket = await store.presign_upload(PATH, 2)
    assert await send(client, ticket, b"in time") == 201
    await asyncio.sleep(2.5)
    assert await send(client, ticket, b"too late") == 403
    assert await content(store, PATH) == b"in time"


async def test_a_ticket_does_not_show_its_signature_in_logs(store: AzureBlobStore) -> None:
    ticket = await store.presign_upload(PATH, 60)
    assert "sig=" in ticket.url
    assert "sig=" not in repr(ticket)
