"""Every route authenticates, the body of an unknown caller is not read, and every body is limited."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from devkit.system import principal_headers
from orc.api.app import MAX_QUESTION_BYTES, create_app
from orc.api.mcp_resource import METADATA_PATH
from orc.api.routes import sign_in
from orc.settings import AuthMode, Settings

pytestmark = pytest.mark.slow

CONVERSATION = "/conversations/3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
CHUNK = b"x" * 65_536
BODIES = [
    (f"{CONVERSATION}/documents", "multipart/form-data; boundary=b"),
    (f"{CONVERSATION}/uploads", "application/json"),
    ("/orc", "application/json"),
    ("/chat/stream", "application/json"),
]


class Body:
    """A body of many chunks that counts the requested ones."""

    def __init__(self, chunks: int) -> None:
        self.read = 0
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self._chunks):
            self.read += 1
            yield CHUNK


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    yield app
    await app.state.provider.close()


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as opened:
        yield opened


async def test_every_route_but_the_page_its_sign_in_and_four_authenticates(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    answered = set()
    for method, path in routes_of(app):
        url = "http://127.0.0.1" + re.sub("{.*?}", CONVERSATION.rpartition("/")[2], path)
        if (await client.request(method, url)).status_code != 401:
            answered.add(path)
    page = {"/", "/assets/{digest}/{name:path}", *sign_in.PATHS, METADATA_PATH}
    assert answered == {"/api/health", "/api/ready", "/api/docs", "/api/openapi.json"} | page


@pytest.mark.parametrize("url", ["https://example.com/orc", "http://192.168.1.5:7071", "orc.example.com"])
async def test_bearer_tokens_need_no_address_for_mcp_clients(url: str, tmp_path: Path) -> None:
    issued = {"jwt_issuer": "https://issuer.example", "jwt_audience": "api://orc"}
    settings: dict[str, Any] = {"auth_mode": AuthMode.JWT, "public_url": url, **issued}
    app = create_app(Settings(data_dir=tmp_path, **settings))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get(METADATA_PATH)).status_code == 404
        refused = await client.post("/mcp", json={}, headers={"authorization": "Bearer x"})
        assert (refused.status_code, "www-authenticate" in refused.headers) == (401, False)
        assert "ORC_PUBLIC_URL" in refused.json()["detail"]
    await app.state.provider.close()


def routes_of(app: FastAPI) -> list[tuple[str, str]]:
    """Method and path of every route, those that are not documented included."""
    found: list[tuple[str, str]] = []
    for each in app.routes:
        included: Any = each
        is_router = hasattr(included, "original_router")
        prefix = included.include_context.prefix if is_router else ""
        routes = included.original_router.routes if is_router else [included]
        found += [(method, prefix + route.path) for route in routes for method in route.methods]
    assert ("POST", "/api/v1/chat/completions") in found
    return found


async def test_a_route_that_is_added_later_authenticates_too(app: FastAPI, client: httpx.AsyncClient) -> None:
    router = APIRouter()
    router.add_api_route("/later", lambda: "secret")
    app.include_router(router, prefix="/api")
    assert (await client.get("/later")).status_code == 401
    assert (await client.get("/later", headers=principal_headers("acme", "ann"))).json() == "secret"


@pytest.mark.parametrize("path", ["/health/", "/health/../later", "//health", "/healthy", "/Health"])
async def test_paths_like_an_open_one_authenticate(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 401


@pytest.mark.parametrize(("path", "media_type"), BODIES)
async def test_an_unknown_caller_is_refused_before_the_body_is_read(
    client: httpx.AsyncClient, path: str, media_type: str
) -> None:
    body = Body(100)
    response = await client.post(path, content=body, headers={"content-type": media_type})
    assert (response.status_code, body.read) == (401, 0)
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["trace_id"] == response.headers["x-trace-id"]


@pytest.mark.parametrize(("path", "media_type"), BODIES[1:])
async def test_the_size_of_a_body_that_is_no_upload_is_limited(
    client: httpx.AsyncClient, path: str, media_type: str
) -> None:
    body = Body(1000)
    known = principal_headers("acme", "ann")
    response = await client.post(path, content=body, headers={"content-type": media_type, **known})
    assert response.status_code == 413
    assert body.read <= MAX_QUESTION_BYTES / len(CHUNK) + 1
