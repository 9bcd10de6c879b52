"""Signing in at a real OpenID provider: two organizations, sign-out, several processes, programs."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from fastapi import FastAPI

from devkit.doubles import openid_provider
from devkit.doubles.openid_provider import AUDIENCE, KEY_ID, Provider
from devkit.issuer import private_key
from devkit.signing_in import Person
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.api.auth import build_authenticator
from orc.settings import AuthMode, Settings
from orc_core.errors import InvalidInput

pytestmark = pytest.mark.slow

DAY = 24 * 60 * 60
ORIGIN, BEHIND_TLS = "http://127.0.0.1:8230", "https://orc.example.com"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with openid_provider.running(ORIGIN, BEHIND_TLS) as running:
        yield running


@pytest.fixture
async def app(provider: Provider, tmp_path: Path) -> AsyncIterator[FastAPI]:
    app = opened(provider, tmp_path)
    yield app
    await app.state.provider.close()


def opened(provider: Provider, folder: Path, origin: str = ORIGIN, **changed: Any) -> FastAPI:
    settings = {"context_creators": "everyone", **provider.settings(origin), **changed}
    return create_app(Settings(data_dir=folder, **settings))


async def test_who_signs_in_is_known_by_the_claims_and_comes_back_to_the_same_place(app: FastAPI) -> None:
    ada = Person(app, ORIGIN, "ada@acme")
    assert not await ada.is_signed_in()
    answer = await ada.sign_in("/#/contexts")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{ORIGIN}/#/contexts")
    me = (await ada.orc.get("/api/me")).json()
    assert (me["organization_id"], me["user_id"], me["name"]) == ("acme", "ada@acme", "Ada")
    assert me["roles"] == ["reader"]
    assert me["sign_in"] == {"mode": "oidc", "sign_in_url": "/api/sign-in", "sign_out_url": "/api/sign-out"}


async def test_people_of_one_organization_share_a_context_and_others_are_refused(app: FastAPI) -> None:
    ada, bob, eve = (Person(app, ORIGIN, name) for name in ("ada@acme", "bob@acme", "eve@globex"))
    for person in (ada, bob, eve):
        await person.sign_in()
    made = await ada.orc.post("/api/contexts", json={"type": "workspace", "name": "Quay"})
    assert made.status_code == 201, made.text
    address = f"/api/contexts/{made.json()['context_id']}"
    assert (await bob.orc.get(address)).status_code == 404
    for members in ("user/bob@acme", "everyone/-"):
        added = await ada.orc.put(f"{address}/members/{members}", json={"role": "viewer"})
        assert added.status_code == 204, added.text
    assert (await bob.orc.get(address)).json()["name"] == "Quay"
    assert (await eve.orc.get(address)).status_code == 404


async def test_a_session_ends_with_the_sign_out_also_for_who_kept_its_cookie(app: FastAPI) -> None:
    ada = Person(app, ORIGIN, "ada@acme")
    await ada.sign_in()
    kept = dict(ada.orc.cookies)
    answer = await ada.orc.get("/api/sign-out")
    leaving = urlsplit(answer.headers["location"])
    assert leaving.path == "/session/end"
    assert parse_qs(leaving.query)["post_logout_redirect_uri"] == [f"{ORIGIN}/"]
    page = await ada.provider.get(answer.headers["location"])
    assert page.status_code == 200 and "sign-out" in page.text
    assert not await ada.is_signed_in()
    ada.orc.cookies.update(kept)
    assert not await ada.is_signed_in()


async def test_a_session_is_one_in_all_processes_over_the_same_store(
    app: FastAPI, provider: Provider, tmp_path: Path
) -> None:
    other = opened(provider, tmp_path)
    ada, elsewhere = Person(app, ORIGIN, "ada@acme"), Person(other, ORIGIN, "ada@acme")
    address = await ada.begin()
    elsewhere.orc.cookies.update(dict(ada.orc.cookies))
    # What one process began another one finishes.
    await elsewhere.orc.get(await ada.agree(address))
    ada.orc.cookies.update(dict(elsewhere.orc.cookies))
    assert await ada.is_signed_in()
    await ada.orc.get("/api/sign-out")
    assert not await elsewhere.is_signed_in()
    await other.state.provider.close()


async def test_cookies_belong_to_one_host_and_no_script_if_the_page_is_reached_by_https(
    provider: Provider, tmp_path: Path
) -> None:
    app = opened(provider, tmp_path, BEHIND_TLS)
    ada = Person(app, BEHIND_TLS, "ada@acme")
    first = await ada.orc.get("/api/sign-in")
    answer = await ada.orc.get(await ada.agree(first.headers["location"]))
    assert answer.headers["location"] == f"{BEHIND_TLS}/"
    cookies = [*first.headers.get_list("set-cookie"), *answer.headers.get_list("set-cookie")]
    assert len(cookies) == 3
    for cookie in cookies:
        assert cookie.startswith("__Host-orc-")
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= parts
        assert not [part for part in parts if part.startswith("domain")]
    assert await ada.is_signed_in()
    await app.state.provider.close()


async def test_two_tabs_can_sign_in_at_the_same_time(app: FastAPI) -> None:
    ada = Person(app, ORIGIN, "ada@acme")
    first, second = await ada.begin("/#/contexts"), await ada.begin("/#/telemetry")
    for address, place in ((first, "/#/contexts"), (second, "/#/telemetry")):
        answer = await ada.orc.get(await ada.agree(address))
        assert answer.headers["location"] == ORIGIN + place
    assert await ada.is_signed_in()


async def test_programs_bear_tokens_of_the_same_issuer(app: FastAPI, provider: Provider) -> None:
    transport = httpx.ASGITransport(app)
    headers = {"authorization": f"Bearer {provider.token_of_a_program()}"}
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as program:
        me = (await program.get("/api/me")).json()
    assert (me["organization_id"], me["user_id"]) == ("acme", "robot")


async def test_a_sign_in_that_fails_leads_back_to_the_page_which_says_so(app: FastAPI) -> None:
    ada = Person(app, ORIGIN, "ada@acme")
    state = parse_qs(urlsplit(await ada.begin()).query)["state"][0]
    refused = await ada.orc.get("/api/sign-in/callback", params={"error": "access_denied", "state": state})
    assert refused.headers["location"] == f"{ORIGIN}/?sign-in=failed"
    assert not await ada.is_signed_in()


async def test_a_provider_that_is_away_stops_the_sign_in_and_no_session(
    provider: Provider, tmp_path: Path
) -> None:
    with openid_provider.running(ORIGIN) as briefly:
        app = opened(briefly, tmp_path)
        ada = Person(app, ORIGIN, "ada@acme")
        await ada.sign_in()
    assert await ada.is_signed_in()
    assert (await ada.orc.get("/api/sign-out")).status_code == 303
    await app.state.provider.close()
    again = opened(briefly, tmp_path)
    failed = await Person(again, ORIGIN, "ada@acme").orc.get("/api/sign-in")
    assert failed.headers["location"] == f"{ORIGIN}/?sign-in=failed"
    await again.state.provider.close()


@pytest.mark.parametrize("place", ["/api/sign-in", "/api/sign-out", "/api/sign-in/callback"])
async def test_servers_of_other_modes_have_no_sign_in(place: str, tmp_path: Path) -> None:
    for mode in (AuthMode.LOCAL, AuthMode.EASYAUTH):
        app = create_app(Settings(data_dir=tmp_path, auth_mode=mode, azure_auth_enabled=True))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert (await client.get(place)).status_code == 404
        await app.state.provider.close()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"oidc_client_id": None}, "ORC_OIDC_CLIENT_ID"),
        ({"jwt_issuer": None}, "ORC_JWT_ISSUER"),
        ({"public_url": None}, "ORC_PUBLIC_URL"),
        ({"public_url": "http://orc.example.com"}, "ORC_PUBLIC_URL"),
        ({"public_url": "https://example.com/orc"}, "ORC_PUBLIC_URL"),
        ({"public_url": "orc.example.com"}, "ORC_PUBLIC_URL"),
        ({"public_url": "https://orc.example.com@evil.example"}, "ORC_PUBLIC_URL"),
    ],
)
def test_settings_that_cannot_sign_anyone_in_are_named(changed: dict[str, str | None], named: str) -> None:
    settings = Settings(**Provider("https://issuer.example").settings("https://orc.example.com"))
    build_authenticator(settings)
    with pytest.raises(InvalidInput, match=named):
        build_authenticator(settings.model_copy(update=changed))


async def test_a_proxy_that_signs_people_in_adds_their_id_token_and_no_name_in_clear(
    app: FastAPI, provider: Provider, tmp_path: Path
) -> None:
    """What oauth2-proxy adds, by its options: only the token in `Authorization` says who is calling."""
    ada = Person(app, ORIGIN, "ada@acme")
    await ada.sign_in()
    opened = await app.state.provider.get()
    session = await opened.credentials.session(ada.orc.cookies["orc-session"])
    issued = {"jwt_issuer": provider.issuer, "jwt_audience": "orc", "jwt_claims": {"tenant": "org"}}
    settings: dict[str, Any] = {"auth_mode": AuthMode.JWT, **issued}
    behind = create_app(Settings(data_dir=tmp_path, **settings))
    forms = {
        "id token": ({"authorization": f"Bearer {session.id_token}"}, 200),
        "access token": ({"x-forwarded-access-token": session.id_token}, 401),
        "basic": ({"authorization": "Basic YWRhQGFjbWU6"}, 401),
        "names": (
            {"x-forwarded-user": "ada@acme", "x-auth-request-email": "ada@acme", "remote-user": "ada"},
            401,
        ),
        "principal": (principal_headers("acme", "ada"), 401),
    }
    async with httpx.AsyncClient(transport=httpx.ASGITransport(behind), base_url=ORIGIN) as proxy:
        for what, (headers, status) in forms.items():
            assert (await proxy.get("/api/me", headers=headers)).status_code == status, what
    await behind.state.provider.close()


async def test_an_issuer_of_another_name_is_refused_and_the_log_says_its_name(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {**provider.settings(ORIGIN), "jwt_issuer": provider.issuer + "/"}
    app = create_app(Settings(data_dir=tmp_path, **settings))
    failed = await Person(app, ORIGIN, "ada@acme").orc.get("/api/sign-in")
    assert failed.headers["location"] == f"{ORIGIN}/?sign-in=failed"
    assert f"ORC_JWT_ISSUER is not how the issuer names itself: '{provider.issuer}'" in caplog.text
    await app.state.provider.close()


@pytest.mark.parametrize("by", ["session", "key", "token"])
async def test_an_open_stream_ends_with_what_it_was_opened_with(
    by: str, provider: Provider, tmp_path: Path
) -> None:
    app = opened(provider, tmp_path, key_days=2 / DAY)
    ada = Person(app, ORIGIN, "ada@acme")
    await ada.sign_in()
    asked = await ada.orc.post("/api/orc", json={"question": "Hello"})
    store = (await app.state.provider.get()).credentials
    me = (await store.session(ada.orc.cookies["orc-session"])).principal
    ada.orc.cookies["orc-session"] = session = await store.begin_session(me, seconds=1)
    claims = {"iss": provider.issuer, "aud": AUDIENCE, "sub": me.user_id, "org": "acme"}
    # A token may be late by a minute.
    claims["exp"] = int(time.time()) + (2 if by == "token" else -58)
    secret = {
        "session": session,
        "key": (await store.create_key(me, "laptop"))[1],
        "token": jwt.encode(claims, private_key(KEY_ID), "RS256", headers={"kid": KEY_ID}),
    }[by]
    headers = {} if by == "session" else {"authorization": f"Bearer {secret}"}
    path = f"/api/conversations/{asked.json()['conversation_id']}/events"
    async with asyncio.timeout(30):
        events = await ada.orc.get(path, headers=headers)
    assert events.status_code == 200 and "event: snapshot" in events.text
    if by != "token":
        assert (await ada.orc.get("/api/me", headers=headers)).status_code == 401
    await app.state.provider.close()


@pytest.mark.parametrize(
    "changed",
    [
        {"jwt_tenant": "globex", "jwt_claims": {}},
        {"jwt_claims": {"tenant": "org", "user": "email"}},
        {"oidc_client_id": "another"},
        {"jwt_issuer": "https://another.example"},
    ],
)
async def test_sessions_and_keys_end_if_other_people_may_sign_in(
    changed: dict[str, Any], provider: Provider, tmp_path: Path
) -> None:
    async def known(app: FastAPI, kept: dict[str, str], key: str) -> list[bool]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=kept) as client:
            by_session = await client.get("/api/me")
            by_key = await client.get("/api/me", headers={"authorization": f"Bearer {key}"})
        await app.state.provider.close()
        return [by_session.status_code == 200, by_key.status_code == 200]

    first = opened(provider, tmp_path)
    ada = Person(first, ORIGIN, "ada@acme")
    await ada.sign_in()
    key = (await ada.orc.post("/api/keys", json={"name": "laptop"})).json()["key"]
    kept = {"orc-session": ada.orc.cookies["orc-session"]}
    assert await known(first, kept, key) == [True, True]
    assert await known(opened(provider, tmp_path, **changed), kept, key) == [False, False]
    same: dict[str, Any] = {"session_hours": 1, "oidc_scope": "openid profile email phone"}
    assert await known(opened(provider, tmp_path, **same), kept, key) == [True, True]


async def test_a_page_of_another_site_cannot_fill_the_browser_with_cookies(app: FastAPI) -> None:
    ada = Person(app, ORIGIN, "ada@acme")
    for place in ("/#/" + "a" * 3000, "https://evil.example/" + "a" * 3000, "/#/" + "a" * 197):
        for _ in range(10):
            await ada.begin(place)
        sent = [f"{name}={value}" for name, value in ada.orc.cookies.items() if "sign-in" in name]
        assert (len(sent), sum(map(len, sent)) < 3000) == (4, True)
    for place, reached in (("/#/" + "a" * 197, "/#/" + "a" * 197), ("/#/" + "a" * 198, "/")):
        answer = await ada.sign_in(place)
        assert answer.headers["location"] == ORIGIN + reached
