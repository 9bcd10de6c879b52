"""The tools server over MCP: one connection pool per process, and one request for each call."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError

from orc.tools.mcp_messages import CallResult, Listing, McpMessage, McpRequest, RefusedRequest, messages_of
from orc.tools.ports import OnProgress, OnRestart, ToolSchema
from orc_core.errors import DependencyDown, InvalidInput, OrcError, error_named
from orc_core.infra.keys import CLOCK_SKEW_SECONDS
from orc_core.infra.resilience import CircuitBreaker, CircuitOpen
from orc_core.infra.telemetry.calls import tool_step
from orc_core.mcp_contract import STREAM_META_KEY, ToolFailure, tool_progress

logger = logging.getLogger(__name__)

Result = TypeVar("Result", bound=BaseModel)

SCHEMAS_KEPT_SECONDS = 60.0
CONNECT_SECONDS = 5.0
KEPT_OPEN_SECONDS = 4.0
"""Less than the tools server keeps an idle connection, so that no call is sent as the server closes it."""
LISTING_SECONDS = 5.0
RESTART_SECONDS = 4.0
"""How long calls wait for a lost server; later calls fail at once until it answers."""
RESTART_POLL_SECONDS = 0.1
MOST_PAUSE_SECONDS = 0.1
"""Calls that broke off together are repeated at random times within this."""
END_SECONDS = 0.1
"""How long a stream may stay open behind its result."""
_PROXY_WITHOUT_SERVER = {502, 503, 504}


# Why not the client of the MCP library: docs/decisions/tools-server.md.
class McpToolGateway:
    """ToolGateway over streamable HTTP.

    `timeout_seconds` limits one call from start to result, `listing_seconds` the listing of tools, which is
    cached for `kept_seconds`.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float,
        listing_seconds: float = LISTING_SECONDS,
        kept_seconds: float = SCHEMAS_KEPT_SECONDS,
    ) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._listing_seconds = listing_seconds
        self._kept_seconds = kept_seconds
        # It keeps what a name resolves to for 10 s, so that few calls wait for DNS.
        self._connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_OPEN_SECONDS)
        self._http = aiohttp.ClientSession(
            connector=self._connector,
            timeout=aiohttp.ClientTimeout(sock_read=timeout_seconds, connect=CONNECT_SECONDS),
            # The session serves all callers: a proxy would take them for one, and send them to one server.
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._breaker = CircuitBreaker("mcp_server", lambda _exc: None)
        self._lost_at: float | None = None
        self._schemas: list[ToolSchema] = []
        self._schemas_read_at = float("-inf")

    async def list_tools(self, token: str) -> list[ToolSchema]:
        """All tools of the server; the cached list if it is recent or the server does not answer."""
        if time.monotonic() - self._schemas_read_at > self._kept_seconds:
            try:
                listed = await self._ask(McpRequest("tools/list"), token, self._listing_seconds, Listing)
                self._schemas = [
                    ToolSchema(
                        name=tool.name,
                        description=tool.description or "",
                        input_schema=tool.input_schema,
                        only_reads=tool.annotations.read_only is True,
                    )
                    for tool in listed.tools
                ]
            except DependencyDown as exc:
                if not self._schemas:
                    raise
                logger.warning("the tools could not be listed again: %s", exc.code)
            self._schemas_read_at = time.monotonic()
        return self._schemas

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        token: str,
        *,
        on_progress: OnProgress | None = None,
        on_restart: OnRestart | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        sent_meta = {**(meta or {}), **({STREAM_META_KEY: True} if on_progress is not None else {})}
        params = {"name": name, "arguments": arguments, "_meta": sent_meta}
        request = McpRequest("tools/call", params, name, reports=on_progress is not None)
        # A model may have invented the name.
        is_known = not self._schemas or any(schema.name == name for schema in self._schemas)
        with tool_step(name if is_known else None):
            result = await self._ask_again_once(request, token, on_progress, on_restart)
            return _structured(name, result)

    async def _ask_again_once(
        self, request: McpRequest, token: str, on_progress: OnProgress | None, on_restart: OnRestart | None
    ) -> CallResult:
        """The result of a call, which is repeated if the server restarts and the tool only reads."""
        call = partial(self._ask, request, token, self._timeout_seconds, CallResult, on_progress)
        try:
            return await call()
        except (_BrokenOff, CircuitOpen) as exc:
            # What changes something may have done so before the call broke off.
            only_reads = all(schema.only_reads for schema in self._schemas if schema.name == request.name)
            if not (self._lost_lately and only_reads):
                raise
            logger.warning("tool %s broke off, calling again", request.name)
            if on_restart is not None:
                on_restart(str(exc))
        await self._until_back()
        await asyncio.sleep(random.uniform(0, MOST_PAUSE_SECONDS))
        return await call()

    async def ping(self) -> None:
        """Raise DependencyDown unless the server answers, with a clock like ours."""
        health = self._url.removesuffix("/mcp") + "/health"
        try:
            get = self._http.get(health, allow_redirects=False)
            async with asyncio.timeout(CONNECT_SECONDS), get as response:
                if response.status != HTTPStatus.OK:
                    raise aiohttp.ClientConnectionError(f"status {response.status}")
                date = parsedate_tz(response.headers.get("date", ""))
        except (aiohttp.ClientError, TimeoutError) as exc:
            self._connector.clear_dns_cache()  # the server may be back at another address
            raise DependencyDown("The tools server does not answer.", dependency="mcp_server") from exc
        # It would take our tokens for expired, or for issued in the future.
        if date and abs(ahead := mktime_tz(date) - time.time()) > CLOCK_SKEW_SECONDS:
            raise DependencyDown(f"Its clock differs from ours by {ahead:+.0f} s.", dependency="mcp_server")

    async def _until_back(self) -> None:
        """Wait for a server that restarts, up to the time that a restart takes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RESTART_SECONDS):
                while self._lost_lately:
                    with contextlib.suppress(DependencyDown):
                        await self.ping()
                        # Other calls may have opened the circuit; a call that succeeds closes it.
                        async with self._breaker.attempt():
                            return
                    await asyncio.sleep(RESTART_POLL_SECONDS)

    @property
    def _lost_lately(self) -> bool:
        return self._lost_at is not None and time.monotonic() < self._lost_at + RESTART_SECONDS

    async def close(self) -> None:
        """Close the pool."""
        await self._http.close()

    async def _ask(
        self,
        request: McpRequest,
        token: str,
        seconds: float,
        result: type[Result],
        on_progress: OnProgress | None = None,
    ) -> Result:
        """The result of a request, which counts for the circuit breaker. Raises OrcError."""
        async with self._counted():
            try:
                async with asyncio.timeout(seconds):
                    return result.model_validate(await self._exchange(request, token, on_progress))
            except _FAILURES as exc:
                raise _translated(exc, seconds) from exc

    async def _exchange(
        self, request: McpRequest, token: str, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        async with self._posted(request.body, request.headers(token)) as response:
            messages = messages_of(response)
            async for message in messages:
                if on_progress is not None and message.progress is not None:
                    _report(message.progress, on_progress)
                if (found := message.response) is not None:
                    await _read_to_end(messages)
                    return found
        raise aiohttp.ClientPayloadError("the response ended before the result")

    @asynccontextmanager
    async def _posted(self, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        post = self._http.post(self._url, data=body, headers=headers, allow_redirects=False)
        async with post as response:
            if response.status in _PROXY_WITHOUT_SERVER:
                raise aiohttp.ClientConnectionError(f"a proxy answered with {response.status}")
            if response.status == HTTPStatus.UNAUTHORIZED:
                raise RefusedRequest("it did not accept the scope token: its signing key or clock differs")
            yield response

    @asynccontextmanager
    async def forward(
        self, body: bytes, headers: Mapping[str, str], token: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to a message of another client of MCP, not yet read. Raises DependencyDown.

        Leaving the context earlier ends the call.
        """
        async with self._counted():
            try:
                async with self._posted(body, {**headers, "authorization": f"Bearer {token}"}) as response:
                    yield response
            except _FAILURES as exc:
                raise _translated(exc, self._timeout_seconds) from exc

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        """What is done here counts for the circuit breaker and for the loss of the server."""
        try:
            async with self._breaker.attempt():
                yield
        except _BrokenOff:
            self._lost_at = self._lost_at or time.monotonic()
            self._connector.clear_dns_cache()  # the server may be back at another address
            raise
        else:
            self._lost_at = None


_FAILURES = (
    aiohttp.ClientError,
    RefusedRequest,
    ValidationError,
    RuntimeError,
    TimeoutError,
    UnicodeEncodeError,
)


def _report(message: str, on_progress: OnProgress) -> None:
    """Pass on what a call reports, unless this version does not know it: a newer server may send more."""
    try:
        update = tool_progress.validate_json(message)
    except ValidationError:
        logger.warning("a tool reported something unknown")
        return
    on_progress(update)


async def _read_to_end(messages: AsyncIterator[McpMessage]) -> None:
    """Read what follows the result, so that the connection can be used again.

    A server that keeps the stream open, or breaks it off, takes nothing from a result that has come.
    """
    with contextlib.suppress(*_FAILURES):
        async with asyncio.timeout(END_SECONDS):
            async for _ in messages:
                pass


def _translated(cause: Exception, seconds: float) -> OrcError:
    """Our error for a failure."""
    if isinstance(cause, UnicodeEncodeError):
        return InvalidInput("The call holds characters that no encoding takes.")
    if isinstance(cause, TimeoutError) and not isinstance(cause, aiohttp.ConnectionTimeoutError):
        # The server accepted the connection: a retry would take as long.
        message = f"The tools server did not answer within {seconds:.0f} s."
        return DependencyDown(message, dependency="mcp_server", code="tool_timeout")
    if isinstance(cause, aiohttp.ClientError) and not isinstance(cause, aiohttp.ClientResponseError):
        return _BrokenOff("The tools server does not answer. Is it running?", dependency="mcp_server")
    # Only a bug of ours has its traceback logged: messages of others may contain content.
    ours = cause if isinstance(cause, RuntimeError) else None
    reason = cause if isinstance(cause, RefusedRequest) else type(cause).__name__
    if isinstance(cause, aiohttp.ClientResponseError):
        reason = "its answer is not HTTP, or has a header of more than 8,190 bytes"
    logger.error("the tools server refused a call: %s", reason, exc_info=ours)
    return DependencyDown("The tools server refused the call.", dependency="mcp_server", code="tool_refused")


class _BrokenOff(DependencyDown):
    """The connection could not be made, or was lost before the result."""


def _structured(name: str, result: CallResult) -> dict[str, Any]:
    """The content of a result, or the error that it names."""
    if not result.is_error and result.structured is not None:
        return result.structured
    if not result.is_error:
        raise DependencyDown(f"The tool {name} returned no structured result.", dependency="mcp_server")
    try:
        failed = ToolFailure.model_validate_json(result.text)
    except ValidationError:
        refused = f"The tool {name} refused the call."
        raise DependencyDown(refused, dependency="mcp_server", code="tool_refused") from None
    raise error_named(
        failed.code,
        failed.message,
        dependency=failed.dependency,
        retryable=failed.retryable,
        retry_after=failed.retry_after,
    )
