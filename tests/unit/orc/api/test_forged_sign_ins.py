"""Nothing forged, expired, replayed or mixed up is accepted: tokens, cookies, states, answers, addresses."""

import hashlib
import hmac
import time
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from fastapi import FastAPI

from devkit.doubles import openid_provider
from devkit.issuer import Issuer, issuing
from devkit.signing_in import Person
from orc.api.app import create_app
from orc.bootstrap import App
from orc.identity import Principal
from orc.settings import AuthMode, Settings
from tests.unit.orc.api.forgeries import (
    LEEWAY,
    by_claims,
    by_id_token,
    by_signature,
    issued,
    joined,
    places,
    signed,
)

pytestmark = pytest.mark.slow

ORIGIN = "http://127.0.0.1:8231"
CLIENT, AUDIENCE = "orc", "api://orc"
ACCESS_TOKEN = "an access token"
ANN = Principal("acme", "ann", frozenset({"orc.admin"}))


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        running.name = running.url.removesuffix("/keys")
        yield running


@pytest.fixture
async def app(issuer: Issuer, tmp_path: Path) -> AsyncIterator[FastAPI]:
    settings = Settings(
        data_dir=tmp_path,
        auth_mode=AuthMode.OIDC,
        public_url=ORIGIN,
        jwt_issuer=issuer.name,
        jwt_audience=AUDIENCE,
        oidc_client_id=CLIENT,
    )
    app = create_app(settings)
    yield app
    await app.state.provider.close()


@pytest.fixture
async def opened(app: FastAPI) -> App:
    found: App = await app.state.provider.get()
    return found


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield client


async def bearing(client: httpx.AsyncClient, token: str, path: str = "/api/me") -> int:
    header = (b"authorization", f"Bearer {token}".encode())
    return (await client.get(path, headers=[header])).status_code


async def with_cookie(client: httpx.AsyncClient, secret: str, **headers: str) -> int:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    cookie = (b"cookie", f"orc-session={secret}".encode())
    return (await client.get("/api/me", headers=[cookie, *sent])).status_code


def all_tokens(issuer: Issuer) -> list[tuple[str, str]]:
    right = issued(issuer, AUDIENCE)
    return [*by_signature(right), *((what, signed(claims)) for what, claims in by_claims(right))]


async def test_no_forged_token_is_accepted_as_a_token_or_a_cookie(
    issuer: Issuer, client: httpx.AsyncClient
) -> None:
    right = issued(issuer, AUDIENCE)
    assert await bearing(client, signed(right)) == 200
    assert await bearing(client, signed({**right, "exp": int(time.time()) - LEEWAY + 10})) == 200
    table = all_tokens(issuer)
    assert [what for what, token in table if await bearing(client, token) != 401] == []
    assert [what for what, token in table if await with_cookie(client, token) != 401] == []
    assert len({what for what, _ in table}) == len(table)
    assert await bearing(client, signed(right)) == 200


async def test_no_forged_token_is_accepted_of_an_mcp_client_and_none_for_the_other_interface(
    issuer: Issuer, client: httpx.AsyncClient
) -> None:
    resource = f"{ORIGIN}/mcp"
    right, known = issued(issuer, resource), 405  # there is nothing to GET for those who are known
    assert await bearing(client, signed(right), "/mcp") == known
    table = [*by_signature(right), *((what, signed(claims)) for what, claims in by_claims(right))]
    assert [what for what, token in table if await bearing(client, token, "/mcp") != 401] == []
    others = (
        AUDIENCE,
        CLIENT,
        ORIGIN,
        f"{ORIGIN}/",
        f"{ORIGIN}/mcp/",
        f"{ORIGIN}/api",
        "http://127.0.0.1:7072/mcp",
    )
    assert {await bearing(client, signed(right | {"aud": each}), "/mcp") for each in others} == {401}
    for path in ("/mcp%0A", "/mcp/", "/mcp/x", "/mcp?a=/api/me", "//mcp", "/./mcp"):
        assert await bearing(client, signed(right | {"aud": AUDIENCE}), path) != known, path
    for path in ("/api/me", "/v1/models", "/api/mcp", "/"):
        assert await bearing(client, signed(right), path) in ({200} if path == "/" else {401}), path


async def test_no_secret_is_accepted_for_what_it_is_not(
    issuer: Issuer, client: httpx.AsyncClient, opened: App
) -> None:
    store = opened.credentials
    session = await store.begin_session(ANN, seconds=600, id_token="")
    _, key = await store.create_key(ANN, "laptop")
    assert (await with_cookie(client, session), await bearing(client, key)) == (200, 200)
    lost, revoked = await store.create_key(ANN, "lost")
    assert not await store.revoke_key(Principal("globex", "ann"), lost.key_id)
    assert not await store.revoke_key(Principal("acme", "bob"), lost.key_id)
    assert await store.revoke_key(ANN, lost.key_id)
    over = await store.begin_session(ANN, seconds=-1)
    ended = await store.begin_session(ANN, seconds=600)
    await store.end_session(ended)
    await store.use_once("mark", seconds=600)
    sealed = store.seal({"state": "s"}, seconds=600)
    digest = hashlib.sha256(session.encode()).hexdigest()
    cookies = [
        over,
        ended,
        session[:-1],
        session.swapcase(),
        session + "A",
        sealed,
        "mark",
        digest,
        "",
        "null",
    ]
    cookies += ["a" * 5000, session[::-1], "é" * 20]
    assert [each for each in cookies if await with_cookie(client, each) != 401] == []
    tokens = [session, sealed, "mark", digest, revoked, f"orc_{session}", key[:-1], key.swapcase(), key[4:]]
    tokens += [f"{key}A", key.upper(), lost.key_id, f"orc_{lost.key_id}", "orc_", "orc_mark", f"orc_{sealed}"]
    assert [each for each in tokens if await bearing(client, each) != 401] == []
    # A browser that sends a token of no value besides its session is not taken for the session's user.
    for header in ("Bearer", "Bearer x", "Basic YTpi", f"bearer {session}", f"Cookie {session}", ""):
        assert await with_cookie(client, session, authorization=header) == 401, header


async def finish(client: httpx.AsyncClient, issuer: Issuer, claims: dict[str, Any], **changed: Any) -> bool:
    """Begin a sign-in and answer it with an ID token of these claims; whether it is accepted.

    `changed` are parts of the answer, and `tokens`, `person`, `cookies` and `text` of the ID token.
    """
    client.cookies.clear()
    begun = parse_qs(urlsplit((await client.get("/api/sign-in")).headers["location"]).query)
    nonce = {"nonce": begun["nonce"][0]} if claims.get("nonce") == "right" else {}
    token = changed.pop("text", None) or signed({**claims, **nonce})
    given = {"access_token": ACCESS_TOKEN, "token_type": "Bearer", "id_token": token}
    issuer.tokens = changed.pop("tokens", given)
    issuer.person = changed.pop("person", {"sub": claims.get("sub")})
    client.cookies.update(changed.pop("cookies", {}))
    query = {"code": "c", "state": begun["state"][0], **changed}
    kept = {name: value for name, value in query.items() if value is not None}
    answer = await client.get("/api/sign-in/callback", params=kept)
    has_session = "orc-session" in client.cookies
    assert has_session == (answer.headers["location"] == f"{ORIGIN}/")
    assert has_session == ((await client.get("/api/me")).status_code == 200)
    return has_session


async def test_no_id_token_of_another_sign_in_is_accepted(issuer: Issuer, client: httpx.AsyncClient) -> None:
    right = {**issued(issuer, CLIENT), "nonce": "right"}
    assert await finish(client, issuer, right)
    accepted = []
    for what, claims in [*by_claims(right), *by_id_token(right, ACCESS_TOKEN)]:
        if await finish(client, issuer, claims):
            accepted.append(what)
    assert accepted == []
    assert await finish(client, issuer, {**right, "azp": CLIENT})


async def test_no_answer_that_belongs_to_no_sign_in_is_accepted(
    issuer: Issuer, client: httpx.AsyncClient
) -> None:
    right = {**issued(issuer, CLIENT), "nonce": "right"}
    answers: dict[str, dict[str, Any]] = {
        f"state {state!r}": {"state": state}
        for state in (None, "", "x", "a" * 43, "../..", "é", "%00", "'", "null")
    }
    answers |= {
        f"issuer {name!r}": {"iss": name}
        for name in ("", "https://evil.example", issuer.name + "/", issuer.name.upper())
    }
    answers |= {
        "no code": {"code": None},
        "refused": {"error": "access_denied"},
        "refused without a code": {"error": "access_denied", "code": None},
    }
    tokens: list[object] = [None, [], "x", 7, {}, {"error": "invalid_grant"}, {"access_token": "a"}]
    tokens += [
        {"id_token": ""},
        {"access_token": "a", "id_token": None},
        {"access_token": "a", "id_token": [1]},
    ]
    answers |= {f"tokens {each!r}": {"tokens": each} for each in tokens}
    people: list[object] = [{"sub": "eve"}, {"sub": None}, {}, [], "ada", {"sub": ["ada"]}]
    answers |= {f"person {each!r}": {"person": each} for each in people}
    accepted = [what for what, changed in answers.items() if await finish(client, issuer, right, **changed)]
    assert accepted == []


async def test_userinfo_is_asked_for_what_the_id_token_lacks_and_may_refuse(
    issuer: Issuer, client: httpx.AsyncClient
) -> None:
    right = {**issued(issuer, CLIENT), "nonce": "right"}
    whole = {**right, "name": "Ada", "roles": [], "groups": []}
    assert await finish(client, issuer, whole, person=None)
    assert await finish(client, issuer, whole, person={"sub": "eve"})
    assert not await finish(client, issuer, right, person={"sub": "eve"})
    more = {"sub": right["sub"], "name": "Ada", "roles": ["reader"]}
    assert await finish(client, issuer, right, person=more)
    assert (await client.get("/api/me")).json()["roles"] == ["reader"]
    without_tenant = {name: value for name, value in right.items() if name != "tid"}
    assert await finish(client, issuer, without_tenant, person=more | {"tid": "acme"})
    for refused in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        assert await finish(client, issuer, right, person=refused)
        assert (await client.get("/api/me")).json()["roles"] == []
        assert not await finish(client, issuer, without_tenant, person=refused)
    assert not await finish(client, issuer, right, person=HTTPStatus.BAD_GATEWAY)


async def test_an_issuer_that_names_itself_in_each_answer_does_so(
    issuer: Issuer, client: httpx.AsyncClient
) -> None:
    right = {**issued(issuer, CLIENT), "nonce": "right"}
    issuer.says_issuer = True
    assert not await finish(client, issuer, right)
    assert not await finish(client, issuer, right, iss="https://evil.example")
    assert await finish(client, issuer, right, iss=issuer.name)


async def test_no_changed_or_old_attempt_is_accepted(
    issuer: Issuer, client: httpx.AsyncClient, opened: App
) -> None:
    right = {**issued(issuer, CLIENT), "nonce": "right"}

    async def begun() -> tuple[str, str, dict[str, str]]:
        client.cookies.clear()
        answer = await client.get("/api/sign-in")
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        [(name, cookie)] = client.cookies.items()
        return name, cookie, {"state": query["state"][0], "nonce": query["nonce"][0]}

    async def is_accepted(name: str, cookie: str, about: dict[str, str]) -> bool:
        client.cookies.clear()
        token = signed({**right, "nonce": about["nonce"]})
        issuer.tokens = {"access_token": ACCESS_TOKEN, "token_type": "Bearer", "id_token": token}
        issuer.person = {"sub": "ada"}
        sent = {"cookie": f"{name}={cookie}"}
        query = {"code": "c", "state": about["state"]}
        return (
            "orc-session" in (await client.get("/api/sign-in/callback", params=query, headers=sent)).cookies
        )

    name, cookie, about = await begun()
    assert await is_accepted(name, cookie, about)
    # The provider of this test gives tokens for any code, as often as it is asked.
    assert not await is_accepted(name, cookie, about), "an answer counts once"
    name, cookie, about = await begun()
    other_name, other_cookie, _ = await begun()
    head, body, signature = cookie.split(".")
    claims = jwt.decode(cookie, options={"verify_signature": False})
    key = hmac.digest(opened.credentials._keys.present.encode(), b"orc/sign-in", "sha256")
    forged = {
        "none": "",
        "of another attempt": other_cookie,
        "unsigned": joined({"alg": "none"}, claims),
        "without a signature": f"{head}.{body}.",
        "signed with another key": jwt.encode(claims, b"k" * 32, "HS256"),
        "too old": jwt.encode({**claims, "exp": int(time.time()) - 1}, key, "HS256"),
        "for ever": jwt.encode({k: v for k, v in claims.items() if k != "exp"}, key, "HS256"),
        "for another purpose": jwt.encode({**claims, "aud": "mcp"}, key, "HS256"),
        "with another state": jwt.encode({**claims, "state": "x"}, key, "HS256"),
        "with another nonce": jwt.encode({**claims, "nonce": "x"}, key, "HS256"),
    }
    forged |= {f"without {part}": jwt.encode({k: v for k, v in claims.items() if k != part}, key, "HS256")
               for part in ("state", "nonce", "verifier", "place")}  # fmt: skip
    for at in range(0, len(cookie), 12):
        changed = "A" if cookie[at] not in "A." else "B"
        forged[f"changed at {at}"] = cookie[:at] + changed + cookie[at + 1 :]
    assert [what for what, text in forged.items() if await is_accepted(name, text, about)] == []
    assert not await is_accepted(other_name, cookie, about)
    assert await is_accepted(name, cookie, about)
    assert signature


async def test_no_sign_in_leads_elsewhere(issuer: Issuer, client: httpx.AsyncClient) -> None:
    issuer.person = {"sub": "ada"}
    for place in places():
        client.cookies.clear()
        begun = await client.get("/api/sign-in", params={"post_login_redirect_uri": place})
        query = parse_qs(urlsplit(begun.headers["location"]).query)
        assert query["redirect_uri"] == [f"{ORIGIN}/api/sign-in/callback"]
        token = signed({**issued(issuer, CLIENT), "nonce": query["nonce"][0]})
        issuer.tokens = {"access_token": ACCESS_TOKEN, "token_type": "Bearer", "id_token": token}
        answer = await client.get("/api/sign-in/callback", params={"code": "c", "state": query["state"][0]})
        assert "orc-session" in client.cookies
        assert answer.headers["location"] == f"{ORIGIN}/", place


async def test_no_page_of_another_site_changes_anything_or_signs_anyone_out(
    client: httpx.AsyncClient, opened: App
) -> None:
    session = await opened.credentials.begin_session(ANN, seconds=600)
    cookie = {"cookie": f"orc-session={session}"}
    refused: list[dict[str, str]] = [
        {},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9"},
        {"origin": "https://127.0.0.1:8231"},
        {"origin": ORIGIN + ".evil.example"},
        {"origin": "http://evil.example", "x-forwarded-host": "evil.example"},
        {"origin": "http://evil.example", "host": "evil.example"},
        *({"sec-fetch-site": site} for site in ("cross-site", "same-site", "none", "", "same-origin2")),
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"origin": ORIGIN, "sec-fetch-site": "same-site"},
    ]
    body = {"type": "workspace", "name": "Quay"}
    writes = (("POST", "/api/contexts"), ("DELETE", "/api/contexts/x"), ("PATCH", "/api/contexts/x"))
    for headers in refused:
        for method, path in writes:
            answer = await client.request(method, path, json=body, headers={**cookie, **headers})
            assert answer.status_code == 403, (headers, method)
    for site in ("cross-site", "same-site", ""):
        answer = await client.get("/api/sign-out", headers={**cookie, "sec-fetch-site": site})
        assert answer.status_code == 403
    for headers in ({"origin": ORIGIN}, {"sec-fetch-site": "same-origin", "origin": ORIGIN}):
        answer = await client.post("/api/contexts", json=body, headers={**cookie, **headers})
        assert answer.status_code == 201, answer.text
    answer = await client.get("/api/sign-out", headers={**cookie, "sec-fetch-site": "same-origin"})
    assert answer.status_code == 303


async def test_a_code_counts_once_and_in_its_own_browser_at_a_real_provider(tmp_path: Path) -> None:
    with openid_provider.running(ORIGIN) as provider:
        app = create_app(Settings(data_dir=tmp_path, **provider.settings(ORIGIN)))
        ada, eve = Person(app, ORIGIN, "ada@acme"), Person(app, ORIGIN, "eve@globex")
        answered = await ada.agree(await ada.begin())
        kept = dict(ada.orc.cookies)
        # Eve has Ada's answer, without Ada's browser.
        await eve.orc.get(answered)
        assert not await eve.is_signed_in()
        await ada.orc.get(answered)
        assert await ada.is_signed_in()
        ada.orc.cookies.clear()
        ada.orc.cookies.update(kept)
        await ada.orc.get(answered)
        assert not await ada.is_signed_in()
        # Eve's code in an attempt of Ada's: the provider compares the challenge.
        code = parse_qs(urlsplit(await eve.agree(await eve.begin())).query)["code"][0]
        state = parse_qs(urlsplit(await ada.begin()).query)["state"][0]
        query = {"code": code, "state": state, "iss": provider.issuer}
        await ada.orc.get("/api/sign-in/callback", params=query)
        assert not await ada.is_signed_in()
        await app.state.provider.close()


def test_the_table_is_long(issuer: Issuer) -> None:
    right = {**issued(issuer, CLIENT), "nonce": "right"}
    rows = len(all_tokens(issuer)), len([*by_claims(right), *by_id_token(right, "a")]), len([*places()])
    assert sum(rows) >= 300, rows
