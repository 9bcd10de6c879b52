"""The web page: its headers, its caching and compression, and what is served of its folder."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orc.api.app import create_app
from orc.api.web import FOLDER, first_modules, preferred_language, site
from orc.settings import AuthMode, Settings

ASSET = re.compile(r'(?:src|href)="(/assets/[^"]+)"')
MOST_SCRIPTS, MOST_BYTES = 17, 120_000
MOST_OF_KIND = {".js": 92_000, ".css": 12_000, ".svg": 10_000}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A caller who is not signed in."""
    settings = Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True)
    app = create_app(settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://orc") as opened:
        yield opened
    await app.state.provider.close()


async def test_the_page_and_all_that_it_names_is_served_to_everyone(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert page.status_code == 200
    addresses = ASSET.findall(page.text)
    assert len(addresses) > 10
    for address in addresses:
        served = await client.get(address)
        assert served.status_code == 200, address
        assert served.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert served.headers["x-content-type-options"] == "nosniff"


async def test_the_policy_lets_no_markup_and_no_other_host_in(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/")).headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= {
        *policy
    }
    assert {"require-trusted-types-for 'script'", "trusted-types 'none'"} <= {*policy}
    assert "unsafe" not in " ".join(policy)
    assert "http" not in " ".join(policy)


async def test_a_known_page_is_not_sent_again(client: httpx.AsyncClient) -> None:
    first = await client.get("/")
    assert first.headers["cache-control"] == "no-cache"
    again = await client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    german = await client.get("/", headers={"accept-language": "de-DE,en;q=0.5"})
    assert '<html lang="de"' in german.text
    assert german.headers["etag"] != first.headers["etag"]


AZURE: dict[str, Any] = {"auth_mode": AuthMode.EASYAUTH, "azure_auth_enabled": True}
PROXY: dict[str, Any] = {"auth_mode": AuthMode.EASYAUTH, "trust_principal_header": True}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (AZURE, 'data-auth="easyauth" data-sign-in="/.auth/login/aad"'),
        (PROXY, 'data-auth="easyauth" data-sign-in=""'),
        ({"auth_mode": AuthMode.LOCAL}, 'data-auth="local" data-sign-in=""'),
    ],
)
async def test_the_page_says_where_to_sign_in(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    app = create_app(Settings(data_dir=tmp_path, **settings))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://orc") as opened:
        page = await opened.get("/")
    assert said in page.text
    assert "{{" not in page.text
    await app.state.provider.close()


async def test_a_known_page_is_sent_again_if_the_sign_in_changed(tmp_path: Path) -> None:
    tags = set()
    for settings in (AZURE, PROXY):
        app = create_app(Settings(data_dir=tmp_path, **settings))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://orc") as opened:
            tags.add((await opened.get("/")).headers["etag"])
        await app.state.provider.close()
    assert len(tags) == 2


@pytest.mark.parametrize("name", ["types/page.d.ts", "index.html", "../api/web.py", "", "%2e%2e/settings.py"])
async def test_only_files_of_the_page_are_served(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.get(f"/assets/{site().digest}/{name}")).status_code == 404


async def test_files_of_another_version_are_not_served(client: httpx.AsyncClient) -> None:
    assert (await client.get("/assets/0123456789ab/app.js")).status_code == 404


async def test_a_client_without_gzip_gets_the_same_bytes(client: httpx.AsyncClient) -> None:
    address = f"/assets/{site().digest}/app.js"
    zipped = await client.get(address, headers={"accept-encoding": "gzip"})
    plain = await client.get(address, headers={"accept-encoding": "identity"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert zipped.content == plain.content == (FOLDER / "app.js").read_bytes()


def test_the_page_is_small() -> None:
    """First load: every request costs an instance of Functions a place, every byte a reader time."""
    first = first_modules()
    assert len(first) <= MOST_SCRIPTS
    assert {"sources.js", "shelf.js", "contexts.js", "telemetry.js", "dialogs.js", "why.js"}.isdisjoint(first)
    assert [name for name in site().assets if name.endswith(".css")] == ["styles.css"], "a part is not served"
    loaded = {
        name: len(gzip.compress(asset.content, 6))
        for name, asset in site().assets.items()
        if name in first or not name.endswith((".txt", ".js", ".pdf"))
    }
    others = sum(size for name, size in loaded.items() if name.startswith("words/")) - loaded["words/en.json"]
    assert sum(loaded.values()) - others <= MOST_BYTES
    for kind, most in MOST_OF_KIND.items():
        assert sum(size for name, size in loaded.items() if name.endswith(kind)) <= most, kind


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("it-IT, de;q=0.8, en;q=0.5", "de"),
        ("DE-at", "de"),
        ("fr-CA", "fr"),
        ("it", "en"),
        ("x" * 999, "en"),
    ],
)
def test_the_language_is_the_first_that_there_is(accepted: str, language: str) -> None:
    assert preferred_language(accepted) == language
