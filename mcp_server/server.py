"""The MCP server: the tools' schemas, and what each call may reach."""

from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from core.contract import MAX_QUESTION_CHARACTERS, DocumentChatResult, DocumentsListResult
from core.documents.models import FileRef
from core.scope import Scope
from mcp_server.auth import REQUIRED_SCOPE, ScopeTokenVerifier, request_scope
from mcp_server.bootstrap import Services
from mcp_server.errors import reports_failures, success
from mcp_server.progress import CallProgress
from mcp_server.settings import Settings
from mcp_server.tool_server import ToolServer
from mcp_server.tools.documents_list import list_documents

MAX_DOCUMENTS = 50
INSTRUCTIONS = "Read-only tools over the documents that the bearer's scope token names."
READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


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
    app.router.routes.append(_health_route(services))
    return app


def build_stdio_server(services: Services, scope: Callable[[], Scope]) -> MCPServer[None]:
    """The same tools for one local client, which all work in `scope`."""
    server = ToolServer("orc-documents", instructions=INSTRUCTIONS, log_level="WARNING")
    _add_tools(server, services, scope)
    return server


def _add_tools(server: MCPServer[None], services: Services, scope: Callable[[], Scope]) -> None:
    @server.tool(title="Ask documents", annotations=READ_ONLY)
    @reports_failures
    async def document_chat(
        question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)],
        document_names: Annotated[
            list[str],
            Field(min_length=1, max_length=MAX_DOCUMENTS, description="names of documents in scope"),
        ],
        ctx: Context[None],
        cached_file_info: Annotated[
            list[FileRef] | None,
            Field(description="the `files` of an earlier answer over the same documents"),
        ] = None,
    ) -> Annotated[CallToolResult, DocumentChatResult]:
        """Answer a question from the named documents, with citations that were checked against the page."""
        progress = CallProgress(ctx)
        result = await services.document_chat.answer(
            scope(), question, document_names, cached_file_info or [], progress, stream=progress.streaming
        )
        return success(result, result.answer)

    @server.tool(title="List documents", annotations=READ_ONLY)
    @reports_failures
    async def documents_list() -> Annotated[CallToolResult, DocumentsListResult]:
        """List the documents in scope with their status, pages and pages without text."""
        result = await list_documents(services.library, scope())
        lines = [f"{d.filename}: {d.status}, {d.pages} pages" for d in result.documents]
        return success(result, "\n".join(lines) or "There are no documents.")


def _health_route(services: Services) -> Route:
    async def health(_request: Request) -> JSONResponse:
        await services.ping()
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
