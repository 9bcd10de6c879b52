"""`python -m resilience.tools`: the tools server, with a route that reports its tasks."""

import asyncio

import uvicorn

from mcp_server.bootstrap import open_app
from mcp_server.server import build_http_app
from mcp_server.settings import Settings
from orc_core.infra.settings import load_settings
from resilience.instance import serve


async def serve_tools(settings: Settings) -> None:
    """Serve until a signal arrives."""
    async with open_app(settings) as services:
        await serve(build_http_app(services, settings), settings.mcp_port)


def main() -> None:
    """Serve the tools."""
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(serve_tools(load_settings(Settings)))


if __name__ == "__main__":
    main()
