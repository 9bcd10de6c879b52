"""Upstash Vector's REST API as the adapter uses it: one namespace of an index.

Statuses and exceptions of HTTP stop here, and so do the service's own words, which may repeat what was sent.
Every call is guarded, and writes may be repeated: they say what an item is to be. `fetch` and `scan` show a
write at once; `query` finds it some time later, see `wait_until_found`.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import httpx2

from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.azure import RETRYABLE_STATUS, DependencyMisconfigured
from orc_core.infra.resilience import CircuitBreaker, pauses
from orc_core.infra.slices import slices

VECTORS = "vectors"
"""The dependency, as errors name it."""
NAMESPACE = "orc"
CONNECT_SECONDS = 2.0
ATTEMPT_SECONDS = 5.0
VISIBLE_SECONDS = 30.0
PAGE = 1000
"""The most items of one answer."""
BATCH = 100
"""Items of one request with vectors: 2 MB of JSON, for vectors of 1,536 numbers. The service takes 1,000."""

Item = dict[str, Any]

_PLAIN = re.compile(r"[A-Za-z0-9][\w-]{0,199}", re.ASCII)


class UpstashVector:
    """The items of one namespace. Filters are the service's; build them with `among`."""

    def __init__(self, http: httpx2.AsyncClient, url: str, token: str, namespace: str = NAMESPACE) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._namespace = namespace
        self._breaker = CircuitBreaker(VECTORS, _translate)
        self._dimension: int | None = None

    async def query(self, queries: Sequence[Item]) -> list[list[Item]]:
        """For each query (`vector`, `topK`, `filter`) the nearest items: id, score, metadata; best first."""
        answers: list[list[Item]] = await self._ask("query", [{**each, **_DESCRIBED} for each in queries])
        return answers

    async def fetch(self, ids: Sequence[str]) -> list[Item]:
        """Those of these items that exist, without their vectors."""
        found: list[Item] = []
        for some in slices(ids, PAGE):
            found += await self._ask("fetch", {"ids": list(some), **_DESCRIBED})
        return list(filter(None, found))

    async def scan(self, prefix: str) -> AsyncIterator[list[Item]]:
        """The items whose ids begin with a prefix, with their vectors, page by page."""
        cursor = "0"
        while cursor:
            wanted = {"prefix": prefix, "cursor": cursor, "limit": BATCH, "includeVectors": True}
            page = await self._ask("range", wanted | _DESCRIBED)
            yield page["vectors"]
            cursor = page["nextCursor"]

    async def upsert(self, items: Sequence[Item]) -> None:
        """Write these items (`id`, `vector`, `metadata`); if it raises, some may have been written."""
        for some in slices(items, BATCH):
            await self._ask("upsert", some)

    async def delete(self, *, ids: Sequence[str] = (), prefix: str = "") -> None:
        """Remove the items with these ids, or those whose ids begin so; absent ones are no error."""
        await self._ask("delete", {"prefix": prefix} if prefix else {"ids": list(ids)}, method="DELETE")

    async def wait_until_found(self, item: Item, within: str) -> None:
        """Return when a query finds this item, which alone fits the filter. Raises DependencyDown."""
        async for _ in pauses(VISIBLE_SECONDS):
            if any(await self.query([{"vector": item["vector"], "topK": 1, "filter": within}])):
                return
        raise _down("Upstash Vector is behind with what was written. Try again shortly.")

    async def dimension(self) -> int:
        """How many numbers each vector of the index has."""
        if self._dimension is None:
            self._dimension = int((await self._ask("info", None, method="GET"))["dimension"])
        return self._dimension

    async def ping(self) -> None:
        """Raise DependencyDown unless the index answers and compares by cosine."""
        async with self._breaker.attempt():
            info = await self._send("GET", f"{self._url}/info", None)
        if info.get("similarityFunction") != "COSINE":
            message = "The index in Upstash Vector does not compare by COSINE: create one that does."
            raise DependencyMisconfigured(message, dependency=VECTORS)

    async def _ask(self, command: str, body: Any, *, method: str = "POST") -> Any:
        path = command if body is None else f"{command}/{self._namespace}"
        # A body of vectors takes tens of milliseconds, in which nothing else would run.
        text = None if body is None else await asyncio.to_thread(json.dumps, body, allow_nan=False)
        return await self._breaker.call(partial(self._send, method, f"{self._url}/{path}", text))

    async def _send(self, method: str, url: str, content: str | None) -> Any:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            response = await self._http.request(method, url, content=content, headers=self._headers)
        if response.status_code != HTTPStatus.OK:
            if response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
                message = "Upstash Vector refused the token: check UPSTASH_VECTOR_REST_TOKEN."
                raise DependencyMisconfigured(message, dependency=VECTORS)
            if response.status_code in RETRYABLE_STATUS:
                raise _down("Upstash Vector is busy. Try again shortly.")
            message = f"Upstash Vector refused a request with status {response.status_code}."
            raise DependencyMisconfigured(message, dependency=VECTORS, code="dependency_refused")
        try:
            return response.json()["result"]
        except (ValueError, KeyError, TypeError) as exc:
            raise _down("Upstash Vector gave an answer that cannot be read. Try again shortly.") from exc


def open_upstash(url: str, token: str) -> tuple[UpstashVector, httpx2.AsyncClient]:
    """A client of the index at this address, and the connections to close. Connects to nothing yet."""
    http = httpx2.AsyncClient(timeout=httpx2.Timeout(ATTEMPT_SECONDS, connect=CONNECT_SECONDS))
    return UpstashVector(http, url, token), http


def is_plain(value: str) -> bool:
    """Whether a string can stand in an id and in a filter as it is: the filter's grammar has no escapes."""
    return _PLAIN.fullmatch(value) is not None


def among(field: str, values: Iterable[str]) -> str:
    """The filter for items whose field has one of these values, which must be plain."""
    plain = list(values)
    if not all(map(is_plain, plain)):
        raise ValueError("an id may have letters, digits, dashes and underscores")
    literals = ", ".join(f"'{value}'" for value in plain)
    return f"{field} IN ({literals})"


def _translate(exc: Exception) -> OrcError | None:
    if isinstance(exc, TimeoutError | httpx2.TimeoutException):
        return _down("Upstash Vector did not answer in time. Try again shortly.")
    if isinstance(exc, httpx2.HTTPError | httpx2.InvalidURL):
        return _down("Upstash Vector does not answer. Try again shortly.")
    return None


def _down(message: str) -> DependencyDown:
    return DependencyDown(message, dependency=VECTORS)


_DESCRIBED = {"includeMetadata": True}
