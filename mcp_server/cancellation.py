"""Cancels tool calls of clients of protocols before 2026-07-28, which do so by a second request.

The transport is stateless, so only a session id connects the two requests. Such a client gets one in
answer to its first request; nothing is stored under it. Both requests must reach the same process: a proxy
before several tools servers sends the requests of a session to one of them.
"""

import uuid
from typing import Any

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SESSION_HEADER = "mcp-session-id"
VERSION_HEADER = "mcp-protocol-version"

CallKey = tuple[str | None, str, str | int]
"""Who calls (organization and user), the session, and the id of the request."""


class RunningCalls:
    """The tool calls that run in this process for clients with a session, as a middleware of the server."""

    def __init__(self) -> None:
        self._calls: dict[CallKey, anyio.CancelScope] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Run a call so that it can be cancelled; a notification that it is cancelled stops it."""
        if ctx.method == "notifications/cancelled":
            key = _key(ctx, (ctx.params or {}).get("requestId"))
            if key is not None and (running := self._calls.get(key)) is not None:
                running.cancel()
        elif ctx.method == "tools/call" and (key := _key(ctx, ctx.request_id)) is not None:
            return await self._run(key, ctx, call_next)
        return await call_next(ctx)

    async def _run(
        self, key: CallKey, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        with anyio.CancelScope() as running:
            self._calls[key] = running
            try:
                return await call_next(ctx)
            finally:
                if self._calls.get(key) is running:
                    del self._calls[key]
        raise MCPError(REQUEST_CANCELLED, "Request cancelled")


def _key(ctx: ServerRequestContext[Any, Any], request_id: object) -> CallKey | None:
    """None for a client without a session, such as one of stdio, whose calls the transport cancels."""
    session = ctx.request.headers.get(SESSION_HEADER) if ctx.request is not None else None
    if session is None or not isinstance(request_id, str | int):
        return None
    token = get_access_token()
    return token.subject if token else None, session, request_id


class SessionIds:
    """Gives a session id to clients whose first request, by its headers, begins a session.

    A server without state has nothing to send on a stream that a client opens by itself, and such streams
    would stay open without end: they are refused with 405, as the protocol has it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        if scope.get("method") == "GET" and scope["path"] == "/mcp" and "authorization" in headers:
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
            return
        if scope.get("method") != "POST" or SESSION_HEADER in headers or VERSION_HEADER in headers:
            await self._app(scope, receive, send)
            return

        async def add_id(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(scope=message)[SESSION_HEADER] = uuid.uuid4().hex
            await send(message)

        await self._app(scope, receive, add_id)
