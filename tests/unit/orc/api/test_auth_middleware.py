"""The body of an unknown caller is not read, and the size of every body is limited."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from devkit.system import principal_headers
from orc.api.app import MAX_QUESTION_BYTES, create_app
from orc.settings import AuthMode, Settings

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
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as opened:
        yield opened
    await app.state.provider.close()


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
