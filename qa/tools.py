"""`python -m qa.tools`: the tools server once more, as `python -m mcp_server` has it, with its tasks told."""

import asyncio

import uvicorn

from core.settings import load_settings
from mcp_server.bootstrap import open_services
from mcp_server.server import build_http_app
from mcp_server.settings import Settings
from qa.instance import serve


async def serve_tools(settings: Settings) -> None:
    """Serve until a signal arrives."""
    async with open_services(settings) as services:
        await serve(build_http_app(services, settings), settings.mcp_port)


def main() -> None:
    """Serve the tools."""
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(serve_tools(load_settings(Settings)))


if __name__ == "__main__":
    main()
