"""The MCP server over HTTP and stdio: registers the tools and answers health checks."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.settings import AuthSettings
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_server.auth import REQUIRED_SCOPE, ScopeTokenVerifier, request_scope, session_scope
from mcp_server.bootstrap import App, open_app
from mcp_server.settings import Settings
from mcp_server.tools import (
    additions,
    document_chat,
    documents,
    documents_analyze,
    pages,
    relations,
    search,
    web_search,
)
from mcp_server.tools.registration import CallScope, failure
from orc_core import __version__
from orc_core.documents.scope import ScopeTokens
from orc_core.errors import DependencyDown, Forbidden, InvalidInput, NotAuthenticated, OrcError
from orc_core.infra.collector import collector_paused
from orc_core.infra.http_server import Server, configured
from orc_core.infra.logs import RequestLog, start_logging
from orc_core.infra.processes import hold_on
from orc_core.infra.telemetry.calls import name_tool, tool_work
from orc_core.infra.telemetry.setup import start_telemetry

TOOL_OFF = "tool_off"

log = logging.getLogger(__name__)
SESSION_HEADER = "mcp-session-id"
VERSION_HEADER = "mcp-protocol-version"

CallKey = tuple[str | None, str, str | int]
"""Who calls (organization and user), the session, and the id of the request."""
PATHS = ("mcp", "live", "health", "register")
INSTRUCTIONS = "Tools over the documents that the caller may read. None of them changes a document."
HOW = "Make one with: orc token --conversation ID or --context ID"
SERVICE = "orc-tools"


class ToolServer(MCPServer[None]):
    """An MCPServer that answers invalid arguments and unknown tools with `{code, message, retryable}`.

    It has tools and nothing else, and offers nothing else. A call needs a scope that allows the tool.
    """

    def __init__(self, scope: CallScope, *middleware: ServerMiddleware[Any], **auth: Any) -> None:
        self._scope = scope
        super().__init__(
            "orc-documents",
            instructions=INSTRUCTIONS,
            version=__version__,
            log_level="WARNING",
            subscriptions=False,
            middleware=middleware,
            **auth,
        )
        handlers = self._lowlevel_server._request_handlers
        for method in [each for each in handlers if each.startswith(("prompts/", "resources/"))]:
            del handlers[method]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Calls a tool. If it cannot run, the reason is a result too."""
        with tool_work() as begun:
            try:
                tool = self._tool_manager.get_tool(name)
                hints = tool.annotations if tool else None
                only_reads = hints is None or hints.read_only_hint is not False
                if not self._scope().allows(name, only_reads=only_reads):
                    return failure(Forbidden(f"The tool {name} is switched off.", code=TOOL_OFF))
                result = await super().call_tool(name, arguments, context)
            except NotAuthenticated as exc:
                return failure(exc)
            except ToolError as exc:
                if not isinstance(exc.__cause__, ValidationError):
                    return failure(OrcError(f"The tool {name} cannot be called.", code="tool_unavailable"))
                # Which arguments are invalid and why, without their values.
                found = exc.__cause__.errors(include_input=False, include_url=False, include_context=False)
                problems = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:5])
                result = failure(InvalidInput("; ".join(problems)))
            name_tool(begun, name)
            log.info("tool %s %s", name, "failed" if getattr(result, "is_error", False) else "done")
            return result


def build_http_app(
    app: App,
    settings: Settings,
    *,
    register: Callable[[MCPServer[None]], None] | None = None,
) -> Starlette:
    """The stateless streamable HTTP app at `/mcp`; every call needs a scope token.

    `register` adds tools of a test, after Orc's own.
    """
    auth = {
        "issuer_url": settings.mcp_url.removesuffix("/mcp"),
        # With an address clients would look for its authorization server, and there is none.
        "resource_server_url": None,
        "required_scopes": [REQUIRED_SCOPE],
        "validate_token_resource": False,
    }
    server = ToolServer(
        request_scope,
        RunningCalls(),
        token_verifier=ScopeTokenVerifier(app.tokens),
        auth=AuthSettings.model_validate(auth),
    )
    _add_tools(server, app, request_scope)
    if register is not None:
        register(server)

    async def live(_request: Request) -> JSONResponse:
        """Succeeds even if a store is down, as a restart would not help."""
        return JSONResponse({"status": "ok"})

    async def health(_request: Request) -> JSONResponse:
        """Whether the stores answer."""
        try:
            await app.ping_stores()
        except DependencyDown as exc:
            down = {"status": "down", "dependency": exc.dependency}
            return JSONResponse(down, HTTPStatus.SERVICE_UNAVAILABLE)
        return JSONResponse({"status": "ok"})

    http_app = server.streamable_http_app(stateless_http=True, transport_security=_allowed_callers(settings))
    http_app.router.routes.extend([Route("/live", live), Route("/health", health), REGISTRATION])
    http_app.add_middleware(SessionIds)
    http_app.add_middleware(ExplainedRefusals, tokens=app.tokens)
    http_app.add_middleware(RequestLog, words=PATHS)
    return http_app


def build_stdio_server(app: App, scope: CallScope) -> MCPServer[None]:
    """The same tools for one local client, limited to `scope`."""
    server = ToolServer(scope)
    _add_tools(server, app, scope)
    return server


def _add_tools(server: MCPServer[None], app: App, scope: CallScope) -> None:
    """The order is that of the tools in listings."""
    documents.register(server, app.contents, scope)
    additions.register(server, app.additions, scope)
    search.register(server, app.search, scope)
    pages.register(server, app.pages, scope)
    relations.register(server, app.relations, scope)
    document_chat.register(server, app.document_chat, scope)
    documents_analyze.register(server, app.documents_analyze, scope)
    web_search.register(server, app.web, scope)


def _allowed_callers(settings: Settings) -> TransportSecuritySettings:
    """The accepted Host and Origin headers: any other one may come from DNS rebinding.

    Pages of this machine, such as the MCP inspector's, need a token too.
    """
    local = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    public = urlsplit(settings.mcp_url)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*local, public.netloc],
        allowed_origins=[*(f"http://{host}" for host in local), f"{public.scheme}://{public.netloc}"],
    )


class ExplainedRefusals:
    """Replaces the answer 401 by one that says whether the token is missing, expired or not valid here."""

    def __init__(self, app: ASGIApp, tokens: ScopeTokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_refused = False

        async def explain(message: Message) -> None:
            nonlocal is_refused
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.UNAUTHORIZED:
                is_refused = True
            if not is_refused:
                await send(message)

        await self._app(scope, receive, explain)
        if not is_refused:
            return
        kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        why = "The scope token is missing."
        if kind.lower() == "bearer" and token:
            try:
                self._tokens.verify(token)
            except NotAuthenticated as exc:
                why = exc.message
        body = {"error": "invalid_token", "error_description": f"{why} {HOW}"}
        challenge = ", ".join(f'{name}="{value}"' for name, value in body.items())
        headers = {"www-authenticate": f"Bearer {challenge}"}
        await JSONResponse(body, HTTPStatus.UNAUTHORIZED, headers=headers)(scope, receive, send)


async def _refuse_registration(_request: Request) -> JSONResponse:
    """Clients that are refused try to register with an authorization server, and show its answer."""
    description = f"This server has no login; its clients send a scope token as bearer token. {HOW}"
    return JSONResponse({"error": "access_denied", "error_description": description}, HTTPStatus.FORBIDDEN)


REGISTRATION = Route("/register", _refuse_registration, methods=["POST"])


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


async def serve_http(settings: Settings) -> None:
    """Serve until a signal arrives, or until standard input ends if the settings say so."""
    start_logging(settings)
    telemetry = start_telemetry(settings, SERVICE)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, telemetry.close)
        with collector_paused():
            app = await stack.enter_async_context(open_app(settings))
            http_app = build_http_app(app, settings)
        config = configured(http_app, settings.mcp_host, settings.mcp_port, drain_seconds=5)
        server = Server(config, warm=app.warm, ends=stack.aclose)

        def stop() -> None:
            server.should_exit = True

        if settings.mcp_until_stdin_ends:
            hold_on(stop)
        try:
            await server.serve()
        except SystemExit as exc:  # uvicorn has logged the reason
            address = f"port {settings.mcp_port} of {settings.mcp_host}"
            message = f"The tools server cannot listen on {address}. Set ORC_MCP_PORT to another one."
            raise InvalidInput(message) from exc


async def serve_stdio(settings: Settings) -> None:
    """Serve one client on standard input and output."""
    start_logging(settings)
    telemetry = start_telemetry(settings, SERVICE)
    token = settings.scope_token.get_secret_value() if settings.scope_token else None
    with contextlib.closing(telemetry):
        async with open_app(settings) as app:
            await build_stdio_server(app, session_scope(app.tokens, token)).run_stdio_async()
