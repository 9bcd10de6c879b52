"""Conversations over HTTP: the title that a user gives one."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from devkit.system import principal_headers
from orc.api.app import create_app
from orc.settings import AuthMode, Settings

pytestmark = pytest.mark.slow

CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"


@pytest.fixture
async def ann(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a user who has one conversation."""
    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1/api",
        headers=principal_headers("acme", "ann"),
    ) as client:
        path = f"/conversations/{CONVERSATION}/documents"
        assert (await client.post(path, files=[("file", ("a.txt", b"Words."))])).status_code == 201
        yield client
    await app.state.provider.close()


async def test_a_user_gives_a_conversation_a_title(ann: httpx.AsyncClient) -> None:
    path = f"/conversations/{CONVERSATION}"
    before = (await ann.get(path)).json()
    renamed = await ann.patch(path, json={"title": "  Leave of absence  "})
    assert renamed.status_code == 200
    assert (renamed.json()["title"], renamed.json()["title_by"]) == ("Leave of absence", "user")
    [listed] = (await ann.get("/conversations")).json()["conversations"]
    assert (listed["title"], listed["updated_at"]) == ("Leave of absence", before["updated_at"])


@pytest.mark.parametrize("title", ["", "   ", "x" * 121, "a\nb", "a\u202eb"])
async def test_a_title_is_short_and_visible(ann: httpx.AsyncClient, title: str) -> None:
    refused = await ann.patch(f"/conversations/{CONVERSATION}", json={"title": title})
    assert refused.status_code == 422
    [listed] = (await ann.get("/conversations")).json()["conversations"]
    assert (listed["title"], listed["title_by"]) == ("a.txt", "file")


async def test_another_users_conversation_keeps_its_title(ann: httpx.AsyncClient) -> None:
    headers = principal_headers("acme", "bob")
    refused = await ann.patch(f"/conversations/{CONVERSATION}", json={"title": "Mine"}, headers=headers)
    assert refused.status_code == 404
    [listed] = (await ann.get("/conversations")).json()["conversations"]
    assert (listed["title"], listed["title_by"]) == ("a.txt", "file")
