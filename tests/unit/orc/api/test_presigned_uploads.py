"""Presigned uploads over HTTP: a file goes directly to the store and is checked there."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.azure.storage import fresh_container
from devkit.azure.targets import Target
from devkit.fakes_documents import DocumentSide, open_document_side
from orc.api.app import create_app
from orc.bootstrap import App, AppProvider, open_app
from orc.settings import Settings
from orc_core.documents.ingestion import Ingestion
from orc_core.documents.ports import BlobStore
from orc_core.documents.service import DocumentService
from orc_core.documents.text_extraction import TextExtraction
from orc_core.documents.worker import Worker
from orc_core.storage.blob.documents import AzureBlobStore

LIMIT = 1000


class Opened(AppProvider):
    """The app of a test."""

    def __init__(self, services: App) -> None:
        super().__init__(services.settings)
        self.services = services

    async def get(self) -> App:
        return self.services


def services_over(side: DocumentSide, blobs: BlobStore, services: App) -> App:
    stores = replace(side.stores, blobs=blobs)
    reader = TextExtraction(stores, side.extractor, side.counter)
    ingestion = Ingestion(stores, reader, max_bytes=LIMIT)
    worker = Worker(stores, ingestion, lease_seconds=6)
    return replace(services, library=DocumentService(stores, reader, ingestion), worker=worker)


@asynccontextmanager
async def app_over(services: App) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(services.settings)
    app.state.provider = Opened(services)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7071/api") as client:
        yield client


@pytest.fixture
async def services(storage_target: Target, tmp_path: Path) -> AsyncIterator[App]:
    settings = Settings(data_dir=tmp_path, max_upload_bytes=LIMIT)
    async with (
        fresh_container(storage_target) as container,
        open_document_side(tmp_path) as side,
        open_app(settings) as opened,
    ):
        yield services_over(side, AzureBlobStore(*container), opened)


@pytest.fixture
async def client(services: App) -> AsyncIterator[httpx.AsyncClient]:
    async with app_over(services) as opened:
        yield opened


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    """A client that has the presigned URL and no identity."""
    async with httpx.AsyncClient() as opened:
        yield opened


@pytest.fixture
def place() -> str:
    return f"/conversations/{uuid.uuid4()}"


async def put(browser: httpx.AsyncClient, ticket: dict[str, Any], body: bytes) -> None:
    response = await browser.put(ticket["url"], content=body, headers=ticket["headers"])
    assert response.status_code == 201, response.text


async def documents(client: httpx.AsyncClient, place: str) -> list[dict[str, Any]]:
    response = await client.get(f"{place}/documents")
    assert response.status_code == 200
    found: list[dict[str, Any]] = response.json()["documents"]
    return found


async def test_a_file_uploaded_with_a_presigned_url_becomes_a_document(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, services: App, place: str
) -> None:
    asked = await client.post(f"{place}/uploads", json={"file_name": "big 50%.txt", "size": 20})
    assert asked.status_code == 201
    ticket = asked.json()
    assert ticket["blob_name"] == "big 50_.txt"
    left = datetime.fromisoformat(ticket["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)
    assert await documents(client, place) == []
    await put(browser, ticket, b"The fee is 7 euros.")
    [seen] = await documents(client, place)
    assert (seen["blob_name"], seen["status"], seen["size"]) == ("big 50_.txt", "uploaded", 19)
    await services.worker.drain()
    [read] = await documents(client, place)
    assert (read["document_id"], read["status"]) == (seen["document_id"], "completed")


async def test_a_file_larger_than_declared_fails_without_being_read(
    client: httpx.AsyncClient, browser: httpx.AsyncClient, services: App, place: str
) -> None:
    asked = await client.post(f"{place}/uploads", json={"file_name": "a.txt", "size": 1})
    await put(browser, asked.json(), b"x" * (LIMIT + 1))
    await documents(client, place)
    await services.worker.drain()
    [document] = await documents(client, place)
    assert (document["status"], document["reason_code"]) == ("failed", "document_too_large")
    assert "at most 1,000" in document["reason"]
    await put(browser, asked.json(), b"x" * LIMIT)
    await documents(client, place)
    await services.worker.drain()
    assert [document["status"] for document in await documents(client, place)] == ["completed"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"file_name": "a.txt", "size": LIMIT + 1}, 413, "document_too_large"),
        ({"file_name": "../a.txt", "size": 1}, 400, "unsafe_name"),
        ({"file_name": "a%2f..%2fb.txt", "size": 1}, 400, "unsafe_name"),
        ({"file_name": "", "size": 1}, 400, "unsafe_name"),
        ({"file_name": "a.txt", "size": 0}, 422, None),
        ({"file_name": "a.txt", "size": 1, "more": 1}, 422, None),
        ({"file_name": "a.txt"}, 422, None),
    ],
)
async def test_a_file_that_an_upload_would_refuse_gets_no_presigned_url(
    client: httpx.AsyncClient, place: str, body: dict[str, Any], status: int, code: str | None
) -> None:
    refused = await client.post(f"{place}/uploads", json=body)
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"
    assert code is None or refused.json()["code"] == code
    assert "sig=" not in refused.text
    assert (await client.get(f"{place}/documents")).status_code == 404


async def test_a_store_on_disk_names_the_endpoint_to_use_instead(tmp_path: Path, place: str) -> None:
    async with open_app(Settings(data_dir=tmp_path)) as services, app_over(services) as client:
        refused = await client.post(f"{place}/uploads", json={"file_name": "a.txt", "size": 1})
        assert refused.status_code == 409
        assert refused.json()["code"] == "direct_upload_not_offered"
        assert "/documents" in refused.json()["detail"]
        assert (await client.get(f"{place}/documents")).status_code == 404
