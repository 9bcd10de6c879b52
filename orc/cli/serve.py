"""`orc serve`: the API in this process, and the tools server and the workers as child processes."""

import asyncio
import gc
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn
from rich.console import Console

from core.errors import InvalidInput
from orc.cli.processes import port_is_free, port_of, tools_server
from orc.cli.worker import workers
from orc.settings import AuthMode, Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

PORT_CHECKS = 20
PORT_CHECK_SECONDS = 0.1
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


async def serve(settings: Settings, console: Console) -> None:
    """Serve until a signal arrives. Raises InvalidInput for settings that cannot work."""
    await _check(settings)
    async with AsyncExitStack() as stack:
        with console.status("Starting ..."):
            tools_are_up = await stack.enter_async_context(tools_server(settings))
            # Both processes import for more than a second: at the same time.
            app = await asyncio.to_thread(_load_app, settings)
            await asyncio.gather(app.state.provider.get(), tools_are_up())
            # Last: workers must not compete with the start of the API and the tools server.
            await stack.enter_async_context(workers(settings))
        config = uvicorn.Config(
            app, host=settings.host, port=settings.port, log_level="warning", timeout_graceful_shutdown=10
        )
        # Queued telemetry spans would otherwise trigger full collections of about 0.1 s during turns.
        gc.freeze()
        await _GreetingServer(config, lambda: _greet(settings, console)).serve()


def _load_app(settings: Settings) -> "FastAPI":
    from orc.api.app import create_app

    return create_app(settings)


class _GreetingServer(uvicorn.Server):
    """Says that it serves once it does."""

    def __init__(self, config: uvicorn.Config, greet: Callable[[], None]) -> None:
        super().__init__(config)
        self._greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._greet()


async def _check(settings: Settings) -> None:
    if settings.auth_mode is AuthMode.LOCAL and settings.host not in _LOOPBACK:
        raise InvalidInput(
            f"Without authentication Orc listens on a loopback address only, not on {settings.host}. "
            "Set ORC_AUTH_MODE to easyauth or jwt."
        )
    tools = urlsplit(settings.mcp_server_url)
    await _wait_for_port(settings.host, settings.port, "ORC_PORT")
    await _wait_for_port(tools.hostname or "", port_of(tools), "MCP_SERVER_URL")


async def _wait_for_port(host: str, port: int, setting: str) -> None:
    """Return once nothing listens there: what a killed Orc leaves behind ends by itself within a second."""
    for _ in range(PORT_CHECKS):
        if port_is_free(host, port):
            return
        await asyncio.sleep(PORT_CHECK_SECONDS)
    raise InvalidInput(f"Port {port} of {host} is in use. Stop what listens there, or set {setting}.")


def _greet(settings: Settings, console: Console) -> None:
    from core.llm.factory import describe
    from orc.api.app import PREFIX

    base = f"http://{settings.host}:{settings.port}{PREFIX}"
    say = partial(console.print, soft_wrap=True, highlight=False)
    say(f"\n[bold]Orc[/] serves {base}  (docs: {base}/docs, tools: {settings.mcp_server_url})")
    services = {
        "Cosmos DB": settings.azure_cosmos_endpoint,
        "Blob Storage": settings.azure_storage_account_url,
        "AI Search": settings.azure_search_endpoint,
    }
    used = [name for name, address in services.items() if address]
    places = used if len(used) == len(services) else [f"{settings.data_dir}/", *used]
    say(f"Answers come from {describe(settings)}. Documents and turns are kept in {', '.join(places)}.")
    say("\nTry, in another terminal:")
    say('  .venv/bin/orc ask examples/harbour-handbook.pdf "How many days of leave are there?"')
    say(f"  curl -s {base}/ready\n")
