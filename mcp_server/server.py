"""The MCP server over HTTP and stdio: the tools of mcp_server/registry, and what each call may reach."""

from http import HTTPStatus
from urllib.parse import urlsplit

from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from core.errors import DependencyDown
from mcp_server.auth import REQUIRED_SCOPE, ScopeTokenVerifier, request_scope
from mcp_server.bootstrap import Services
from mcp_server.registry import answering, documents, pages, searching
from mcp_server.registry import web_search as web
from mcp_server.registry.registration import CallScope
from mcp_server.settings import Settings
from mcp_server.tool_server import ToolServer

INSTRUCTIONS = "Read-only tools over the documents that the bearer's scope token names."


def build_http_app(services: Services, settings: Settings) -> Starlette:
    """The stateless streamable HTTP app at `/mcp`; every call needs a scope token."""
    server = ToolServer(
        "orc-documents",
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        token_verifier=ScopeTokenVerifier(services.tokens),
        auth=_auth_settings(settings),
    )
    _add_tools(server, services, request_scope)
    app = server.streamable_http_app(stateless_http=True, transport_security=_allowed_hosts(settings))
    app.router.routes.extend([_live_route(), _health_route(services)])
    return app


def build_stdio_server(services: Services, scope: CallScope) -> MCPServer[None]:
    """The same tools for one local client, which all work in `scope`."""
    server = ToolServer("orc-documents", instructions=INSTRUCTIONS, log_level="WARNING")
    _add_tools(server, services, scope)
    return server


def _add_tools(server: MCPServer[None], services: Services, scope: CallScope) -> None:
    for tools in (documents, searching, pages, answering, web):
        tools.register(server, services, scope)


def _live_route() -> Route:
    """For whoever restarts what does not answer: that a store is down is no reason to."""

    async def live(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Route("/live", live)


def _health_route(services: Services) -> Route:
    """For whoever sends calls here: whether they can be answered."""

    async def health(_request: Request) -> JSONResponse:
        try:
            await services.ping()
        except DependencyDown as exc:
            down = {"status": "down", "dependency": exc.dependency}
            return JSONResponse(down, HTTPStatus.SERVICE_UNAVAILABLE)
        return JSONResponse({"status": "ok"})

    return Route("/health", health)


def _auth_settings(settings: Settings) -> AuthSettings:
    return AuthSettings.model_validate(
        {
            "issuer_url": settings.mcp_url.removesuffix("/mcp"),
            "resource_server_url": settings.mcp_url,
            "required_scopes": [REQUIRED_SCOPE],
            "validate_token_resource": False,
        }
    )


def _allowed_hosts(settings: Settings) -> TransportSecuritySettings:
    """The Host headers to answer; anything else may be a rebound DNS name."""
    local = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    public = urlsplit(settings.mcp_url).netloc
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=[*local, public], allowed_origins=[]
    )
