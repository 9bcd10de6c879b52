"""Serves the tools, over HTTP or on standard input and output."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import uvicorn

from core.errors import InvalidInput
from core.infra.collector import collector_paused
from core.infra.http_server import LimitedHttp, Server
from core.infra.lifeline import hold_on
from core.infra.logs import start_logging
from core.infra.shared_port import Member
from core.infra.siblings import Siblings
from core.infra.telemetry.setup import Telemetry, start_telemetry
from mcp_server.auth import session_scope
from mcp_server.bootstrap import open_app
from mcp_server.cancellation import RunningCalls
from mcp_server.server import build_http_app, build_stdio_server
from mcp_server.settings import Settings

SERVICE = "orc-tools"


async def serve_http(settings: Settings, member: Member | None = None) -> None:
    """Serve until a signal arrives, or until standard input ends if the settings say so.

    A `member` serves the connections that are passed to it.
    """
    start_logging(settings)
    telemetry = start_telemetry(settings, SERVICE)
    siblings = Siblings(member) if member else None
    calls = RunningCalls(siblings)
    async with AsyncExitStack() as stack:
        with collector_paused():
            app = await stack.enter_async_context(open_app(settings))
            http_app = build_http_app(app, settings, calls)
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
        server = _Server(config, telemetry, member, app.warm)

        def stop() -> None:
            server.should_exit = True

        if settings.mcp_until_stdin_ends:
            hold_on(stop)
        if siblings:
            await stack.enter_async_context(siblings.answered(calls.answer))
        try:
            await server.serve()
        except SystemExit as exc:  # uvicorn has logged the reason
            address = f"port {settings.mcp_port} of {settings.mcp_host}"
            message = f"The tools server cannot listen on {address}. Set ORC_MCP_PORT to another one."
            raise InvalidInput(message) from exc


class LimitedTools(LimitedHttp):
    """Takes the scope token of a conversation with some ten thousand documents."""

    header_bytes = 1024 * 1024


class _Server(Server):
    """Ends with telemetry sent: the signal that has stopped it then ends the process on the spot."""

    def __init__(
        self,
        config: uvicorn.Config,
        telemetry: Telemetry,
        member: Member | None,
        warm: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        super().__init__(config, member.connections if member else None, warm=warm)
        self._telemetry = telemetry

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        await asyncio.to_thread(self._telemetry.close)


async def serve_stdio(settings: Settings) -> None:
    """Serve one client on standard input and output."""
    start_logging(settings)
    telemetry = start_telemetry(settings, SERVICE)
    token = settings.scope_token.get_secret_value() if settings.scope_token else None
    with contextlib.closing(telemetry):
        async with open_app(settings) as app:
            await build_stdio_server(app, session_scope(app.tokens, token)).run_stdio_async()
