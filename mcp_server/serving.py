"""Serves the tools, over HTTP or on standard input and output."""

import asyncio
import contextlib
from contextlib import AsyncExitStack

import uvicorn

from mcp_server.auth import session_scope
from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app, build_stdio_server
from mcp_server.settings import Settings
from orc_core.errors import InvalidInput
from orc_core.infra.collector import collector_paused
from orc_core.infra.http_server import LimitedHttp, Server
from orc_core.infra.logs import start_logging
from orc_core.infra.processes import hold_on
from orc_core.infra.telemetry.setup import start_telemetry

SERVICE = "orc-tools"


async def serve_http(settings: Settings) -> None:
    """Serve until a signal arrives, or until standard input ends if the settings say so."""
    start_logging(settings)
    telemetry = start_telemetry(settings, SERVICE)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, telemetry.close)
        with collector_paused():
            app = await stack.enter_async_context(open_app(settings))
            http_app = build_http_app(app, settings)
        config = uvicorn.Config(
            http_app,
            host=settings.mcp_host,
            port=settings.mcp_port,
            http=LimitedTools,
            ws="none",
            log_config=None,
            log_level="warning",
            timeout_graceful_shutdown=5,
        )
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


class LimitedTools(LimitedHttp):
    """Takes the scope token of a conversation with some ten thousand documents."""

    header_bytes = 1024 * 1024


async def serve_stdio(settings: Settings) -> None:
    """Serve one client on standard input and output."""
    start_logging(settings)
    telemetry = start_telemetry(settings, SERVICE)
    token = settings.scope_token.get_secret_value() if settings.scope_token else None
    with contextlib.closing(telemetry):
        async with open_app(settings) as app:
            await build_stdio_server(app, session_scope(app.tokens, token)).run_stdio_async()
