"""What the page store on Azure does besides what every page store does: one version, few requests."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from devkit.azure.storage import Container, behind_proxy, fresh_container, opened
from devkit.azure.targets import Target
from devkit.faults.messages import Request
from devkit.faults.rules import STORAGE
from orc_core.errors import DependencyDown, UnsafeName
from orc_core.models import Page
from orc_core.storage.blob.documents import BlobPageStore

SMALL = [Page(number=n, text=f"page {n}", boxes=bytes([n]) * 8) for n in range(1, 20)]


def many(version: str) -> list[Page]:
    """Pages that take several requests to read, each telling of which version it is."""
    return [
        Page(number=n, text=f"{version} {n} {os.urandom(200).hex()}", boxes=version.encode() * 40)
        for n in range(1, 4001)
    ]


@pytest.fixture
async def container(storage_target: Target) -> AsyncIterator[Container]:
    async with fresh_container(storage_target) as fresh:
        yield fresh


@pytest.fixture
def writer(container: Container) -> BlobPageStore:
    return BlobPageStore(*container)


class Counter:
    """Counts requests; before the n-th, `writer` saves these pages."""

    def __init__(self) -> None:
        self.requests = 0
        self.saves: dict[int, tuple[BlobPageStore, list[Page]]] = {}

    async def __call__(self, _request: Request) -> None:
        self.requests += 1
        if self.requests in self.saves:
            writer, pages = self.saves[self.requests]
            await writer.save("d1", pages)

    def since(self) -> int:
        """Requests since this was asked last."""
        count, self.requests = self.requests, 0
        return count


@asynccontextmanager
async def counted(target: Target, container: Container) -> AsyncIterator[tuple[BlobPageStore, Counter]]:
    """A store whose requests are counted on their way."""
    counter = Counter()
    async with behind_proxy(target, on_request=counter) as (storage, _):
        yield BlobPageStore(storage, container.name), counter


async def test_a_small_document_takes_one_request_whatever_is_read(
    storage_target: Target, container: Container, writer: BlobPageStore
) -> None:
    await writer.save("d1", SMALL)
    async with counted(storage_target, container) as (reader, counter):
        for numbers in (None, [3], [1, 19]):
            assert await reader.get("d1", numbers)
            assert counter.since() == 1
        assert await reader.boxes("d1", 7) == bytes([7]) * 8
        assert counter.since() == 1
        assert await reader.get("d1", [77]) == []
        assert counter.since() == 1


async def test_a_page_of_a_large_document_takes_a_request_after_the_index(
    storage_target: Target, container: Container, writer: BlobPageStore
) -> None:
    await writer.save("d1", many("old"))
    async with counted(storage_target, container) as (reader, counter):
        for numbers in ([2000], [4000], list(range(2100, 2120))):
            assert await reader.get("d1", numbers)
            assert counter.since() == 2
        assert await reader.boxes("d1", 3000)
        assert counter.since() == 2


@pytest.mark.parametrize("request_number", [1, 2, 3])
async def test_an_index_never_meets_the_texts_of_another_version(
    storage_target: Target, container: Container, writer: BlobPageStore, request_number: int
) -> None:
    old, new = many("old"), [page.model_copy(update={"text": f"new {page.number}"}) for page in many("new")]
    await writer.save("d1", old)
    async with counted(storage_target, container) as (reader, counter):
        counter.saves[request_number] = (writer, new)
        pages = await reader.get("d1", [1, 2000, 4000])
        assert len({page.text[:3] for page in pages}) == 1
        assert [page.number for page in pages] == [1, 2000, 4000]
        assert await reader.boxes("d1", 4000) == b"new" * 40


async def test_pages_that_were_saved_since_are_read(
    storage_target: Target, container: Container, writer: BlobPageStore
) -> None:
    await writer.save("d1", SMALL)
    async with opened(storage_target) as storage:
        reader = BlobPageStore(storage, container.name)
        assert len(await reader.get("d1")) == len(SMALL)
        await writer.save("d1", [Page(number=50, text="new", boxes=b"12345678")])
        assert await reader.get("d1", [1]) == []
        assert [page.text for page in await reader.get("d1", [50])] == ["new"]
        assert await reader.boxes("d1", 50) == b"12345678"


async def test_pages_survive_faults(storage_target: Target, container: Container) -> None:
    pages = many("old")
    plain = [page.model_copy(update={"boxes": b""}) for page in pages]
    async with behind_proxy(storage_target, STORAGE, seed=5) as (storage, proxy):
        store = BlobPageStore(storage, container.name)
        proxy.rate = 0.2
        await store.save("d1", pages)
        await store.copy("d1", "d2")
        for document_id in ("d1", "d2"):
            assert await store.get(document_id) == plain
            assert await store.boxes(document_id, 4000) == pages[-1].boxes
        await store.delete("d1")
        assert await store.get("d1") == []
        assert proxy.counts.total() > 2


async def test_a_store_that_is_down_has_no_empty_documents(
    storage_target: Target, container: Container, writer: BlobPageStore
) -> None:
    await writer.save("d1", SMALL)
    async with behind_proxy(storage_target) as (storage, proxy):
        store = BlobPageStore(storage, container.name)
        assert await store.get("d1", [1])
        await proxy.black_out()
        for ask in (store.get("d1"), store.get("d1", [1]), store.copy("d1", "d2")):
            with pytest.raises(DependencyDown):
                await ask


async def test_an_id_that_leads_elsewhere_is_refused_before_it_is_asked_for(writer: BlobPageStore) -> None:
    for document_id in ("../acme/ann/c1/secret.txt", "..", "a/b", "", "a%2fb"):
        with pytest.raises(UnsafeName):
            await writer.get(document_id)


async def test_what_no_page_store_wrote_is_an_error_and_no_empty_document(
    container: Container, writer: BlobPageStore
) -> None:
    client = container.storage.container(container.name)
    for content in (b"ORC", b"something else", b"ORCP\x00\x63\x00\x00\x00\x00"):
        await client.upload_blob("pages/d1", content, overwrite=True)
        with pytest.raises(ValueError, match="pages of a document"):
            await writer.get("d1")
