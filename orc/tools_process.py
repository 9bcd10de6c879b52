"""Runs the tools server as a child process: starts it, waits for it, brings it back if it dies."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from core.errors import DependencyDown
from orc.child import environment_of, keep_running
from orc.settings import Settings

UntilUp = Callable[[], Awaitable[None]]

START_SECONDS = 20.0
POLL_SECONDS = 0.05

_NOT_ON_THIS_MACHINE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


def free_port() -> int:
    """A port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there, on every address of that name that this machine has."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return False
    errors = {_error_of_binding(family, address) for family, _, _, _, address in found}
    return None in errors and errors <= {None, *_NOT_ON_THIS_MACHINE}


def _error_of_binding(family: int, address: tuple[Any, ...]) -> int | None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as exc:
        return exc.errno
    return None


def port_of(address: SplitResult) -> int:
    """The port that a URL means, named or not."""
    return address.port or (443 if address.scheme == "https" else 80)


@asynccontextmanager
async def tools_server(settings: Settings) -> AsyncIterator[UntilUp]:
    """The tools server at `settings.mcp_server_url`, for as long as the context is open.

    It starts while the caller goes on; what the context gives waits until it answers.
    """
    supervisor = asyncio.create_task(_keep_running(settings))
    try:
        yield partial(_until_up, settings, supervisor)
    finally:
        supervisor.cancel()
        await asyncio.gather(supervisor, return_exceptions=True)


async def _keep_running(settings: Settings) -> None:
    address = urlsplit(settings.mcp_server_url)
    environment = environment_of(
        settings,
        ORC_MCP_HOST=str(address.hostname),
        ORC_MCP_PORT=str(port_of(address)),
        ORC_MCP_UNTIL_STDIN_ENDS="true",
    )
    await keep_running("the tools server", ["-m", "mcp_server"], environment)


async def _until_up(settings: Settings, supervisor: asyncio.Task[None]) -> None:
    # Imported while the server starts: it takes a second.
    from orc.mcp_gateway import McpToolGateway

    gateway = McpToolGateway(settings.mcp_server_url, timeout_seconds=START_SECONDS)
    try:
        async with asyncio.timeout(START_SECONDS):
            while not supervisor.done():
                with contextlib.suppress(DependencyDown):
                    return await gateway.ping()
                await asyncio.sleep(POLL_SECONDS)
        raise DependencyDown(
            "The tools server cannot be started.", dependency="mcp_server"
        ) from supervisor.exception()
    except TimeoutError as exc:
        raise DependencyDown("The tools server did not start.", dependency="mcp_server") from exc
    finally:
        await gateway.close()
