"""Keys of an issuer: withdrawn ones end, and no caller makes others wait for the issuer."""

import asyncio
import base64
import hmac
import json
from collections.abc import Iterator

import pytest
from fastapi import Request

from devkit.clock import Clock
from devkit.issuer import AUDIENCE, NAME, Issuer, issuing
from orc.api.auth import BearerTokens
from orc.settings import AuthMode, Settings
from orc_core.errors import DependencyDown, NotAuthenticated


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as running:
        yield running


@pytest.fixture
def tokens(issuer: Issuer, clock: Clock) -> BearerTokens:
    settings = Settings(
        auth_mode=AuthMode.JWT, jwt_issuer=NAME, jwt_audience=AUDIENCE, jwt_jwks_url=issuer.url
    )
    return BearerTokens(settings, clock)


def bearing(token: str) -> Request:
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "scheme": "http"}
    return Request({**scope, "headers": [(b"authorization", f"Bearer {token}".encode())]})


async def is_accepted(tokens: BearerTokens, token: str) -> bool:
    try:
        return (await tokens.identify(bearing(token))).user_id == "ada"
    except NotAuthenticated:
        return False


async def test_tokens_of_a_withdrawn_key_end_with_the_next_fetch(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    assert await is_accepted(tokens, issuer.token("k1"))
    issuer.published = ["k2"]
    clock.advance(60)
    assert await is_accepted(tokens, issuer.token("k2", signed_with="k2"))
    assert not await is_accepted(tokens, issuer.token("k1"))


async def test_tokens_of_a_withdrawn_key_end_after_five_minutes_without_a_new_key(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    assert await is_accepted(tokens, issuer.token("k1"))
    issuer.published = []
    clock.advance(301)
    assert not await is_accepted(tokens, issuer.token("k1"))


async def test_keys_are_fetched_once_and_renewed_before_anyone_waits_for_them(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    accepted = await asyncio.gather(*(is_accepted(tokens, issuer.token()) for _ in range(10)))
    assert all(accepted)
    assert issuer.fetches == 1
    clock.advance(250)
    issuer.answers.clear()
    assert await is_accepted(tokens, issuer.token())
    issuer.answers.set()
    await fetches(issuer, 2)


async def test_unknown_keys_do_not_make_the_issuer_busy(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    assert await is_accepted(tokens, issuer.token())
    for number in range(30):
        clock.advance(0.5)
        assert not await is_accepted(tokens, issuer.token(f"x{number}"))
    assert issuer.fetches == 1


async def test_a_silent_issuer_stops_only_those_with_unknown_keys(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    assert await is_accepted(tokens, issuer.token("k1"))
    clock.advance(60)
    issuer.answers.clear()
    strangers = [asyncio.create_task(is_accepted(tokens, issuer.token("k2"))) for _ in range(20)]
    await fetches(issuer, 2)
    async with asyncio.timeout(1):
        assert await is_accepted(tokens, issuer.token("k1"))
    issuer.answers.set()
    assert not any(await asyncio.gather(*strangers))
    assert issuer.fetches == 2


async def test_a_failing_issuer_is_asked_again_after_a_pause_only(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    issuer.status = 500
    for _ in range(10):
        with pytest.raises(DependencyDown):
            await tokens.identify(bearing(issuer.token()))
    assert issuer.fetches == 1
    issuer.status = 200
    clock.advance(6)
    assert await is_accepted(tokens, issuer.token())


async def test_known_keys_serve_on_while_the_issuer_is_down_but_not_for_ever(
    issuer: Issuer, tokens: BearerTokens, clock: Clock
) -> None:
    assert await is_accepted(tokens, issuer.token())
    issuer.status = 503
    clock.advance(301)
    assert await is_accepted(tokens, issuer.token())
    clock.advance(600)
    with pytest.raises(DependencyDown):
        await tokens.identify(bearing(issuer.token()))


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "RS256", "kid": None},
        {"alg": "RS256", "kid": ["k1"]},
        {"alg": "RS256", "jku": "https://evil.example/keys", "jwk": {"kty": "oct", "k": "a2V5"}},
        {"alg": "RS256", "x5u": "https://evil.example/cert"},
        {"alg": "RS256", "kid": "../k1"},
    ],
    ids=["none", "public key as a secret", "no key", "list", "own key", "own certificate", "path"],
)
async def test_a_forged_header_proves_nothing(
    issuer: Issuer, tokens: BearerTokens, header: dict[str, object]
) -> None:
    claims = issuer.token().split(".")[1]
    head = in_base64(json.dumps({"typ": "JWT", "kid": "k1", **header}).encode())
    signature = hmac.digest(issuer.key_set, f"{head}.{claims}".encode(), "sha256")
    assert not await is_accepted(tokens, f"{head}.{claims}.")
    assert not await is_accepted(tokens, f"{head}.{claims}.{in_base64(signature)}")


def in_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


async def fetches(issuer: Issuer, number: int) -> None:
    """Wait until the issuer was asked so many times more."""
    for _ in range(number):
        assert await asyncio.to_thread(issuer.arrivals.acquire, timeout=5)
