"""`python -m mcp_server [http|stdio]`: serve the tools over streamable HTTP (default) or stdio."""

import asyncio
import contextlib
import gc
import os
import socket
import sys
from enum import StrEnum
from typing import Annotated

import typer
import uvicorn

from core.errors import OrcError
from core.infra.log_redaction import keep_content_out
from core.infra.settings import load_settings
from core.infra.telemetry.setup import Telemetry, start_telemetry
from mcp_server.auth import session_scope
from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app, build_stdio_server
from mcp_server.settings import Settings

SERVICE = "orc-tools"


class Transport(StrEnum):
    """How clients reach the server."""

    HTTP = "http"
    STDIO = "stdio"


async def serve_http(settings: Settings) -> None:
    """Serve until a signal arrives, or until standard input ends where the settings say so."""
    telemetry = start_telemetry(settings, SERVICE)
    async with open_app(settings) as app:
        config = uvicorn.Config(
            build_http_app(app, settings),
            host=settings.mcp_host,
            port=settings.mcp_port,
            log_level="warning",
            timeout_graceful_shutdown=5,
        )
        server = _Server(config, telemetry)

        def stop_at_end_of_input() -> None:
            if not os.read(sys.stdin.fileno(), 1024):
                asyncio.get_running_loop().remove_reader(sys.stdin)
                server.should_exit = True

        if settings.mcp_until_stdin_ends:
            asyncio.get_running_loop().add_reader(sys.stdin, stop_at_end_of_input)
        # Queued telemetry spans would otherwise trigger full collections of about 0.1 s during turns.
        gc.freeze()
        await server.serve()


class _Server(uvicorn.Server):
    """Ends with telemetry sent: the signal that has stopped it then ends the process on the spot."""

    def __init__(self, config: uvicorn.Config, telemetry: Telemetry) -> None:
        super().__init__(config)
        self._telemetry = telemetry

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        await asyncio.to_thread(self._telemetry.close)


async def serve_stdio(settings: Settings) -> None:
    """Serve one client on standard input and output."""
    telemetry = start_telemetry(settings, SERVICE)
    token = settings.scope_token.get_secret_value() if settings.scope_token else None
    with contextlib.closing(telemetry):
        async with open_app(settings) as app:
            await build_stdio_server(app, session_scope(app.tokens, token)).run_stdio_async()


def main(transport: Annotated[Transport, typer.Argument()] = Transport.HTTP) -> None:
    """Serve Orc's document tools over MCP."""
    keep_content_out()
    serve = serve_http if transport is Transport.HTTP else serve_stdio
    try:
        settings = load_settings(Settings)
        with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
            runner.run(serve(settings))
    except OrcError as exc:
        raise SystemExit(f"mcp_server: {exc.message}") from exc


if __name__ == "__main__":
    typer.run(main)
