"""`python -m mcp_server [http|stdio]`: serve the tools over streamable HTTP (default) or stdio."""

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from orc_core.errors import OrcError
from orc_core.infra.collector import collector_paused
from orc_core.infra.logs import keep_content_out
from orc_core.infra.operating_system import private_files
from orc_core.infra.settings import load_settings


class Transport(StrEnum):
    """How clients reach the server."""

    HTTP = "http"
    STDIO = "stdio"


def main(transport: Annotated[Transport, typer.Argument()] = Transport.HTTP) -> None:
    """Serve Orc's document tools over MCP."""
    with collector_paused():
        import uvicorn

        from mcp_server.server import serve_http, serve_stdio
        from mcp_server.settings import Settings
    keep_content_out()
    serve = serve_http if transport is Transport.HTTP else serve_stdio
    try:
        settings = load_settings(Settings)
        with (
            private_files(),
            asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner,
        ):
            runner.run(serve(settings))
    except OrcError as exc:
        raise SystemExit(f"mcp_server: {exc.message}") from exc


if __name__ == "__main__":
    typer.run(main)
