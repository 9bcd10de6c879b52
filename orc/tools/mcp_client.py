"""The tools server over MCP: one connection pool per process; a call that streams has a short session."""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    JSONRPCError,
    JSONRPCResponse,
    TextContent,
    Tool,
    jsonrpc_message_adapter,
)
from opentelemetry.propagate import inject
from pydantic import ValidationError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random

from core import __version__
from core.errors import DependencyDown, InvalidInput, OrcError, error_named
from core.infra.resilience import CircuitBreaker, CircuitOpen
from core.infra.telemetry.calls import tool_step
from core.mcp_contract import STREAM_META_KEY, ToolFailure, tool_progress
from orc.tools.ports import OnProgress, OnRestart, ToolSchema

logger = logging.getLogger(__name__)

PROTOCOL = "2026-07-28"
SCHEMAS_KEPT_SECONDS = 60.0
CONNECT_SECONDS = 5.0
LISTING_SECONDS = 5.0
RESTART_SECONDS = 4.0
"""How long calls wait for a lost server; later calls fail at once until it answers."""
RESTART_POLL_SECONDS = 0.1
_PROXY_WITHOUT_SERVER = {502, 503, 504}
_CLIENT = {
    PROTOCOL_VERSION_META_KEY: PROTOCOL,
    CLIENT_INFO_META_KEY: {"name": "orc", "version": __version__},
    CLIENT_CAPABILITIES_META_KEY: {},
}


def _schema_of(tool: Tool) -> ToolSchema:
    """The tool in our own type."""
    hints = tool.annotations
    return ToolSchema(
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.input_schema,
        only_reads=hints is not None and hints.read_only_hint is True,
    )


class _SharedTransport(httpx2.AsyncBaseTransport):
    """Shares one pool among many short-lived clients, none of which may close it."""

    def __init__(self, pool: httpx2.AsyncBaseTransport) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._pool.handle_async_request(request)
        except AttributeError as exc:
            # With uvloop, anyio reports a connection that was reset right after it was accepted like this.
            raise httpx2.ConnectError("the connection was reset as it was made", request=request) from exc
        if response.status_code in _PROXY_WITHOUT_SERVER:
            await response.aclose()
            raise httpx2.ConnectError(f"a proxy answered with {response.status_code}", request=request)
        return response

    async def aclose(self) -> None:
        return None


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
        self._pool = httpx2.AsyncHTTPTransport(
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=30)
        )
        self._http = httpx2.AsyncClient(
            transport=_SharedTransport(self._pool),
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
        )
        self._breaker = CircuitBreaker("mcp_server", lambda _exc: None)
        self._lost_at: float | None = None
        self._schemas: list[ToolSchema] = []
        self._schemas_read_at = float("-inf")

    async def list_tools(self, token: str) -> list[ToolSchema]:
        """All tools of the server; the cached list if it is recent or the server does not answer."""
        if time.monotonic() - self._schemas_read_at > self._kept_seconds:
            try:
                async with (
                    self._attempt(token, self._listing_seconds) as client,
                    asyncio.timeout(self._listing_seconds),
                ):
                    listed = await client.list_tools()
                self._schemas = [_schema_of(tool) for tool in listed.tools]
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
        async def restart(attempt: RetryCallState) -> None:
            logger.warning("tool %s broke off, calling again", name)
            if on_restart is not None:
                on_restart(str(attempt.outcome and attempt.outcome.exception()))
            await self._until_back()

        call = AsyncRetrying(
            # What changes something may have done so before the call broke off.
            stop=stop_after_attempt(2 if self._only_reads(name) else 1),
            wait=wait_random(0, 0.1),
            retry=retry_if_exception(self._may_be_restarting),
            before_sleep=restart,
            reraise=True,
        )
        extra = {**(meta or {}), **({STREAM_META_KEY: True} if on_progress is not None else {})}
        params = CallToolRequestParams(name=name, arguments=arguments, _meta=extra or None)
        # A model may have invented the name.
        is_known = not self._schemas or any(schema.name == name for schema in self._schemas)
        with tool_step(name if is_known else None):
            result: CallToolResult = await call(
                self._call_once, CallToolRequest(params=params), token, on_progress
            )
            return _structured(name, result)

    def _only_reads(self, name: str) -> bool:
        return all(schema.only_reads for schema in self._schemas if schema.name == name)

    async def ping(self) -> None:
        """Raise DependencyDown unless the server answers."""
        health = self._url.removesuffix("/mcp") + "/health"
        async with httpx2.AsyncClient(
            transport=_SharedTransport(self._pool), timeout=CONNECT_SECONDS
        ) as http:
            try:
                (await http.get(health)).raise_for_status()
            except httpx2.HTTPError as exc:
                raise DependencyDown("The tools server does not answer.", dependency="mcp_server") from exc

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

    def _may_be_restarting(self, exc: BaseException) -> bool:
        return isinstance(exc, (_BrokenOff, CircuitOpen)) and self._lost_lately

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.aclose()

    async def _call_once(
        self, request: CallToolRequest, token: str, on_progress: OnProgress | None
    ) -> CallToolResult:
        if on_progress is None:
            return await self._post(request.params, token)

        async def forward(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            if on_progress is not None and message is not None:
                on_progress(tool_progress.validate_json(message))

        async with self._attempt(token, self._timeout_seconds) as client:
            # Not client.call_tool: it lists the tools on every new session to check the output schema,
            # a second round trip, and we validate against our own models anyway.
            return await client.session.send_request(
                request,
                CallToolResult,
                request_read_timeout_seconds=self._timeout_seconds,
                progress_callback=forward,
            )

    async def _post(self, params: CallToolRequestParams, token: str) -> CallToolResult:
        """A call without progress as the one request that it is: a session takes several times as long."""
        seconds = self._timeout_seconds
        async with self._counted():
            try:
                body = json.dumps(_call_message(params), ensure_ascii=False).encode()
                async with asyncio.timeout(seconds):
                    response = await self._http.post(self._url, content=body, headers=_headers(params, token))
                return _result_of(response)
            except _FAILURES as exc:
                raise _translated(exc, seconds) from exc

    @asynccontextmanager
    async def _attempt(self, token: str, seconds: float) -> AsyncIterator[Client]:
        """A session that counts."""
        async with self._counted(), self._session(token, seconds) as client:
            yield client

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        """What is done here counts for the circuit breaker and for the loss of the server."""
        try:
            async with self._breaker.attempt():
                yield
        except _BrokenOff:
            self._lost_at = self._lost_at or time.monotonic()
            raise
        else:
            self._lost_at = None

    @asynccontextmanager
    async def _session(self, token: str, seconds: float) -> AsyncIterator[Client]:
        """A separate session for one call: in a shared one, a single failure ends all calls."""
        http = httpx2.AsyncClient(
            transport=_SharedTransport(self._pool),
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
        )
        transport = streamable_http_client(self._url, http_client=http)
        try:
            async with http, Client(transport, mode=PROTOCOL, cache=None) as client:
                yield client
        except* _FAILURES as group:
            raise _translated(group, seconds) from group


_FAILURES = (httpx2.HTTPError, MCPError, ValidationError, RuntimeError, TimeoutError, UnicodeEncodeError)


def _call_message(params: CallToolRequestParams) -> dict[str, Any]:
    """The call as a message of JSON-RPC, with the trace that it belongs to."""
    sent = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    sent["_meta"] = {**sent.get("_meta", {}), **_CLIENT}
    inject(sent["_meta"])
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": sent}


def _headers(params: CallToolRequestParams, token: str) -> dict[str, str]:
    return {
        "authorization": f"Bearer {token}",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        MCP_PROTOCOL_VERSION_HEADER: PROTOCOL,
        MCP_METHOD_HEADER: "tools/call",
        MCP_NAME_HEADER: encode_header_value(params.name),
    }


def _result_of(response: httpx2.Response) -> CallToolResult:
    """The result in a response; MCPError or ValidationError if it has none."""
    if not response.headers.get("content-type", "").startswith("application/json"):
        raise MCPError(INTERNAL_ERROR, f"The response has the status {response.status_code} and no JSON.")
    message = jsonrpc_message_adapter.validate_json(response.content, by_name=False)
    if isinstance(message, JSONRPCError):
        raise MCPError(message.error.code, message.error.message)
    if not isinstance(message, JSONRPCResponse):
        raise MCPError(INTERNAL_ERROR, "The response is not that of a call.")
    return CallToolResult.model_validate(message.result, by_name=False)


def _translated(failure: Exception | BaseExceptionGroup[Exception], seconds: float) -> OrcError:
    """Our error for a failure, or for the innermost exception of the groups that a session raises."""
    cause: BaseException = failure
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if isinstance(cause, UnicodeEncodeError):
        return InvalidInput("The call holds characters that no encoding takes.")
    if _is_too_slow(cause):
        message = f"The tools server did not answer within {seconds:.0f} s."
        return DependencyDown(message, dependency="mcp_server", code="tool_timeout")
    if isinstance(cause, httpx2.TransportError) or getattr(cause, "code", None) == CONNECTION_CLOSED:
        return _BrokenOff("The tools server does not answer. Is it running?", dependency="mcp_server")
    # Only a bug of ours has its traceback logged: messages of others may contain content.
    ours = cause if isinstance(cause, RuntimeError) else None
    logger.error("the tools server refused a call: %s", type(cause).__name__, exc_info=ours)
    return DependencyDown("The tools server refused the call.", dependency="mcp_server", code="tool_refused")


def _is_too_slow(cause: BaseException) -> bool:
    """Whether a server that accepted the connection did not answer in time: a retry would take as long."""
    if isinstance(cause, MCPError):
        return cause.code == REQUEST_TIMEOUT
    return isinstance(cause, (TimeoutError, httpx2.ReadTimeout, httpx2.WriteTimeout))


class _BrokenOff(DependencyDown):
    """The connection could not be made, or was lost before the result."""


def _structured(name: str, result: CallToolResult) -> dict[str, Any]:
    """The content of a result, or the error that it names."""
    content = result.structured_content
    if not result.is_error and isinstance(content, dict):
        return content
    if not result.is_error:
        raise DependencyDown(f"The tool {name} returned no structured result.", dependency="mcp_server")
    text = "".join(part.text for part in result.content if isinstance(part, TextContent))
    try:
        failed = ToolFailure.model_validate_json(text)
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
