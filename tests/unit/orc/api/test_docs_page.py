"""The page about the API runs nothing but its own script."""

from pathlib import Path

import httpx
import pytest

from orc.api.app import create_app
from orc.settings import Settings

pytestmark = pytest.mark.slow


async def test_the_page_of_the_api_loads_nothing_from_other_sites(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as client:
        response = await client.get("/docs")
        described = await client.get("/openapi.json")
    assert response.status_code == 200
    assert "://" not in response.text
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "; script-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert 'href="openapi.json"' in response.text
    assert described.json()["info"]["title"] == "Orc"
    await app.state.provider.close()
