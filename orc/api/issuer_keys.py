"""The public keys of an issuer of tokens, fetched once at a time and used for minutes after a withdrawal."""

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt

from orc_core.errors import DependencyDown, InvalidInput, NotAuthenticated

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

logger = logging.getLogger(__name__)


class IssuerKeys:
    """The keys at `url`. A request whose key is known and fresh never waits for the issuer.

    Whatever callers send, the issuer is asked at most every PAUSE_SECONDS, or RETRY_SECONDS while it fails.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` has the seconds since some moment."""
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InvalidInput("ORC_JWT_JWKS_URL must be an http or https address.")
        self._url = url
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = self._attempted_at = float("-inf")
        self._is_failing = False
        self._fetch: asyncio.Task[None] | None = None
        self._tls: ssl.SSLContext | None = None

    async def find(self, key_id: str) -> jwt.PyJWK:
        """The key with this id.

        Raises NotAuthenticated if the issuer does not publish it, DependencyDown if the issuer was asked
        and did not answer.
        """
        key, age = self._known(key_id), self._age
        if key is not None and (age < FRESH_SECONDS or self._is_failing):
            if age >= RENEWAL_SECONDS:
                self._begin_fetch()
            return key
        if (fetch := self._begin_fetch()) is not None:
            # Others wait for the same fetch: it goes on if this caller disconnects.
            await asyncio.shield(fetch)
        if (key := self._known(key_id)) is not None:
            return key
        if self._is_failing:
            raise DependencyDown(
                "The keys that bearer tokens are verified with cannot be fetched.", dependency="identity"
            )
        raise NotAuthenticated("The bearer token does not verify.")

    @property
    def _age(self) -> float:
        return self._clock() - self._fetched_at

    def _known(self, key_id: str) -> jwt.PyJWK | None:
        return self._keys.get(key_id) if self._age < LONGEST_SECONDS else None

    def _begin_fetch(self) -> "asyncio.Task[None] | None":
        """The fetch under way, or a new one; None if the last one was too short a time ago."""
        if self._fetch is None:
            pause = RETRY_SECONDS if self._is_failing else PAUSE_SECONDS
            if self._clock() < self._attempted_at + pause:
                return None
            self._fetch = asyncio.create_task(self._renew())
        return self._fetch

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                self._keys = _signing_keys(json.loads(await self._download()))
            self._fetched_at, self._is_failing = self._clock(), False
        # TimeoutError is an OSError; the others are an answer cut short, or no JSON.
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RecursionError) as exc:
            logger.warning("the issuer's keys cannot be fetched: %s", type(exc).__name__)
            self._is_failing = True
        finally:
            self._attempted_at, self._fetch = self._clock(), None

    async def _download(self) -> bytes:
        if self._tls is None:
            # Reading the certificates of all authorities takes tens of milliseconds.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        body = b""
        async with (
            httpx2.AsyncClient(verify=self._tls, timeout=FETCH_SECONDS) as client,
            client.stream("GET", self._url) as response,
        ):
            response.raise_for_status()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise ValueError("more bytes than any set of keys has")
        return body


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
