"""Azure AI Search as the adapters use it: queries and writes on one index.

The SDK's types, retries and exceptions stop here. Every call is guarded, so writes may be repeated: they
say what an item is to be, never what is to be added. A write can be read some time after it was
acknowledged, not in the order of the writes, and on one replica before another: `wait_for` and `remove`
return when the replica that they happen to ask shows the write.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from azure.core.credentials import AzureKeyCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import HttpResponseError
from azure.core.rest import HttpRequest
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from orc_core.errors import DependencyDown
from orc_core.infra.azure import RETRYABLE_STATUS, DependencyMisconfigured, error_translator
from orc_core.infra.resilience import CircuitBreaker, pauses

API_VERSION = "2026-04-01"
CONNECT_SECONDS = 2.0
READ_SECONDS = 3.0
"""The longest wait for a query's answer."""
QUERY_SECONDS = 6.5
"""Time limit of a query with its retries, of which two can end by themselves."""
WRITE_SECONDS = 30.0
VISIBLE_SECONDS = 30.0
PAGE = 1000
"""The most rows of one answer."""
BATCH_ACTIONS = 500
BATCH_BYTES = 900_000
"""The service takes 1,000 actions and 16 MB; from 1 MB on, aiohttp would hold up the event loop."""
KEY = "key"
SCORE, RERANKED = "@search.score", "@search.rerankerScore"
BAD_REQUEST, ABSENT = 400, 404
BUSY = RETRYABLE_STATUS | {409, 422}
"""Statuses of a single item after which the same write may work."""

Row = dict[str, Any]
Work = Callable[[], Awaitable[Row]]

_PLAIN = re.compile(r"[A-Za-z0-9][\w-]{0,199}", re.ASCII)


class Search:
    """One index. Filters are OData; build them with `equal`, `among` and `both`."""

    def __init__(self, client: SearchClient, index: str, breaker: CircuitBreaker) -> None:
        self._client = client
        self._address = f"/indexes('{index}')/docs/search."
        self._breaker = breaker

    async def query(self, within: str, **options: Any) -> list[Row]:
        """The items that fit a filter; `options` are those of the REST API, with lists of names as lists.

        Rows have the selected fields, SCORE, and RERANKED if the reranker took part. Raises
        DependencyDown after seven seconds at the latest.
        """
        return list((await self._ask(self._breaker.call, within, options))["value"])

    async def query_once(self, within: str, **options: Any) -> list[Row]:
        """Like `query`, but never repeated: for results that a caller can do without."""
        return list((await self._ask(self._breaker.call_once, within, options))["value"])

    async def write(self, actions: Sequence[Row]) -> None:
        """Make these writes, see `merged`; if it raises, some may have been made."""
        bodies = _bodies(actions)
        while (body := await asyncio.to_thread(next, bodies, None)) is not None:
            await self._breaker.call(partial(self._send, body))

    async def remove(self, within: str) -> None:
        """Remove what fits a filter, until nothing can be found that does."""
        await self.clear(within, lambda row: deleted(row[KEY]), [KEY])

    async def clear(self, within: str, undo: Callable[[Row], Row], fields: list[str]) -> None:
        """Write what `undo` makes of items that fit a filter, until none can be found that does."""
        async for _ in _patience():
            found = await self.query(within, select=fields, top=PAGE)
            if not found:
                return
            await self.write([undo(row) for row in found])

    async def wait_for(self, within: str, count: int) -> None:
        """Return when at least `count` items that fit a filter can be found. Raises DependencyDown."""
        async for _ in _patience():
            answer = await self._ask(self._breaker.call, within, {"count": True, "top": 0})
            if answer["@odata.count"] >= count:
                return

    async def ping(self) -> None:
        """Raise DependencyDown unless the index answers."""
        async with self._breaker.attempt():
            await self._client.get_document_count(read_timeout=READ_SECONDS)

    async def close(self) -> None:
        """Close the client's connections."""
        await self._client.close()

    async def _ask(
        self, call: Callable[[Work], Awaitable[Row]], within: str, options: Mapping[str, Any]
    ) -> Row:
        joined = {name: ",".join(value) if name in _NAMES else value for name, value in options.items()}
        body = json.dumps({"filter": within, **joined}).encode()
        try:
            async with asyncio.timeout(QUERY_SECONDS):
                return await call(lambda: self._search(body))
        except TimeoutError as exc:
            message = "AI Search did not answer in time. Try again shortly."
            raise DependencyDown(message, dependency="search") from exc

    async def _search(self, body: bytes) -> Row:
        # Inside the breaker, so that a timeout counts as a failure; the SDK restarts its own with every byte.
        async with asyncio.timeout(READ_SECONDS):
            return await self._post("post.search", body, READ_SECONDS)

    async def _post(self, operation: str, body: bytes, seconds: float) -> Row:
        # Not by the SDK's own methods, whose models take 12 ms to copy one vector of 1,536 numbers.
        address, version = self._address + operation, {"api-version": API_VERSION}
        request = HttpRequest("POST", address, params=version, headers=_HEADERS, content=body)
        response = await self._client.send_request(request, read_timeout=seconds)
        if response.status_code >= BAD_REQUEST:
            # The SDK's error without the service's words, which may repeat what was asked or stored.
            code = ""
            with suppress(ValueError, KeyError, TypeError):
                code = response.json()["error"]["code"]
            error = HttpResponseError(f"status {response.status_code} {code}")
            error.status_code = response.status_code
            raise error
        return dict(response.json())

    async def _send(self, body: bytes) -> None:
        results = (await self._post("index", body, WRITE_SECONDS))["value"]
        failed = {result["statusCode"] for result in results if not result["status"]} - {ABSENT}
        if failed - BUSY:
            message = f"AI Search refused to store items, with status {min(failed - BUSY)}."
            raise DependencyMisconfigured(message, dependency="search", code="dependency_refused")
        if failed:
            raise DependencyDown("AI Search is busy. Try again shortly.", dependency="search")


def open_search(endpoint: str, credential: str | AsyncTokenCredential, index: str) -> Search:
    """A client for this index, with a key or an identity. Connects to nothing yet."""
    client = SearchClient(endpoint, index, _credential(credential), **_OPTIONS)
    return Search(client, index, search_breaker())


def open_index_client(endpoint: str, credential: str | AsyncTokenCredential) -> SearchIndexClient:
    """The SDK's client for index definitions, used by `orc provision`."""
    return SearchIndexClient(endpoint, _credential(credential), **_OPTIONS)


def search_breaker() -> CircuitBreaker:
    """A connection policy between the client and AI Search."""
    return CircuitBreaker("search", error_translator("search", "AI Search"))


def merged(item: Row) -> Row:
    """Write these fields of an item; others stay as they are, and an absent item is made."""
    return {"@search.action": "mergeOrUpload", **item}


def changed(item: Row) -> Row:
    """Write these fields of an item if it exists."""
    return {"@search.action": "merge", **item}


def deleted(key: str) -> Row:
    """Remove an item; an absent one is no error."""
    return {"@search.action": "delete", KEY: key}


def is_plain(value: str) -> bool:
    """Whether a string can stand in a key and in a filter as it is."""
    return _PLAIN.fullmatch(value) is not None


def equal(field: str, value: str) -> str:
    """The filter for items whose field has this value, which must be plain."""
    return f"{field} eq '{_plain(value)}'"


def among(field: str, values: Iterable[str]) -> str:
    """The filter for items whose field has one of these values, which must be plain."""
    return f"search.in({field}, '{','.join(map(_plain, values))}', ',')"


def both(*filters: str) -> str:
    """The filter for items that fit every one of these."""
    return " and ".join(filters)


def _plain(value: str) -> str:
    if not is_plain(value):
        raise ValueError("an id may have letters, digits, dashes and underscores")
    return value


def _bodies(actions: Sequence[Row]) -> Iterator[bytes]:
    batch: list[str] = []
    size = 0
    for action in map(json.dumps, actions):
        if batch and (len(batch) == BATCH_ACTIONS or size + len(action) > BATCH_BYTES):
            yield _body(batch)
            batch, size = [], 0
        batch.append(action)
        size += len(action)
    if batch:
        yield _body(batch)


def _body(actions: Sequence[str]) -> bytes:
    return f'{{"value": [{", ".join(actions)}]}}'.encode()


async def _patience() -> AsyncIterator[None]:
    """Turns of a wait for a write to be seen, further and further apart."""
    async for turn in pauses(VISIBLE_SECONDS):
        yield turn
    raise DependencyDown("AI Search is behind with what was written. Try again shortly.", dependency="search")


def _credential(credential: str | AsyncTokenCredential) -> AzureKeyCredential | AsyncTokenCredential:
    return AzureKeyCredential(credential) if isinstance(credential, str) else credential


_NAMES = {"select", "searchFields"}
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json;odata.metadata=none"}
# The breaker retries.
_OPTIONS: Any = {"api_version": API_VERSION, "connection_timeout": CONNECT_SECONDS, "retry_total": 0}
