"""Pages of other origins: those that the settings name may call the API, without cookies, and no others."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import Request

from orc.api.app import create_app
from orc.identity import Principal
from orc.settings import AuthMode, Settings, load
from orc_core.errors import InvalidInput

pytestmark = pytest.mark.slow

UI, OTHER, HERE = "http://localhost:3000", "http://localhost:4000", "http://127.0.0.1:7071"
OIDC = {
    "auth_mode": AuthMode.OIDC,
    "public_url": HERE,
    "jwt_issuer": "http://127.0.0.1:1",
    "oidc_client_id": "orc",
}
QUESTION = {"question": "Hello"}


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Makes a client of an API with these settings."""
    async with AsyncExitStack() as stack:

        async def made(**settings: Any) -> httpx.AsyncClient:
            app = create_app(Settings(data_dir=tmp_path, **settings))
            stack.push_async_callback(app.state.provider.close)
            client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE)
            return await stack.enter_async_context(client)

        yield made


async def preflight(client: httpx.AsyncClient, origin: str) -> httpx.Response:
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    return await client.options("/api/orc", headers={"origin": origin, **asks})


async def test_a_page_of_an_allowed_origin_asks_and_reads_the_answer(serve: Callable[..., Any]) -> None:
    client = await serve(allowed_origins=[UI])
    allowed = await preflight(client, UI)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, UI)
    headers = {"origin": UI, "sec-fetch-site": "cross-site"}
    answer = await client.post("/api/orc", json=QUESTION, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["access-control-allow-origin"] == UI
    assert "x-conversation-id" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers
    missing = await client.get("/api/conversations/nothing", headers=headers)
    assert (missing.status_code, missing.headers["access-control-allow-origin"]) == (404, UI)


@pytest.mark.parametrize("origins", [[], [UI]])
@pytest.mark.parametrize("origin", [OTHER, "null", UI + ".evil.example", "https://localhost:3000"])
async def test_no_other_page_may_ask(serve: Callable[..., Any], origins: list[str], origin: str) -> None:
    client = await serve(allowed_origins=origins)
    refused = await preflight(client, origin)
    assert refused.status_code >= 400 and "access-control-allow-origin" not in refused.headers
    answer = await client.post("/api/orc", json=QUESTION, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


async def test_an_allowed_origin_does_not_act_with_the_session_of_a_browser(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    client = await serve(allowed_origins=[UI], **OIDC)
    app = client._transport.app
    opened = await app.state.provider.get()
    session = await opened.credentials.begin_session(Principal("acme", "ann"), seconds=600)
    cookie = {"cookie": f"orc-session={session}"}
    assert (await client.post("/api/orc", json=QUESTION, headers={**cookie, "origin": UI})).status_code == 403
    assert (
        await client.post("/api/orc", json=QUESTION, headers={**cookie, "origin": HERE})
    ).status_code == 200


async def test_a_page_of_an_allowed_origin_reads_that_the_server_failed(serve: Callable[..., Any]) -> None:
    client = await serve(allowed_origins=[UI])
    app = client._transport.app
    client._transport.raise_app_exceptions = False

    async def broken(_request: Request) -> Principal:
        raise RuntimeError("broken")

    app.state.authenticator = SimpleNamespace(identify=broken)
    for path in ("/api/me", "/v1/models"):
        failed = await client.get(path, headers={"origin": UI})
        assert (failed.status_code, failed.headers["access-control-allow-origin"]) == (500, UI)
        assert "internal" in failed.text


@pytest.mark.parametrize(
    ("value", "right"),
    [
        *((value, "") for value in ("*", "localhost:3000", "https://*.example", "file://", "https://")),
        ("https://ui.example/", "https://ui.example"),
        ("https://UI.example", "https://ui.example"),
        ("https://ui.example:443", "https://ui.example"),
        ("http://a@ui.example:80", "http://ui.example"),
        ("https://ui.example:8443?x", "https://ui.example:8443"),
        ("https://\u00fc.example", "https://xn--tda.example"),
        ("http://[0::1]:3000", "http://[::1]:3000"),
    ],
)
def test_what_is_no_origin_is_refused_at_the_start(
    value: str, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_ALLOWED_ORIGINS", f"{UI}, https://ui.example")
    assert load().allowed_origins == [UI, "https://ui.example"]
    monkeypatch.setenv("ORC_ALLOWED_ORIGINS", value)
    with pytest.raises(InvalidInput, match="ORC_ALLOWED_ORIGINS") as refused:
        load()
    assert (f"write {right}" if right else "") in str(refused.value)
    monkeypatch.setenv("ORC_ALLOWED_ORIGINS", right)
    assert load().allowed_origins == [right] * bool(right)
