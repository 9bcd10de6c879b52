"""Verifies the tokens of an issuer with the keys that it publishes; withdrawn ones end within minutes."""

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import jwt

from orc.settings import Settings
from orc_core.errors import DependencyDown, InvalidInput, NotAuthenticated
from orc_core.infra.keys import CLOCK_SKEW_SECONDS

RENEWAL_SECONDS = 240.0
"""Age of the keys from which they are fetched again while requests go on."""
FRESH_SECONDS = 300.0
"""Age up to which a key is used without an answer of the issuer."""
LONGEST_SECONDS = 900.0
"""Age up to which a key is used while the issuer does not answer."""
FETCH_SECONDS = 5.0
"""How long one fetch may take in all."""
PAUSE_SECONDS = 30.0
RETRY_SECONDS = 5.0
"""Shortest time between two fetches, and from a fetch that failed to the next."""
MAX_BYTES = 1024 * 1024
DESCRIPTION_PATH = "/.well-known/openid-configuration"
ADDRESSES = frozenset(
    {"authorization_endpoint", "end_session_endpoint", "jwks_uri", "token_endpoint", "userinfo_endpoint"}
)
"""What of a description is followed."""
ALGORITHMS = ["RS256", "ES256"]
_KINDS = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
"""Types of tokens that say who is calling. An issuer signs others too, such as notices of sign-outs."""
Description = dict[str, Any]
Found = TypeVar("Found")

logger = logging.getLogger(__name__)


class IssuerKeys:
    """The keys of an issuer. A request whose key is known and fresh never waits for the issuer.

    Whatever callers send, the issuer is asked at most every PAUSE_SECONDS, or RETRY_SECONDS while it fails.
    Without an address of the keys it is the one that the issuer's description names.
    """

    def __init__(
        self, issuer: str, url: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` has the seconds since some moment."""
        if not is_web_address(url or issuer):
            name = "ORC_JWT_JWKS_URL" if url else "ORC_JWT_ISSUER"
            raise InvalidInput(f"{name} must be an http or https address.")
        self._issuer = issuer
        self._url = url
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._description: Description = {}
        self._fetched_at = self._attempted_at = float("-inf")
        self._failure = ""
        self._fetch: asyncio.Task[None] | None = None
        self._tls: ssl.SSLContext | None = None

    async def find(self, key_id: str) -> jwt.PyJWK:
        """The key with this id.

        Raises NotAuthenticated if the issuer does not publish it, DependencyDown if the issuer was asked
        and did not answer.
        """
        if (key := await self._known(lambda: self._keys.get(key_id))) is None:
            raise NotAuthenticated("The bearer token does not verify.")
        return key

    async def description(self) -> Description:
        """What the issuer says of itself, such as the address of its sign-in. Raises DependencyDown."""
        if (found := await self._known(lambda: self._description or None)) is None:
            raise DependencyDown("The identity provider cannot be asked.", dependency="identity")
        return found

    async def ping(self) -> None:
        """Raise DependencyDown, with the reason, unless the issuer publishes keys. For operators only."""
        try:
            keys = await self._known(lambda: self._keys or None)
        except DependencyDown as exc:
            raise DependencyDown(f"{exc.message} {self._failure}", dependency="identity") from exc
        if keys is None:
            raise DependencyDown("The issuer of tokens publishes no keys.", dependency="identity")

    async def _known(self, look: Callable[[], Found | None]) -> Found | None:
        """What `look` finds in what was fetched, which is fetched again if it is old or has none."""
        found, age = self._look(look), self._age
        if found is not None and (age < FRESH_SECONDS or self._failure):
            if age >= RENEWAL_SECONDS:
                self._begin_fetch()
            return found
        if (fetch := self._begin_fetch()) is not None:
            # Others wait for the same fetch: it goes on if this caller disconnects.
            await asyncio.shield(fetch)
        if (found := self._look(look)) is None and self._failure:
            raise DependencyDown(
                "The keys that bearer tokens are verified with cannot be fetched.", dependency="identity"
            )
        return found

    @property
    def _age(self) -> float:
        return self._clock() - self._fetched_at

    def _look(self, look: Callable[[], Found | None]) -> Found | None:
        return look() if self._age < LONGEST_SECONDS else None

    def _begin_fetch(self) -> "asyncio.Task[None] | None":
        """The fetch under way, or a new one; None if the last one was too short a time ago."""
        if self._fetch is None:
            pause = RETRY_SECONDS if self._failure else PAUSE_SECONDS
            if self._clock() < self._attempted_at + pause:
                return None
            self._fetch = asyncio.create_task(self._renew())
        return self._fetch

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                if self._url is None:
                    self._description = await self._describe()
                url = self._url or self._description["jwks_uri"]
                self._keys = _signing_keys(await self._download(url))
            self._fetched_at, self._failure = self._clock(), ""
        # TimeoutError is an OSError; the others are an answer cut short, or no JSON.
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RecursionError) as exc:
            self._failure = str(exc) if type(exc) is ValueError else type(exc).__name__
            logger.warning("the issuer's keys cannot be fetched: %s", self._failure)
        finally:
            self._attempted_at, self._fetch = self._clock(), None

    async def _describe(self) -> Description:
        """The issuer's description of itself. ValueError unless it is of this issuer."""
        found = await self._download(self._issuer.rstrip("/") + DESCRIPTION_PATH)
        if not isinstance(found, dict) or found.get("issuer") != self._issuer:
            named = found.get("issuer") if isinstance(found, dict) else None
            raise ValueError(f"ORC_JWT_ISSUER is not how the issuer names itself: {named!r}")
        description = {
            name: value
            for name, value in found.items()
            if name not in ADDRESSES or (isinstance(value, str) and is_web_address(value))
        }
        if "jwks_uri" not in description:
            raise ValueError("the issuer names no address of its keys")
        return description

    async def tls(self) -> ssl.SSLContext:
        """The certificates of the authorities that this machine trusts."""
        if self._tls is None:
            # To read them takes tens of milliseconds.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls

    async def _download(self, url: str) -> Any:
        body = b""
        async with (
            httpx2.AsyncClient(verify=await self.tls(), timeout=FETCH_SECONDS) as client,
            client.stream("GET", url) as response,
        ):
            response.raise_for_status()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise ValueError("more bytes than any set of keys has")
        return json.loads(body)


def is_web_address(url: str) -> bool:
    """Whether it is an address that can be fetched."""
    return urlsplit(url).scheme in {"http", "https"}


def _signing_keys(published: Any) -> dict[str, jwt.PyJWK]:
    """The keys for signatures by id. ValueError for anything but a set of keys; an empty set is one."""
    if not isinstance(published, dict) or not isinstance(published.get("keys"), list):
        raise ValueError("no set of keys")
    found: dict[str, jwt.PyJWK] = {}
    for each in published["keys"]:
        try:
            key = jwt.PyJWK.from_dict(each)
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
            continue  # a kind of key that we do not know
        if isinstance(key.key_id, str) and key.public_key_use in ("sig", None):
            found.setdefault(key.key_id, key)
    return found


class Issuer:
    """The issuer of tokens, with its keys. `clock` measures how old those are."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        if not settings.jwt_issuer:
            raise InvalidInput(f"ORC_AUTH_MODE={settings.auth_mode} needs ORC_JWT_ISSUER.")
        self.name = settings.jwt_issuer
        self.keys = IssuerKeys(self.name, settings.jwt_jwks_url, clock)

    async def verify(self, token: str, audience: str, *required: str) -> dict[str, Any]:
        """The claims of a token for this audience. Raises NotAuthenticated for any other, or an expired one.

        It has to have the `required` claims. Raises DependencyDown if its key has to be asked for in vain.
        """
        try:
            header = jwt.get_unverified_header(token)
            kind = str(header.get("typ") or "").lower()
            if header.get("alg") not in ALGORITHMS or not header.get("kid") or kind not in _KINDS:
                raise jwt.InvalidTokenError("no key of an issuer")
            claims: dict[str, Any] = jwt.decode(
                token,
                await self.keys.find(str(header["kid"])),
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=self.name,
                leeway=CLOCK_SKEW_SECONDS,
                options={"require": ["exp", "iss", "aud", *required]},
            )
        except jwt.PyJWTError as exc:
            raise NotAuthenticated("The bearer token does not verify.") from exc
        return claims
